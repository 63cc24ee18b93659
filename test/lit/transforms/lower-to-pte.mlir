// RUN: xir-opt %s --lower-to-pte --split-input-file --verify-diagnostics | filecheck %s

// Constants and delegates, next to kernels.
// CHECK-LABEL:  pte.execution_plan @delegate attributes
// CHECK-SAME:     encoded_inp_str = "T2#1#0(T1#1($),D0())", encoded_out_str = "T2#1#1($,$)"
// CHECK-NEXT:     pte.delegate @delegate_0 "XnnpackBackend" {
// CHECK-NEXT:     ^bb0(%{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<2x3xf32>):
// CHECK-NEXT:       %[[R:.*]] = xnnpack.subgraph(%{{.*}}, %{{.*}}) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK:            pte.yield %[[R]] : tensor<2x3xf32>
// CHECK:          %[[X:.*]] = pte.tensor tensor<2x3xf32>
// CHECK-NEXT:     %[[W:.*]] = pte.tensor tensor<2x3xf32> data dense_resource<w> : tensor<2x3xf32>
// CHECK-NEXT:     %[[SUM:.*]] = pte.tensor tensor<2x3xf32>
// CHECK-NEXT:     %[[ONE:.*]] = pte.int 1
// CHECK-NEXT:     %[[DIMS:.*]] = pte.int_list [%[[ONE]]]
// CHECK-NEXT:     %[[KEEP:.*]] = pte.bool false
// CHECK-NEXT:     %[[NONE:.*]] = pte.null
// CHECK-NEXT:     %[[MEAN:.*]] = pte.tensor tensor<2xf32>
// CHECK-NEXT:     pte.chain {
// CHECK-NEXT:       pte.delegate_call @delegate_0 (%[[X]], %[[W]], %[[SUM]])
// CHECK-NEXT:       pte.kernel_call "aten::mean.out" (%[[SUM]], %[[DIMS]], %[[KEEP]], %[[NONE]], %[[MEAN]], %[[MEAN]])
// CHECK-NEXT:     }
// CHECK-NEXT:     pte.signature inputs (%[[X]]) outputs (%[[SUM]], %[[MEAN]])
func.func @delegate(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  %w = edge.constant dense_resource<w> : tensor<2x3xf32>
  %0 = xnnpack.subgraph(%x, %w) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>):
    %c = xnnpack.binary add %a, %b : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    xnnpack.yield %c : tensor<2x3xf32>
  }
  %1 = edge.mean.dim(%0) {dim = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2x3xf32>, tensor<2xf32>
}

// A graph with nodes that stock ExecuTorch lacks goes to another backend.
// CHECK-LABEL:  pte.execution_plan @target
// CHECK-NEXT:     pte.delegate @target_0 "XirXnnpackBackend" {
func.func @target(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = xnnpack.subgraph(%x) {target = "xir"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %b = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %b : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// The importer's description of how arguments nest is kept.
// CHECK-LABEL:  pte.execution_plan @nested attributes {encoded_inp_str = "T2#0#1(T0(),D1#1('x':$))", encoded_out_str = "L1#1($)"}
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {xir.in_spec = "T2#0#1(T0(),D1#1('x':$))", xir.out_spec = "L1#1($)"} {
  func.return %x : tensor<4xf32>
}

// Equal scalars are declared once, but not true and 1, nor 1.0.
// CHECK-LABEL:  pte.execution_plan @scalars
// CHECK:          %[[ZERO:.*]] = pte.int 0
// CHECK-NEXT:     %[[TRUE:.*]] = pte.bool true
// CHECK-NEXT:     %[[S:.*]] = pte.tensor tensor<4xf32>
// CHECK-NEXT:     %[[ONE:.*]] = pte.int 1
// CHECK-NEXT:     %[[A:.*]] = pte.tensor tensor<4xf32>
// CHECK-NEXT:     %[[ONE_POINT:.*]] = pte.double 1.000000e+00 : f64
// CHECK-NEXT:     %[[B:.*]] = pte.tensor tensor<4xf32>
// CHECK-NEXT:     pte.chain {
// CHECK-NEXT:       pte.kernel_call "aten::_softmax.out" (%[[X:.*]], %[[ZERO]], %[[TRUE]], %[[S]], %[[S]])
// CHECK-NEXT:       pte.kernel_call "aten::add.Scalar_out" (%[[S]], %[[ONE]], %[[ONE]], %[[A]], %[[A]])
// CHECK-NEXT:       pte.kernel_call "aten::add.Scalar_out" (%[[A]], %[[ONE_POINT]], %[[ONE]], %[[B]], %[[B]])
func.func @scalars(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge._softmax(%x) {dim = 0 : i64, half_to_float = true} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.add.Scalar(%0) {other = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.add.Scalar(%1) {other = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// Out variants do not take the dtype, layout, device and pinning of a factory function.
// CHECK-LABEL:  pte.execution_plan @factory
// CHECK:          %[[V:.*]] = pte.double 3.000000e+00 : f64
// CHECK-NEXT:     %[[R:.*]] = pte.tensor tensor<2xf32>
// CHECK:            pte.kernel_call "aten::full.out" (%{{.*}}, %[[V]], %[[R]], %[[R]])
func.func @factory() -> tensor<2xf32> {
  %0 = edge.full() {size = array<i64: 2>, fill_value = 3.0 : f64, dtype = f32} : () -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// A dtype elsewhere is its number: 7 is f64.
// CHECK-LABEL:  pte.execution_plan @dtype
// CHECK:          %[[F64:.*]] = pte.int 7
// CHECK:            pte.kernel_call "aten::mean.out" (%{{.*}}, %{{.*}}, %{{.*}}, %[[F64]], %[[R:.*]], %[[R]])
func.func @dtype(%x: tensor<2x3xf32>) -> tensor<2xf64> {
  %0 = edge.mean.dim(%x) {dim = array<i64: 1>, dtype = f64} : (tensor<2x3xf32>) -> tensor<2xf64>
  func.return %0 : tensor<2xf64>
}

// Several results: the out tensors one by one, then a list of them.
// CHECK-LABEL:  pte.execution_plan @several
// CHECK:          %[[V:.*]] = pte.tensor tensor<2xf32>
// CHECK-NEXT:     %[[I:.*]] = pte.tensor tensor<2xi64>
// CHECK-NEXT:     %[[L:.*]] = pte.tensor_list [%[[V]], %[[I]]]
// CHECK:            pte.kernel_call "aten::max.dim_max" (%{{.*}}, %{{.*}}, %{{.*}}, %[[V]], %[[I]], %[[L]])
func.func @several(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>) {
  %0, %1 = edge.max.dim(%x) {dim = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  func.return %0, %1 : tensor<2xf32>, tensor<2xi64>
}

// A list of results is one out argument, and returned as another list.
// CHECK-LABEL:  pte.execution_plan @list
// CHECK:          %[[A:.*]] = pte.tensor tensor<4x2xf32>
// CHECK-NEXT:     %[[B:.*]] = pte.tensor tensor<4x3xf32>
// CHECK:          %[[OUT:.*]] = pte.tensor_list [%[[A]], %[[B]]]
// CHECK:          %[[RET:.*]] = pte.tensor_list [%[[A]], %[[B]]]
func.func @list(%x: tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>) {
  %0, %1 = edge.split_with_sizes(%x) {split_sizes = array<i64: 2, 3>, dim = 1 : i64}
         : (tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>)
  func.return %0, %1 : tensor<4x2xf32>, tensor<4x3xf32>
}

// Lists of tensors, and of tensors that may be absent.
// CHECK-LABEL:  pte.execution_plan @lists
// CHECK-DAG:      %[[IN:.*]] = pte.tensor_list [%[[X:.*]], %[[X]]]
// CHECK-DAG:      %[[AT:.*]] = pte.optional_tensor_list (%{{.*}}) present array<i1: false, true>
// CHECK:            pte.kernel_call "aten::cat.out" (%[[IN]],
// CHECK-NEXT:       pte.kernel_call "aten::index.Tensor_out" (%{{.*}}, %[[AT]], %[[R:.*]], %[[R]])
func.func @lists(%x: tensor<2x3xf32>, %i: tensor<5xi64>) -> tensor<4x5xf32> {
  %0 = edge.cat([%x, %x]) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %1 = edge.index.Tensor(%0, [none, %i]) : (tensor<4x3xf32>, tensor<5xi64>) -> tensor<4x5xf32>
  func.return %1 : tensor<4x5xf32>
}

// -----

// An input with a bound has its memory at the bound.
// CHECK-LABEL:  pte.execution_plan @bounded
// CHECK:          %[[X:.*]] = pte.tensor tensor<6x4xf32> {shape_dynamism = 1 : i32}
// CHECK-NEXT:     %[[D:.*]] = pte.int 0
// CHECK-NEXT:     %[[N:.*]] = pte.int 0
// CHECK:            pte.kernel_call "aten::sym_size.int" (%[[X]], %[[D]], %[[N]])
func.func @bounded(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 6, 4>}) -> i64 {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  func.return %0 : i64
}

// -----

// What is computed has the bounds that follow from the inputs', in delegates as well. The rest of a dimension that a
// slice takes is at most 5 rows.
// CHECK-LABEL:  pte.execution_plan @bounded_results
// CHECK:          pte.delegate @bounded_results_0
// CHECK:            xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 0, 2>} : tensor<6x4xf32> -> tensor<12x2xf32>
// CHECK-NEXT:       xnnpack.static_slice %{{.*}} {offsets = array<i32: 1, 0>, sizes = array<i32: 11, 1>} : tensor<12x2xf32> -> tensor<11x1xf32>
// CHECK:          %[[X:.*]] = pte.tensor tensor<6x4xf32> {shape_dynamism = 1 : i32}
// CHECK:          %[[Y:.*]] = pte.tensor tensor<11x1xf32> {shape_dynamism = 1 : i32}
// CHECK:          pte.tensor tensor<7xi64> {shape_dynamism = 1 : i32}
// CHECK:            pte.delegate_call @bounded_results_0 (%[[X]], %[[Y]])
func.func @bounded_results(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 6, 4>}) -> (tensor<?x1xf32>, tensor<?xi64>) {
  %0 = xnnpack.subgraph(%x) : (tensor<?x4xf32>) -> tensor<?x1xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    %1 = xnnpack.static_reshape %a {new_shape = array<i32: 0, 2>} : tensor<?x4xf32> -> tensor<?x2xf32>
    %2 = xnnpack.static_slice %1 {offsets = array<i32: 1, 0>, sizes = array<i32: 0, 1>} : tensor<?x2xf32> -> tensor<?x1xf32>
    xnnpack.yield %2 : tensor<?x1xf32>
  }
  %3 = edge.sym_size.int(%0) {dim = 0 : i64} : (tensor<?x1xf32>) -> i64
  %4 = edge.executorch_prim.sub.Scalar()[%3] {a = -9223372036854775808 : i64, b = 4 : i64} : (i64) -> i64
  %5 = edge.full()[%4] {size = array<i64: -9223372036854775808>, fill_value = 1 : i64} : (i64) -> tensor<?xi64>
  func.return %0, %5 : tensor<?x1xf32>, tensor<?xi64>
}

// -----

// CHECK-LABEL:  pte.execution_plan @opaque
// CHECK:            pte.kernel_call "my::op" (%[[X:.*]], %[[R:.*]])
func.func @opaque(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{my::op has no out variant, so only xir's Python runtime can run it}}
  %0 = edge.opaque "my::op(Tensor self) -> Tensor" (%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL:  pte.execution_plan @opaque_results
// CHECK:            pte.kernel_call "aten::sort" (%{{.*}}, %[[DIM:.*]], %{{.*}}, %[[V:.*]], %[[I:.*]])
// CHECK-NEXT:     }
// CHECK-NEXT:     pte.signature inputs (%{{.*}}) outputs (%[[V]], %[[I]])
func.func @opaque_results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  // expected-remark @+1 {{aten::sort has no out variant}}
  %0, %1 = edge.opaque "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)" (%x)
         {descending = true} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  func.return %0, %1 : tensor<4xf32>, tensor<4xi64>
}

// -----

// What no shape inference tells is written on the op.
// CHECK-LABEL:  pte.execution_plan @bounded_opaque
// CHECK:            pte.tensor tensor<6x4xf32> {shape_dynamism = 1 : i32}
// CHECK:            pte.tensor tensor<12xf32> {shape_dynamism = 1 : i32}
// CHECK:            pte.kernel_call "my::op"
func.func @bounded_opaque(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 6, 4>}) -> tensor<?xf32> {
  // expected-remark @+1 {{my::op has no out variant}}
  %0 = edge.opaque "my::op(Tensor self) -> Tensor" (%x) {xir.max_shapes = [array<i64: 12>], xir.dim_names = [["2*n"]]}
     : (tensor<?x4xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

func.func @wrong_result_bound(%x: tensor<4xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{xir.max_shapes [6, 5] is not the largest shape of a tensor<?xf32>}}
  %0 = edge.opaque "my::op(Tensor self) -> Tensor" (%x) {xir.max_shapes = [array<i64: 6, 5>]} : (tensor<4xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

func.func @wrong_bound(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 6, 5>}) {
  // expected-error @-1 {{xir.max_shape [6, 5] is not the largest shape of a tensor<?x4xf32>}}
  func.return
}

// -----

func.func @endless_bound(%x: tensor<?xf32> {xir.max_shape = array<i64: 4294967296>}) {
  // expected-error @-1 {{xir.max_shape: a size of 4294967296 is larger than 2147483647, the most that a program can}}
  func.return
}

// -----

func.func @endless_result(%x: tensor<?xf32> {xir.max_shape = array<i64: 2147483647>}) -> tensor<?xf32> {
  // expected-error @+1 {{at its largest shape, [4294967294]: a size of 4294967294 is larger than 2147483647}}
  %0 = edge.cat([%x, %x]) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

func.func @unbounded(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @-1 {{tensor<?xf32> has no upper bound for its dynamic dimensions, so it has no memory}}
  func.return %x : tensor<?xf32>
}

// -----

func.func @element_type(%x: tensor<4xi24>) {
  // expected-error @-1 {{a program cannot hold elements of type i24}}
  func.return
}

// -----

func.func @other_op(%x: tensor<4xf32>) {
  // expected-error @+1 {{'func.call' has no form in a program}}
  func.call @other_op(%x) : (tensor<4xf32>) -> ()
  func.return
}

// -----

// expected-note @+2 {{control flow is edge.cond and edge.while_loop}}
// expected-error @+1 {{'two_blocks' has 2 blocks, and a tensor program has one}}
func.func @two_blocks() {
  func.return
^bb1:
  func.return
}

// -----

// expected-error @+1 {{there is no function to lower}}
builtin.module {
}

// -----

// An input whose caller sees the dimensions in another order than memory has them: a delegate takes its memory as it is.
// CHECK-LABEL: pte.execution_plan @delegated_image
// CHECK:         ^bb0(%{{.*}}: tensor<1x4x5x3xf32>):
// CHECK:         %[[X:.*]] = pte.tensor tensor<1x3x4x5xf32> {dim_order = array<i64: 0, 2, 3, 1>}
// CHECK-NEXT:    %[[Y:.*]] = pte.tensor tensor<1x4x5x3xf32>
// CHECK:         pte.delegate_call @delegated_image_0 (%[[X]], %[[Y]])
// CHECK:         pte.signature inputs (%[[X]])
func.func @delegated_image(%x: tensor<1x4x5x3xf32> {xir.dim_order = array<i64: 0, 2, 3, 1>}) -> tensor<1x4x5x3xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<1x4x5x3xf32>) -> tensor<1x4x5x3xf32> {
  ^bb0(%a: tensor<1x4x5x3xf32>):
    %1 = xnnpack.unary abs %a : tensor<1x4x5x3xf32> -> tensor<1x4x5x3xf32>
    xnnpack.yield %1 : tensor<1x4x5x3xf32>
  }
  func.return %0 : tensor<1x4x5x3xf32>
}

// -----

// Kernels compute on a copy in the caller's order, which is what the permutation stands for.
// CHECK-LABEL: pte.execution_plan @image
// CHECK:         %[[X:.*]] = pte.tensor tensor<2x3x4x5xf32> {dim_order = array<i64: 0, 2, 3, 1>, shape_dynamism = 1 : i32}
// CHECK:         pte.kernel_call "dim_order_ops::_to_dim_order_copy.out" (%[[X]], %{{.*}}, %{{.*}}, %[[C:.*]], %[[C]])
// CHECK-NEXT:    pte.kernel_call "aten::abs.out" (%[[C]],
// CHECK-NOT:     permute
func.func @image(%x: tensor<?x4x5x3xf32> {xir.dim_order = array<i64: 0, 2, 3, 1>, xir.max_shape = array<i64: 2, 4, 5, 3>}) -> tensor<?x3x4x5xf32> {
  %0 = edge.permute(%x) {dims = array<i64: 0, 3, 1, 2>} : (tensor<?x4x5x3xf32>) -> tensor<?x3x4x5xf32>
  %1 = edge.abs(%0) : (tensor<?x3x4x5xf32>) -> tensor<?x3x4x5xf32>
  func.return %1 : tensor<?x3x4x5xf32>
}

// -----

// What gives no result is called all the same.
// CHECK-LABEL: pte.execution_plan @no_result
// CHECK:         pte.kernel_call "my::log" (%{{[^,]*}})
func.func @no_result(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{my::log has no out variant, so only xir's Python runtime can run it}}
  edge.opaque "my::log(Tensor self) -> ()" (%x) : (tensor<4xf32>) -> ()
  func.return %x : tensor<4xf32>
}

// -----

// An op that reads the dimensions as memory has them gets that copy permuted.
// CHECK-LABEL: pte.execution_plan @rows
// CHECK:         pte.kernel_call "dim_order_ops::_to_dim_order_copy.out" (%{{.*}}, %{{.*}}, %{{.*}}, %[[C:.*]], %[[C]])
// CHECK-NEXT:    pte.kernel_call "aten::permute_copy.out" (%[[C]], %{{.*}}, %[[P:.*]], %[[P]])
// CHECK-NEXT:    pte.kernel_call "aten::abs.out" (%[[P]],
func.func @rows(%x: tensor<1x4x5x3xf32> {xir.dim_order = array<i64: 0, 2, 3, 1>}) -> tensor<1x4x5x3xf32> {
  %0 = edge.abs(%x) : (tensor<1x4x5x3xf32>) -> tensor<1x4x5x3xf32>
  func.return %0 : tensor<1x4x5x3xf32>
}

// -----

// expected-error @+1 {{xir.dim_order [0, 2, 1] is no order of the dimensions of a tensor<1x4x5x3xf32>}}
func.func @not_an_order(%x: tensor<1x4x5x3xf32> {xir.dim_order = array<i64: 0, 2, 1>}) -> tensor<1x4x5x3xf32> {
  func.return %x : tensor<1x4x5x3xf32>
}

// -----

// expected-error @+1 {{xir.dim_order [0, 0, 1] is no order of the dimensions of a tensor<4x5x3xf32>}}
func.func @not_an_order_of_a_result(%x: tensor<4x5x3xf32>) -> (tensor<4x5x3xf32> {xir.dim_order = array<i64: 0, 0, 1>}) {
  %0 = edge.relu(%x) : (tensor<4x5x3xf32>) -> tensor<4x5x3xf32>
  func.return %0 : tensor<4x5x3xf32>
}

// -----

// None is a value without content, in its place among the outputs.
// CHECK-LABEL: pte.execution_plan @nothing
// CHECK:         %[[X:.*]] = pte.tensor tensor<2xf32>
// CHECK-NEXT:    %[[NONE:.*]] = pte.null
// CHECK:         pte.signature inputs (%[[X]]) outputs (%[[NONE]], %[[X]], %[[NONE]])
func.func @nothing(%x: tensor<2xf32>) -> (none, tensor<2xf32>, none) {
  %0 = edge.none
  func.return %0, %x, %0 : none, tensor<2xf32>, none
}

// -----

// What a program was exported for is a value of its own in the caller's place, which ops do not read.
// CHECK-LABEL: pte.execution_plan @fixed
// CHECK:         %[[X:.*]] = pte.tensor tensor<2xf32>
// CHECK-NEXT:    %[[NONE:.*]] = pte.null
// CHECK-NEXT:    %[[THREE:.*]] = pte.int 3
// CHECK-NEXT:    %[[TRUE:.*]] = pte.bool true
// CHECK-NEXT:    %[[HALF:.*]] = pte.double 5.000000e-01
// CHECK-NEXT:    %[[TEXT:.*]] = pte.string "tanh"
// CHECK:         pte.signature inputs (%[[X]], %[[NONE]], %[[THREE]], %[[TRUE]], %[[HALF]], %[[TEXT]]) outputs (%[[X]])
func.func @fixed(%x: tensor<2xf32>, %mask: none {xir.value}, %k: i64 {xir.value = 3 : i64}, %flag: i1 {xir.value = true},
                 %scale: f64 {xir.value = 0.5 : f64}, %mode: none {xir.value = "tanh"}) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

// expected-error @+1 {{an argument of type f64 is fixed at 3: i64}}
func.func @of_another_type(%x: tensor<2xf32>, %k: f64 {xir.value = 3 : i64}) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

// An output whose caller sees the dimensions in another order than memory has them: a delegate writes memory as it is.
// CHECK-LABEL: pte.execution_plan @delegated_result
// CHECK:         ^bb0(%{{.*}}: tensor<1x4x5x3xf32>):
// CHECK:         %[[X:.*]] = pte.tensor tensor<1x4x5x3xf32>
// CHECK-NEXT:    %[[Y:.*]] = pte.tensor tensor<1x3x4x5xf32> {dim_order = array<i64: 0, 2, 3, 1>}
// CHECK:         pte.chain {
// CHECK-NEXT:      pte.delegate_call @delegated_result_0 (%[[X]], %[[Y]])
// CHECK-NEXT:    }
// CHECK-NEXT:    pte.signature inputs (%[[X]]) outputs (%[[Y]])
func.func @delegated_result(%x: tensor<1x4x5x3xf32>) -> (tensor<1x4x5x3xf32> {xir.dim_order = array<i64: 0, 2, 3, 1>}) {
  %0 = xnnpack.subgraph(%x) : (tensor<1x4x5x3xf32>) -> tensor<1x4x5x3xf32> {
  ^bb0(%a: tensor<1x4x5x3xf32>):
    %1 = xnnpack.unary abs %a : tensor<1x4x5x3xf32> -> tensor<1x4x5x3xf32>
    xnnpack.yield %1 : tensor<1x4x5x3xf32>
  }
  func.return %0 : tensor<1x4x5x3xf32>
}

// -----

// The permutation of a result into that order is a copy.
// CHECK-LABEL: pte.execution_plan @permuted_result
// CHECK:         %[[Y:.*]] = pte.tensor tensor<2x3x4x5xf32> {dim_order = array<i64: 0, 2, 3, 1>, shape_dynamism = 1 : i32}
// CHECK:         pte.kernel_call "aten::abs.out" (%{{.*}}, %[[A:.*]], %[[A]])
// CHECK-NEXT:    pte.kernel_call "dim_order_ops::_to_dim_order_copy.out" (%[[A]], %{{.*}}, %{{.*}}, %[[Y]], %[[Y]])
// CHECK-NOT:     permute
// CHECK:         outputs (%[[Y]])
func.func @permuted_result(%x: tensor<?x3x4x5xf32> {xir.max_shape = array<i64: 2, 3, 4, 5>}) -> (tensor<?x4x5x3xf32> {xir.dim_order = array<i64: 0, 2, 3, 1>}) {
  %0 = edge.abs(%x) : (tensor<?x3x4x5xf32>) -> tensor<?x3x4x5xf32>
  %1 = edge.permute(%0) {dims = array<i64: 0, 2, 3, 1>} : (tensor<?x3x4x5xf32>) -> tensor<?x4x5x3xf32>
  func.return %1 : tensor<?x4x5x3xf32>
}

// -----

// A result that is read in both orders is copied at the end, in the caller's order first.
// CHECK-LABEL: pte.execution_plan @both_orders
// CHECK:         pte.delegate_call @both_orders_0 (%{{.*}}, %[[Y:.*]])
// CHECK-NEXT:    pte.kernel_call "aten::permute_copy.out" (%[[Y]], %{{.*}}, %[[S:.*]], %[[S]])
// CHECK-NEXT:    pte.kernel_call "dim_order_ops::_to_dim_order_copy.out" (%[[S]], %{{.*}}, %{{.*}}, %[[C:.*]], %[[C]])
// CHECK:         outputs (%[[C]], %[[Y]])
func.func @both_orders(%x: tensor<1x4x5x3xf32>) -> (tensor<1x4x5x3xf32> {xir.dim_order = array<i64: 0, 2, 3, 1>}, tensor<1x4x5x3xf32>) {
  %0 = xnnpack.subgraph(%x) : (tensor<1x4x5x3xf32>) -> tensor<1x4x5x3xf32> {
  ^bb0(%a: tensor<1x4x5x3xf32>):
    %1 = xnnpack.unary abs %a : tensor<1x4x5x3xf32> -> tensor<1x4x5x3xf32>
    xnnpack.yield %1 : tensor<1x4x5x3xf32>
  }
  func.return %0, %0 : tensor<1x4x5x3xf32>, tensor<1x4x5x3xf32>
}

// -----

// So is an input in the same order, and one that is permuted into the order of a result.
// CHECK-LABEL: pte.execution_plan @given_results
// CHECK:         %[[X:.*]] = pte.tensor tensor<3x2xf32> {dim_order = array<i64: 1, 0>}
// CHECK-COUNT-3: pte.kernel_call "dim_order_ops::_to_dim_order_copy.out"
// CHECK-NOT:     outputs (%[[X]]
func.func @given_results(%x: tensor<2x3xf32> {xir.dim_order = array<i64: 1, 0>}) -> (tensor<2x3xf32> {xir.dim_order = array<i64: 1, 0>}, tensor<3x2xf32> {xir.dim_order = array<i64: 1, 0>}) {
  %0 = edge.permute(%x) {dims = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %x, %0 : tensor<2x3xf32>, tensor<3x2xf32>
}

// -----

// expected-error @+1 {{xir.dim_order [0, 1] is no order of the dimensions of a tensor<1x4x3xf32>}}
func.func @not_an_order_of_a_result(%x: tensor<1x4x3xf32>) -> (tensor<1x4x3xf32> {xir.dim_order = array<i64: 0, 1>}) {
  func.return %x : tensor<1x4x3xf32>
}
