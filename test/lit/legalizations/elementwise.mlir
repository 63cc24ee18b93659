// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// CHECK-LABEL: func.func @one_node_each(
// CHECK:         xnnpack.unary abs
// CHECK-NEXT:    xnnpack.unary ceiling
// CHECK-NEXT:    xnnpack.unary floor
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.binary maximum
// CHECK-NEXT:    xnnpack.yield
func.func @one_node_each(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.ceil(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.floor(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.mul.Tensor(%2, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = edge.maximum(%3, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %4 : tensor<4xf32>
}

// -----

// alpha multiplies the second operand; an alpha of 1 is no node.
// CHECK-LABEL: func.func @alpha(
// CHECK:         xnnpack.binary add
// CHECK-NEXT:    xnnpack.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.binary subtract
// CHECK-NEXT:    xnnpack.yield
func.func @alpha(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.add.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.sub.Tensor(%0, %y) {alpha = 2 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// A number has no dimensions, so that a scalar stays one.
// CHECK-LABEL: func.func @scalar(
// CHECK:         xnnpack.binary add %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32> -> tensor<f32>
func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  %0 = edge.add.Scalar(%x) {other = 1 : i64} : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @powers(
// CHECK:         xnnpack.unary square_root
// CHECK-NEXT:    xnnpack.unary square
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.yield
func.func @powers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.pow.Tensor_Scalar(%x) {exponent = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.pow.Tensor_Scalar(%0) {exponent = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// Quarters are roots; what else is no whole number, or a large one, goes through the logarithm.
// CHECK-LABEL: func.func @other_powers(
// CHECK:         xnnpack.unary square_root
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK:         xnnpack.unary log
// CHECK:         xnnpack.unary exp
// CHECK:         xnnpack.unary abs
// CHECK:         xnnpack.unary log
// CHECK:         xnnpack.unary exp
// CHECK:         xnnpack.binary multiply %{{.*}}, %{{.*}} {output_max = 1.000000e+00 : f32, output_min = -1.000000e+00 : f32}
// CHECK:         edge.pow.Tensor_Scalar
func.func @other_powers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.pow.Tensor_Scalar(%x) {exponent = 1.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.pow.Tensor_Scalar(%0) {exponent = 0.3 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.pow.Tensor_Scalar(%1) {exponent = 65 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{the power 0 does not depend on its base (replace it by its value)}}
  %3 = edge.pow.Tensor_Scalar(%2) {exponent = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @power_of_tensors(
// CHECK:         xnnpack.unary log
// CHECK:         xnnpack.unary exp
// CHECK:         xnnpack.unary floor
// CHECK:         xnnpack.unary square_root
// CHECK:         xnnpack.binary add
// CHECK-NEXT:    xnnpack.yield
func.func @power_of_tensors(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.pow.Tensor_Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @exponentials(
// CHECK:         xnnpack.constant dense<6.931472e-01> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.unary exp
// CHECK-NEXT:    xnnpack.constant dense<1.09861231> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK-NEXT:    %[[BASE:.*]] = xnnpack.unary exp
// CHECK-NEXT:    %[[FINITE:.*]] = xnnpack.clamp %[[BASE]] {output_max = 3.40282347e+38 : f32, output_min = -3.40282347e+38 : f32}
// CHECK-NEXT:    %[[LOG:.*]] = xnnpack.unary log %[[FINITE]]
// CHECK-NEXT:    %[[BEYOND:.*]] = xnnpack.binary subtract %[[BASE]], %[[FINITE]]
// CHECK-NEXT:    xnnpack.binary add %[[LOG]], %[[BEYOND]]
// CHECK-NEXT:    xnnpack.constant dense<1.442695e+00> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK:         xnnpack.unary log
// CHECK-NEXT:    xnnpack.binary subtract
// CHECK-NEXT:    xnnpack.binary add
// CHECK-NEXT:    xnnpack.constant dense<4.342945e-01> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.yield
func.func @exponentials(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.exp2(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.pow.Scalar(%0) {self = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.log2(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.log10(%2) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @negative_base(
// CHECK:         edge.pow.Scalar
func.func @negative_base(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.pow.Scalar not delegated: its base -2 has no logarithm}}
  %0 = edge.pow.Scalar(%x) {self = -2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// The second multiplication lifts what the first one leaves below 1.
// CHECK-LABEL: func.func @sign(
// CHECK:         xnnpack.binary multiply %{{.*}} {output_max = 1.000000e+00 : f32, output_min = -1.000000e+00 : f32}
// CHECK:         xnnpack.binary multiply %{{.*}} {output_max = 1.000000e+00 : f32, output_min = -1.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.yield
func.func @sign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.sign(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @tan_and_cosh(
// CHECK:         xnnpack.unary sine
// CHECK:         xnnpack.unary cosine
// CHECK:         xnnpack.binary divide
// CHECK-NEXT:    xnnpack.unary abs
// CHECK-NEXT:    xnnpack.unary negate
// CHECK-NEXT:    xnnpack.unary exp
// CHECK:         xnnpack.unary exp
// CHECK:         xnnpack.binary add
// CHECK-NEXT:    xnnpack.yield
func.func @tan_and_cosh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.tan(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.cosh(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @of_doubles(
// CHECK:         edge.tan
func.func @of_doubles(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-remark @+1 {{edge.tan not delegated: XNNPACK does not compute it on f64}}
  %0 = edge.tan(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %0 : tensor<4xf64>
}

// -----

// CHECK-LABEL: func.func @div_Tensor(
// CHECK:         xnnpack.binary divide
// CHECK-NEXT:    xnnpack.yield
func.func @div_Tensor(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = edge.div.Tensor(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @div_Scalar(
// CHECK:         xnnpack.binary divide
// CHECK-NEXT:    xnnpack.yield
func.func @div_Scalar(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.div.Scalar(%x) {other = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @div_Scalar_mode(
// CHECK:         [[Q:%.+]] = xnnpack.binary multiply [[X:%[^,]+]],
// CHECK-NEXT:    [[W:%.+]] = xnnpack.unary floor [[Q]]
// CHECK-NEXT:    [[R:%.+]] = xnnpack.binary subtract [[X]], [[X]]
// CHECK-NEXT:    [[Y:%.+]] = xnnpack.binary add [[W]], [[R]]
// CHECK-NEXT:    xnnpack.yield [[Y]]
func.func @div_Scalar_mode(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.div.Scalar_mode(%x) {other = 2 : i64, rounding_mode = "floor"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @div_Tensor_mode(
// CHECK:         xnnpack.binary divide
// CHECK:         xnnpack.unary ceiling
func.func @div_Tensor_mode(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.div.Tensor_mode(%x, %y) {rounding_mode = "trunc"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A quotient that rounds may round to a whole number.
// CHECK-LABEL: func.func @inexact_div_Scalar_mode(
// CHECK:         edge.div.Scalar_mode
func.func @inexact_div_Scalar_mode(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.div.Scalar_mode not delegated: its quotient is rounded down, which needs a remainder, and XNNPACK computes none}}
  %0 = edge.div.Scalar_mode(%x) {other = 3 : i64, rounding_mode = "floor"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A number that fp16 does not have is multiplied by in fp32.
// CHECK-LABEL: func.func @beyond_fp16(
// CHECK:         [[C:%.+]] = xnnpack.constant dense<7.000000e+04> : tensor<f32>
// CHECK:         [[X:%.+]] = xnnpack.convert %{{.+}} : tensor<4xf16> -> tensor<4xf32>
// CHECK-NEXT:    [[Y:%.+]] = xnnpack.binary multiply [[X]], [[C]]
// CHECK:         xnnpack.convert [[Y]] {xir.unasked} : tensor<4xf32> -> tensor<4xf16>
func.func @beyond_fp16(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = edge.mul.Scalar(%x) {other = 70000 : i64} : (tensor<4xf16>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// -----

// XNNPACK's largest passes over a NaN.
// CHECK-LABEL: func.func @maximum_of_nan(
// CHECK:         edge.maximum
func.func @maximum_of_nan(%x: tensor<2xf32>) -> tensor<2xf32> {
  %n = edge.constant dense<0x7FC00000> : tensor<2xf32>
  // expected-remark @+1 {{edge.maximum not delegated: one of its operands is NaN, which XNNPACK ignores}}
  %0 = edge.maximum(%x, %n) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @rsub_Scalar(
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.binary subtract
// CHECK-NEXT:    xnnpack.yield
func.func @rsub_Scalar(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.rsub.Scalar(%x) {other = 1 : i64, alpha = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @sub_Scalar(
// CHECK:         xnnpack.binary subtract
// CHECK-NEXT:    xnnpack.yield
func.func @sub_Scalar(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.sub.Scalar(%x) {other = 1.500000e+00 : f64, alpha = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @reciprocal(
// CHECK:         xnnpack.binary divide
// CHECK-NEXT:    xnnpack.yield
func.func @reciprocal(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.reciprocal(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @minimum(
// CHECK:         xnnpack.binary minimum
// CHECK-NEXT:    xnnpack.yield
func.func @minimum(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = edge.minimum(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @clamp_Tensor(
// CHECK:         xnnpack.binary maximum
// CHECK:         xnnpack.binary minimum
// CHECK-NEXT:    xnnpack.yield
func.func @clamp_Tensor(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %z: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = edge.clamp.Tensor(%x, %y, %z) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @trunc(
// CHECK:         xnnpack.unary ceiling
// CHECK:         xnnpack.clamp %{{.*}} {output_max = 0.000000e+00 : f32}
// CHECK:         xnnpack.unary floor
// CHECK:         xnnpack.binary maximum
// CHECK-NEXT:    xnnpack.yield
func.func @trunc(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.trunc(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @exp(
// CHECK:         xnnpack.unary exp
// CHECK-NEXT:    xnnpack.yield
func.func @exp(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// What is beyond the largest number is added: the kernels of some processors have a number for infinity and NaN.
// CHECK-LABEL: func.func @log(
// CHECK:         xnnpack.clamp
// CHECK-NEXT:    xnnpack.unary log
// CHECK-NEXT:    xnnpack.binary subtract
// CHECK-NEXT:    xnnpack.binary add
// CHECK-NEXT:    xnnpack.yield
func.func @log(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.log(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @floor(
// CHECK:         xnnpack.unary floor
// CHECK-NEXT:    xnnpack.yield
func.func @floor(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.floor(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @rsqrt(
// CHECK:         xnnpack.unary reciprocal_square_root
// CHECK-NEXT:    xnnpack.yield
func.func @rsqrt(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.rsqrt(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// XNNPACK's sine of large numbers is beyond 1, or NaN, which that of infinities alone is.
// CHECK-LABEL: func.func @sin(
// CHECK:         [[NEAR:%.*]] = xnnpack.clamp %[[X:.*]] {output_max = 1.000000e+08 : f32, output_min = -1.000000e+08 : f32}
// CHECK-NEXT:    [[SINE:%.*]] = xnnpack.unary sine [[NEAR]]
// CHECK-NEXT:    [[NONE:%.*]] = xnnpack.binary subtract %[[X]], %[[X]]
// CHECK-NEXT:    [[SUM:%.*]] = xnnpack.binary add [[SINE]], [[NONE]]
// CHECK-NEXT:    xnnpack.yield [[SUM]]
func.func @sin(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.sin(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @cos(
// CHECK:         [[NEAR:%.*]] = xnnpack.clamp %[[X:.*]] {output_max = 1.000000e+08 : f32, output_min = -1.000000e+08 : f32}
// CHECK-NEXT:    [[COSINE:%.*]] = xnnpack.unary cosine [[NEAR]]
// CHECK-NEXT:    [[NONE:%.*]] = xnnpack.binary subtract %[[X]], %[[X]]
// CHECK-NEXT:    xnnpack.binary add [[COSINE]], [[NONE]]
func.func @cos(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.cos(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @sqrt(
// CHECK:         xnnpack.unary square_root
// CHECK-NEXT:    xnnpack.yield
func.func @sqrt(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.sqrt(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @square(
// CHECK:         xnnpack.unary square
// CHECK-NEXT:    xnnpack.yield
func.func @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.square(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @tanh(
// CHECK:         xnnpack.unary tanh
// CHECK-NEXT:    xnnpack.yield
func.func @tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.tanh(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @clone(
// CHECK-NEXT:    func.return
func.func @clone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.clone(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @contiguous(
// CHECK-NEXT:    func.return
func.func @contiguous(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.contiguous(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @alias(
// CHECK-NEXT:    func.return
func.func @alias(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.alias(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @detach(
// CHECK-NEXT:    func.return
func.func @detach(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.detach(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @lift_fresh_copy(
// CHECK-NEXT:    func.return
func.func @lift_fresh_copy(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.lift_fresh_copy(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @dropout(
// CHECK-NEXT:    func.return
func.func @dropout(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.dropout(%x) {p = 5.000000e-01 : f64, train = false} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
