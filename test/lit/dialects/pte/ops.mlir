// RUN: xir-opt %s | filecheck %s
// RUN: xir-opt %s --mlir-print-op-generic | xir-opt | filecheck %s

// CHECK:       pte.program attributes {segment_alignment = 4096 : i64} {
// CHECK-NEXT:    pte.named_data "weights" dense_resource<weights> : tensor<64xi8>
// CHECK-NEXT:    pte.execution_plan @forward arenas [0, 1024, 16] attributes
// CHECK-SAME:      encoded_inp_str = "T2#1#0(T1#1($),D0())"
// CHECK-SAME:      non_const_buffer_device = [#pte.buffer_device<2, 1, 0>]
pte.program attributes {segment_alignment = 4096 : i64} {
  pte.named_data "weights" dense_resource<weights> : tensor<64xi8>
  pte.execution_plan @forward arenas [0, 1024, 16] attributes {
      encoded_inp_str = "T2#1#0(T1#1($),D0())", non_const_buffer_device = [#pte.buffer_device<2, 1, 0>]} {

    // CHECK-NEXT: pte.delegate @graph "XnnpackBackend" attributes {inline, value_ids = array<i64: 1, 0>} {
    // CHECK-NEXT: ^bb0(%{{.*}}: tensor<4xf32>):
    // CHECK-NEXT:   %{{.*}} = xnnpack.subgraph(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32> {
    // CHECK:        pte.yield %{{.*}} : tensor<4xf32>
    pte.delegate @graph "XnnpackBackend" attributes {inline, value_ids = array<i64: 1, 0>} {
    ^bb0(%0: tensor<4xf32>):
      %1 = xnnpack.subgraph(%0) : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%2: tensor<4xf32>):
        %3 = xnnpack.unary abs %2 : tensor<4xf32> -> tensor<4xf32>
        xnnpack.yield %3 : tensor<4xf32>
      }
      pte.yield %1 : tensor<4xf32>
    }

    // CHECK: pte.delegate @bytes "CoreMLBackend" processed dense_resource<blob> : tensor<512xi8> attributes
    // CHECK-SAME: compile_specs = [#pte.compile_spec<"mode", array<i8: 1, -2>>]
    pte.delegate @bytes "CoreMLBackend" processed dense_resource<blob> : tensor<512xi8> attributes {
        compile_specs = [#pte.compile_spec<"mode", array<i8: 1, -2>>]}

    // CHECK-NEXT: %[[NULL:.*]] = pte.null
    // CHECK-NEXT: %[[INT:.*]] = pte.int -9223372036854775808
    // CHECK-NEXT: %[[BOOL:.*]] = pte.bool true
    // CHECK-NEXT: %{{.*}} = pte.double 5.000000e-01 : f64
    // CHECK-NEXT: %{{.*}} = pte.double 0xFFF0000000000000 : f64
    // CHECK-NEXT: %{{.*}} = pte.string "a\22\00\0Ab"
    // CHECK-NEXT: %{{.*}} = pte.string "\C3\A9"
    %null = pte.null
    %int = pte.int -9223372036854775808
    %bool = pte.bool true
    %double = pte.double 0.5 : f64
    %infinity = pte.double 0xFFF0000000000000 : f64
    %string = pte.string "a\22\00\0Ab"
    %utf8 = pte.string "é"

    // CHECK-NEXT: %[[X:.*]] = pte.tensor tensor<1x8x4x4xf32> planned <1, 64> {dim_order = array<i64: 0, 2, 3, 1>}
    // CHECK-NEXT: %[[Y:.*]] = pte.tensor tensor<1x8x4x4xf32> {shape_dynamism = 1 : i32}
    // CHECK-NEXT: %[[BIAS:.*]] = pte.tensor tensor<8xf32> data dense_resource<bias> : tensor<8xf32> {requires_grad = true}
    // CHECK-NEXT: %{{.*}} = pte.tensor tensor<2xi8> planned <2, 0> data dense<[1, 2]> : tensor<2xi8>
    // CHECK-NEXT: %{{.*}} = pte.tensor tensor<2x!pte.scalar<QInt8>> {extra_tensor_info = #pte.extra_tensor_info<"w", 0, 1, 0, 0>}
    // CHECK-NEXT: %{{.*}} = pte.tensor tensor<i1>
    %x = pte.tensor tensor<1x8x4x4xf32> planned <1, 64> {dim_order = array<i64: 0, 2, 3, 1>}
    %y = pte.tensor tensor<1x8x4x4xf32> {shape_dynamism = 1 : i32}
    %bias = pte.tensor tensor<8xf32> data dense_resource<bias> : tensor<8xf32> {requires_grad = true}
    %state = pte.tensor tensor<2xi8> planned <2, 0> data dense<[1, 2]> : tensor<2xi8>
    %external = pte.tensor tensor<2x!pte.scalar<QInt8>> {extra_tensor_info = #pte.extra_tensor_info<"w", 0, 1, 0, 0>}
    %scalar = pte.tensor tensor<i1>

    // CHECK-NEXT: %{{.*}} = pte.int_list [%[[INT]], %[[INT]]]
    // CHECK-NEXT: %{{.*}} = pte.int_list []
    // CHECK-NEXT: %{{.*}} = pte.double_list array<f64: 5.000000e-01, 0x7FF0000000000000>
    // CHECK-NEXT: %{{.*}} = pte.bool_list array<i1: true, false>
    // CHECK-NEXT: %[[LIST:.*]] = pte.tensor_list [%[[X]], %[[BIAS]]]
    // CHECK-NEXT: %{{.*}} = pte.optional_tensor_list (%[[X]]) present array<i1: false, true>
    %ints = pte.int_list [%int, %int]
    %no_ints = pte.int_list []
    %doubles = pte.double_list array<f64: 0.5, 0x7FF0000000000000>
    %bools = pte.bool_list array<i1: true, false>
    %tensors = pte.tensor_list [%x, %bias]
    %optional = pte.optional_tensor_list (%x) present array<i1: false, true>

    // CHECK-NEXT: pte.chain {
    // CHECK-NEXT:   pte.kernel_call "aten::add.out" (%[[X]], %[[X]], %[[INT]], %[[Y]], %[[Y]]) {frames = [#pte.frame<"m.py", 3, "f", "x + x">]}
    // CHECK-NEXT:   pte.delegate_call @bytes (%[[X]], %[[Y]])
    // CHECK-NEXT:   pte.move %[[X]] to %[[Y]] : !pte.tensor to !pte.tensor
    // CHECK-NEXT:   pte.jump_false %[[BOOL]] to 5 : !pte.bool
    // CHECK-NEXT:   pte.free %[[Y]]
    // CHECK-NEXT: }
    pte.chain {
      pte.kernel_call "aten::add.out" (%x, %x, %int, %y, %y) {frames = [#pte.frame<"m.py", 3, "f", "x + x">]}
      pte.delegate_call @bytes (%x, %y)
      pte.move %x to %y : !pte.tensor to !pte.tensor
      pte.jump_false %bool to 5 : !pte.bool
      pte.free %y
    }
    // CHECK-NEXT: pte.chain inputs (%[[X]]) outputs (%[[LIST]], %[[NULL]]) {
    // CHECK:      pte.signature inputs (%[[X]]) outputs (%[[Y]], %[[INT]])
    pte.chain inputs (%x) outputs (%tensors, %null) {
    }
    pte.signature inputs (%x) outputs (%y, %int)
  }

  // CHECK: pte.execution_plan @constant {
  pte.execution_plan @constant {
    %0 = pte.int 3
    pte.chain {
    }
    pte.signature inputs () outputs (%0)
  }
}
