// RUN: xir-opt %s | filecheck %s
// RUN: xir-opt %s | xir-opt | filecheck %s
// RUN: xir-opt --mlir-print-op-generic %s | xir-opt | filecheck %s
// RUN: xir-opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

// An op is its schema: tensors are operands, everything else is a property.
// CHECK-LABEL: func.func @call
func.func @call(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK: edge.convolution(%x, %w, none) {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>, transposed = false} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  // GENERIC: "edge.convolution"(%x, %w) <{dilation = array<i64: 1, 1>, groups = 1 : i64
  %0 = edge.convolution(%x, %w, none) {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>,
         dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64}
       : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  func.return %0 : tensor<1x4x4x4xf32>
}

// A property equal to its default is left out, also a list given by one number in the schema.
// CHECK-LABEL: func.func @defaults
func.func @defaults(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // CHECK: edge.conv2d(%x, %w, none) {padding = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>
  %0 = edge.conv2d(%x, %w, none) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, groups = 1 : i64}
       : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  // CHECK: edge.add.Tensor(%x, %x) : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %1 = edge.add.Tensor(%x, %x) {alpha = 1 : i64}
       : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  // 1.0 is another value than 1.
  // CHECK: edge.add.Tensor(%x, %x) {alpha = 1.000000e+00 : f64}
  %2 = edge.add.Tensor(%x, %x) {alpha = 1.0 : f64}
       : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// CHECK-LABEL: func.func @values
func.func @values(%x: tensor<2x3xf32>) {
  // CHECK: edge.mean.dim(%x) {dim = array<i64: -1>, dtype = f64, keepdim = true} : (tensor<2x3xf32>) -> tensor<2x1xf64>
  %0 = edge.mean.dim(%x) {dim = array<i64: -1>, keepdim = true, dtype = f64} : (tensor<2x3xf32>) -> tensor<2x1xf64>
  // CHECK: edge.gelu(%x) {approximate = "tanh"}
  %1 = edge.gelu(%x) {approximate = "tanh"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: edge.clamp(%x) {max = 5.000000e-01 : f64}
  %2 = edge.clamp(%x) {max = 0.5 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: edge.clone(%x) {memory_format = "channels_last"}
  %3 = edge.clone(%x) {memory_format = "channels_last"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @lists
func.func @lists(%x: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // CHECK: edge.cat([%x, %x]) {dim = 1 : i64}
  %0 = edge.cat([%x, %x]) {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  // CHECK: edge.index.Tensor(%x, [none, %i]) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  // GENERIC: "edge.index.Tensor"(%x, %i) <{indices_present = array<i1: false, true>}>
  %1 = edge.index.Tensor(%x, [none, %i]) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  // CHECK: edge.split.Tensor(%x) {dim = 1 : i64, split_size = 2 : i64} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x1xf32>)
  %2:2 = edge.split.Tensor(%x) {split_size = 2 : i64, dim = 1 : i64}
         : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x1xf32>)
  func.return
}

// Two operands that may be absent: the generic form tells them apart by segment.
// CHECK-LABEL: func.func @optional
func.func @optional(%x: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // CHECK: edge.clamp.Tensor(%x, none, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // GENERIC: "edge.clamp.Tensor"(%x, %b) <{operandSegmentSizes = array<i32: 1, 0, 1>}>
  %0 = edge.clamp.Tensor(%x, none, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: edge.clamp.Tensor(%x, %b, none) :
  %1 = edge.clamp.Tensor(%x, %b, none) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// Sizes known only at run time are operands in brackets; their places hold the smallest i64.
// CHECK-LABEL: func.func @sizes
func.func @sizes(%x: tensor<?x3xf32>) {
  // CHECK: %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x3xf32>) -> i64
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x3xf32>) -> i64
  // CHECK: %1 = edge.executorch_prim.mul.Scalar()[%0] {a = -9223372036854775808 : i64, b = 3 : i64} : (i64) -> i64
  %1 = edge.executorch_prim.mul.Scalar()[%0] {a = -9223372036854775808 : i64, b = 3 : i64} : (i64) -> i64
  // CHECK: edge.view(%x)[%0, %1] {size = array<i64: -9223372036854775808, 1, -9223372036854775808>} : (tensor<?x3xf32>, i64, i64) -> tensor<?x1x?xf32>
  %2 = edge.view(%x)[%0, %1] {size = array<i64: -9223372036854775808, 1, -9223372036854775808>}
       : (tensor<?x3xf32>, i64, i64) -> tensor<?x1x?xf32>
  func.return
}

// Numbers that the program computes are operands in brackets, too; each i64 may be a number, so their places are units.
// CHECK-LABEL: func.func @numbers
func.func @numbers(%x: tensor<4xf32>, %n: i64, %f: f64) {
  // CHECK: edge.arange.start_step()[%n] {end, start = 0 : i64} : (i64) -> tensor<?xi64>
  %0 = edge.arange.start_step()[%n] {end, start = 0 : i64} : (i64) -> tensor<?xi64>
  // CHECK: edge.add.Scalar(%x)[%f, %n] {alpha, other} : (tensor<4xf32>, f64, i64) -> tensor<4xf32>
  %1 = edge.add.Scalar(%x)[%f, %n] {alpha, other} : (tensor<4xf32>, f64, i64) -> tensor<4xf32>
  // CHECK: edge.add.Scalar(%0) {other = -9223372036854775808 : i64} : (tensor<?xi64>) -> tensor<?xi64>
  %2 = edge.add.Scalar(%0) {other = -9223372036854775808 : i64} : (tensor<?xi64>) -> tensor<?xi64>
  func.return
}

// CHECK-LABEL: func.func @constants
func.func @constants() {
  // CHECK: edge.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // GENERIC: "edge.constant"() <{value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}>
  %0 = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: edge.constant dense_resource<features.0.0.weight> : tensor<4x3xf32>
  %1 = edge.constant dense_resource<features.0.0.weight> : tensor<4x3xf32>
  // CHECK: edge.constant {test.tag = "kept"} dense<1> : tensor<2xi8>
  %2 = edge.constant {test.tag = "kept"} dense<1> : tensor<2xi8>
  func.return
}

// An operator without a row carries its schema, and behaves the same otherwise.
// CHECK-LABEL: func.func @opaque
func.func @opaque(%x: tensor<4xf32>) {
  // CHECK: edge.opaque "aten::erfinv(Tensor self) -> Tensor" -> "aten::erfinv.out" (%x) : (tensor<4xf32>) -> tensor<4xf32>
  // GENERIC: "edge.opaque"(%x) <{aten_kernel = "aten::erfinv.out", aten_schema = "aten::erfinv(Tensor self) -> Tensor"}>
  %0 = edge.opaque "aten::erfinv(Tensor self) -> Tensor" -> "aten::erfinv.out" (%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: edge.opaque "my::scale(Tensor? x, float factor=2.0, *, int[] dims) -> Tensor" (%x) {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.opaque "my::scale(Tensor? x, float factor=2.0, *, int[] dims) -> Tensor" (%x) {factor = 2.0 : f64, dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// Other dialects' annotations have a dot in their names and stay beside the arguments.
// CHECK-LABEL: func.func @annotations
func.func @annotations(%x: tensor<4xf32>) {
  // CHECK: edge.relu(%x) {test.tag = 1 : i64}
  // GENERIC: "edge.relu"(%x) {test.tag = 1 : i64}
  %0 = edge.relu(%x) {test.tag = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// CHECK-LABEL: func.func @quantized
func.func @quantized(%x: tensor<4xf32>) {
  // CHECK: edge.quantized_decomposed.quantize_per_tensor(%x) {dtype = i8, quant_max = 127 : i64, quant_min = -128 : i64, scale = 1.000000e-01 : f64, zero_point = 3 : i64} : (tensor<4xf32>) -> tensor<4xi8>
  %0 = edge.quantized_decomposed.quantize_per_tensor(%x) {scale = 0.1 : f64, zero_point = 3 : i64,
         quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return
}

// What a program keeps from one call to the next.
// CHECK-LABEL: func.func @state
func.func @state(%x: tensor<2xf32>) {
  // CHECK: %k = edge.mutable_buffer "layers.0.k" dense_resource<k> : tensor<2xf32>
  // GENERIC: "edge.mutable_buffer"() <{buffer = "layers.0.k", initial = dense_resource<k> : tensor<2xf32>}>
  %k = edge.mutable_buffer "layers.0.k" dense_resource<k> : tensor<2xf32>
  // CHECK: edge.mutable_buffer "count" {test.tag} dense<0> : tensor<i64>
  %count = edge.mutable_buffer "count" {test.tag} dense<0> : tensor<i64>
  // CHECK: edge.update_buffer %k, %x : tensor<2xf32>
  // GENERIC: "edge.update_buffer"(%k, %x)
  edge.update_buffer %k, %x : tensor<2xf32>
  func.return
}

// What runs depends on data: the parts that may run are private functions.
// CHECK-LABEL: func.func @choice
func.func @choice(%p: tensor<i1>, %b: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: edge.cond %p then @yes else @no(%x) : tensor<i1>, (tensor<2xf32>) -> tensor<2xf32>
  // GENERIC: "edge.cond"(%p, %x) <{else_function = @no, then_function = @yes}>
  %0 = edge.cond %p then @yes else @no(%x) : tensor<i1>, (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: edge.cond %b then @no else @yes(%0) {test.tag} : i1, (tensor<2xf32>) -> tensor<2xf32>
  %1 = edge.cond %b then @no else @yes(%0) {test.tag} : i1, (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

func.func private @yes(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

func.func private @no(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = edge.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @loop
func.func @loop(%i: tensor<i64>, %x: tensor<2xf32>, %n: tensor<i64>) -> tensor<2xf32> {
  // CHECK: %0, %1 = edge.while_loop while @goes_on do @step(%i, %x) with(%n) : (tensor<i64>, tensor<2xf32>), (tensor<i64>) -> (tensor<i64>, tensor<2xf32>)
  // GENERIC: "edge.while_loop"(%i, %x, %n) <{body_function = @step, condition_function = @goes_on, operandSegmentSizes = array<i32: 2, 1>}>
  %0, %1 = edge.while_loop while @goes_on do @step(%i, %x) with(%n)
    : (tensor<i64>, tensor<2xf32>), (tensor<i64>) -> (tensor<i64>, tensor<2xf32>)
  func.return %1 : tensor<2xf32>
}

func.func private @goes_on(%i: tensor<i64>, %x: tensor<2xf32>, %n: tensor<i64>) -> tensor<i1> {
  %0 = edge.lt.Tensor(%i, %n) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  func.return %0 : tensor<i1>
}

func.func private @step(%i: tensor<i64>, %x: tensor<2xf32>, %n: tensor<i64>) -> (tensor<i64>, tensor<2xf32>) {
  %0 = edge.add.Scalar(%i) {other = 1 : i64} : (tensor<i64>) -> tensor<i64>
  %1 = edge.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<i64>, tensor<2xf32>
}

// What is added says how many products there are.
// CHECK-LABEL: func.func @sum_of_open_products
func.func @sum_of_open_products(%c: tensor<2x1x3xf32>, %a: tensor<?x3x4xf32> {xir.max_shape = array<i64: 2, 3, 4>},
                                %b: tensor<?x4x3xf32> {xir.max_shape = array<i64: 2, 4, 3>}) -> tensor<2x3x3xf32> {
  // CHECK: edge.baddbmm(%c, %a, %b) : (tensor<2x1x3xf32>, tensor<?x3x4xf32>, tensor<?x4x3xf32>) -> tensor<2x3x3xf32>
  %0 = edge.baddbmm(%c, %a, %b) : (tensor<2x1x3xf32>, tensor<?x3x4xf32>, tensor<?x4x3xf32>) -> tensor<2x3x3xf32>
  func.return %0 : tensor<2x3x3xf32>
}

// What a program returns where it has nothing to return.
// CHECK-LABEL: func.func @nothing
// CHECK-SAME: -> (none, tensor<2xf32>)
func.func @nothing(%x: tensor<2xf32>) -> (none, tensor<2xf32>) {
  // CHECK-NEXT: %0 = edge.none
  %0 = edge.none
  // CHECK-NEXT: func.return %0, %x : none, tensor<2xf32>
  func.return %0, %x : none, tensor<2xf32>
}
