// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// XNNPACK computes on fp16 what it computes on fp32, and constants that a rule adds are fp16 too.
// CHECK-LABEL: func.func @fp16(
// CHECK:         [[C:%.+]] = xnnpack.constant dense<3.000000e+00> : tensor<f16>
// CHECK-NEXT:    xnnpack.binary add {{%.+}}, [[C]] : tensor<4xf16>, tensor<f16> -> tensor<4xf16>
// CHECK-NOT:     xnnpack.convert
func.func @fp16(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = edge.add.Scalar(%x) {other = 3 : i64} : (tensor<4xf16>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// -----

// But squares of fp16 numbers above 255 overflow: norms compute in fp32.
// CHECK-LABEL: func.func @fp16_norm(
// CHECK:         [[W:%.+]] = xnnpack.convert {{%.+}} : tensor<2x4xf16> -> tensor<2x4xf32>
// CHECK:         xnnpack.unary square {{%.+}} : tensor<2x4xf32> -> tensor<2x4xf32>
// CHECK:         xnnpack.convert {{%.+}} : tensor<2x4xf32> -> tensor<2x4xf16>
// CHECK-NEXT:    xnnpack.yield
func.func @fp16_norm(%x: tensor<2x4xf16>) -> tensor<2x4xf16> {
  %0 = edge.layer_norm(%x, none, none) {normalized_shape = array<i64: 4>} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  func.return %0 : tensor<2x4xf16>
}

// -----

// Nor does e^x have all of fp16's range in fp16 arithmetic, which some processors' kernels compute it in.
// CHECK-LABEL: func.func @fp16_exp(
// CHECK:         [[X:%.+]] = xnnpack.convert {{%.+}} : tensor<4xf16> -> tensor<4xf32>
// CHECK-NEXT:    [[Y:%.+]] = xnnpack.unary exp [[X]] : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:    xnnpack.convert [[Y]] {xir.unasked} : tensor<4xf32> -> tensor<4xf16>
func.func @fp16_exp(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = edge.exp(%x) : (tensor<4xf16>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// -----

// There are no fp16 filters for transposed convolutions on fp16.
// CHECK-LABEL: func.func @fp16_deconvolution(
// CHECK:         xnnpack.deconv2d {{%.+}}, {{%.+}} {stride = array<i32: 2, 2>{{.*}}} : (tensor<1x3x3x2xf32>, tensor<4x2x2x2xf32>) -> tensor<1x6x6x4xf32>
// CHECK-NEXT:    xnnpack.convert {{%.+}} : tensor<1x6x6x4xf32> -> tensor<1x6x6x4xf16>
func.func @fp16_deconvolution(%x: tensor<1x2x3x3xf16>) -> tensor<1x4x6x6xf16> {
  %w = edge.constant dense<0.5> : tensor<2x4x2x2xf16>
  %0 = edge.conv_transpose2d.input(%x, %w, none) {stride = array<i64: 2, 2>} : (tensor<1x2x3x3xf16>, tensor<2x4x2x2xf16>) -> tensor<1x4x6x6xf16>
  func.return %0 : tensor<1x4x6x6xf16>
}

// -----

// XNNPACK computes bf16 in fp32; constants are converted at compile time.
// CHECK-LABEL: func.func @bf16(
// CHECK:         [[X:%.+]] = xnnpack.convert {{%.+}} : tensor<2xbf16> -> tensor<2xf32>
// CHECK-NEXT:    [[C:%.+]] = xnnpack.constant dense<1.000000e+00> : tensor<2xf32>
// CHECK:         [[Y:%.+]] = xnnpack.binary add [[X]], [[C]] : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    [[Z:%.+]] = xnnpack.convert [[Y]] {xir.unasked} : tensor<2xf32> -> tensor<2xbf16>
// CHECK-NEXT:    xnnpack.yield [[Z]] : tensor<2xbf16>
func.func @bf16(%x: tensor<2xbf16>) -> tensor<2xbf16> {
  %c = edge.constant dense<1.0> : tensor<2xbf16>
  %0 = edge.add.Tensor(%x, %c) : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  func.return %0 : tensor<2xbf16>
}

// -----

// It moves bf16 as it is.
// CHECK-LABEL: func.func @bf16_move(
// CHECK:         xnnpack.static_transpose {{%.+}} : tensor<2x3xbf16> -> tensor<3x2xbf16>
// CHECK-NOT:     xnnpack.convert
func.func @bf16_move(%x: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %0 = edge.permute(%x) {dims = array<i64: 1, 0>} : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %0 : tensor<3x2xbf16>
}

// -----

// Weights of a fully connected node stay bf16; the bias and the result are fp32.
// CHECK-LABEL: func.func @bf16_linear(
// CHECK:         xnnpack.fully_connected {{%.+}}, {{%.+}}, {{%.+}} : (tensor<1x4xbf16>, tensor<2x4xbf16>, tensor<2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT:    xnnpack.convert {{%.+}} : tensor<1x2xf32> -> tensor<1x2xbf16>
func.func @bf16_linear(%x: tensor<1x4xbf16>) -> tensor<1x2xbf16> {
  %w = edge.constant dense<0.5> : tensor<2x4xbf16>
  %b = edge.constant dense<0.5> : tensor<2xbf16>
  %0 = edge.linear(%x, %w, %b) : (tensor<1x4xbf16>, tensor<2x4xbf16>, tensor<2xbf16>) -> tensor<1x2xbf16>
  func.return %0 : tensor<1x2xbf16>
}

// -----

// CHECK-LABEL: func.func @i32(
// CHECK:         xnnpack.unary negate {{%.+}} : tensor<4xi32> -> tensor<4xi32>
// CHECK:         [[C:%.+]] = xnnpack.constant dense<3> : tensor<i32>
// CHECK-NEXT:    xnnpack.binary multiply {{%.+}}, [[C]] : tensor<4xi32>, tensor<i32> -> tensor<4xi32>
func.func @i32(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = edge.neg(%x) : (tensor<4xi32>) -> tensor<4xi32>
  %1 = edge.mul.Scalar(%0) {other = 3 : i64} : (tensor<4xi32>) -> tensor<4xi32>
  func.return %1 : tensor<4xi32>
}

// -----

// XNNPACK would cast the infinite bound of a clamp.
// CHECK-LABEL: func.func @integer_bounds(
// CHECK:         edge.relu
// CHECK:         edge.where.self
func.func @integer_bounds(%x: tensor<2xi32>, %y: tensor<2xi32>) -> tensor<2xi32> {
  %c = edge.constant dense<[true, false]> : tensor<2xi1>
  // expected-remark @+1 {{edge.relu not delegated: XNNPACK does not compute it on i32}}
  %0 = edge.relu(%x) : (tensor<2xi32>) -> tensor<2xi32>
  // expected-remark @+1 {{edge.where.self not delegated: XNNPACK does not compute it on i32}}
  %1 = edge.where.self(%c, %0, %y) : (tensor<2xi1>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  func.return %1 : tensor<2xi32>
}

// -----

// What ATen computes of integers in fp32 is computed in fp32.
// CHECK-LABEL: func.func @promotion(
// CHECK:         [[X:%.+]] = xnnpack.convert {{%.+}} : tensor<4xi32> -> tensor<4xf32>
// CHECK-NEXT:    xnnpack.unary sigmoid [[X]] : tensor<4xf32> -> tensor<4xf32>
func.func @promotion(%x: tensor<4xi32>) -> tensor<4xf32> {
  %0 = edge.sigmoid(%x) : (tensor<4xi32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// XNNPACK's quotient of integers is another than either of ATen's, and traps for −2^31 / −1.
// CHECK-LABEL: func.func @integer_quotient(
// CHECK:         edge.div.Tensor_mode
func.func @integer_quotient(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  // expected-remark @+1 {{edge.div.Tensor_mode not delegated: XNNPACK does not compute it on i32}}
  %0 = edge.div.Tensor_mode(%x, %y) {rounding_mode = "trunc"} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// -----

// A fraction is no 32-bit integer.
// CHECK-LABEL: func.func @fraction(
// CHECK:         edge.add.Scalar
func.func @fraction(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-remark @+1 {{edge.add.Scalar not delegated: 1.5 is no i32}}
  %0 = edge.add.Scalar(%x) {other = 3 : i64, alpha = 0.5 : f64} : (tensor<4xi32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// -----

// CHECK-LABEL: func.func @cast(
// CHECK:         xnnpack.convert {{%.+}} : tensor<4xf32> -> tensor<4xf16>
// CHECK-NEXT:    xnnpack.yield
func.func @cast(%x: tensor<4xf32>) -> tensor<4xf16> {
  %0 = edge._to_copy(%x) {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// -----

// ATen rounds towards zero, XNNPACK to the nearest.
// CHECK-LABEL: func.func @cast_to_integers(
// CHECK:         xnnpack.unary floor
// CHECK:         [[T:%.+]] = xnnpack.binary maximum
// CHECK-NEXT:    xnnpack.convert [[T]] : tensor<4xf32> -> tensor<4xi32>
func.func @cast_to_integers(%x: tensor<4xf32>) -> tensor<4xi32> {
  %0 = edge._to_copy(%x) {dtype = i32} : (tensor<4xf32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// -----

// CHECK-LABEL: func.func @cast_to_long(
// CHECK:         edge._to_copy
func.func @cast_to_long(%x: tensor<4xf32>) -> tensor<4xi64> {
  // expected-remark @+1 {{edge._to_copy not delegated: XNNPACK does not compute it on i64}}
  %0 = edge._to_copy(%x) {dtype = i64} : (tensor<4xf32>) -> tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
