// RUN: xir-opt %s --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s
// RUN: xir-opt %s --partition-xnnpack=target=xir | filecheck %s --check-prefix=XIR

// Stock ExecuTorch has no node that rounds: there a sum rounds that fp32 holds no fractions of.
// CHECK-LABEL:   func.func @round(
// CHECK:           xnnpack.subgraph(%x) : (
// CHECK:             xnnpack.constant dense<8.388608e+06> : tensor<f32>
// CHECK-NEXT:        xnnpack.binary add %{{.*}} {output_max = 16777216.0 : f32, output_min = 8.388608e+06 : f32}
// XIR-LABEL:     func.func @round(
// XIR:             xnnpack.subgraph(%x) {target = "xir"}
// XIR-NEXT:        ^bb0
// XIR-NEXT:          xnnpack.unary bankers_rounding
// XIR-NEXT:          xnnpack.yield
func.func @round(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.round(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// Without the node, the maximum is a pooling.
// CHECK-LABEL:   func.func @amax(
// CHECK:           xnnpack.max_pooling2d
// XIR-LABEL:     func.func @amax(
// XIR:             xnnpack.static_reduce max %{{.*}} {axes = array<i32: 1>, keep_dims} : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
func.func @amax(%x: tensor<2x3x4xf32>) -> tensor<2x1x4xf32> {
  %0 = edge.amax(%x) {dim = array<i64: 1>, keepdim = true} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  func.return %0 : tensor<2x1x4xf32>
}

// CHECK-LABEL:   func.func @amin(
// CHECK:           xnnpack.max_pooling2d
// XIR-LABEL:     func.func @amin(
// XIR:             xnnpack.static_reduce min
func.func @amin(%x: tensor<2x3x4xf32>) -> tensor<2x4xf32> {
  %0 = edge.amin(%x) {dim = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// CHECK-LABEL:   func.func @sum(
// CHECK:           xnnpack.global_average_pooling2d
// XIR-LABEL:     func.func @sum(
// XIR:             xnnpack.static_reduce sum
func.func @sum(%x: tensor<2x3x4xf32>) -> tensor<2x4xf32> {
  %0 = edge.sum.dim_IntList(%x) {dim = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// CHECK-LABEL:   func.func @mean(
// CHECK:           xnnpack.global_average_pooling2d
// XIR-LABEL:     func.func @mean(
// XIR:             xnnpack.static_reduce mean
func.func @mean(%x: tensor<2x3x4xf32>) -> tensor<2x4xf32> {
  %0 = edge.mean.dim(%x) {dim = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// CHECK-LABEL:   func.func @tanh_gelu(
// CHECK:           xnnpack.unary tanh
// XIR-LABEL:     func.func @tanh_gelu(
// XIR:             xnnpack.unary approxgelu
func.func @tanh_gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.gelu(%x) {approximate = "tanh"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:   func.func @sign(
// CHECK:           xnnpack.binary multiply
// XIR-LABEL:     func.func @sign(
// XIR:             xnnpack.unary sign
func.func @sign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.sign(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:   func.func @pow(
// CHECK:           xnnpack.unary log
// XIR-LABEL:     func.func @pow(
// XIR:             xnnpack.binary pow
func.func @pow(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.pow.Tensor_Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:   func.func @power(
// CHECK:           xnnpack.unary log
// XIR-LABEL:     func.func @power(
// XIR:             xnnpack.binary pow
func.func @power(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.pow.Tensor_Scalar(%x) {exponent = 2.3 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:   func.func @fmod(
// CHECK:           edge.fmod.Scalar
// XIR-LABEL:     func.func @fmod(
// XIR:             xnnpack.binary modulus
func.func @fmod(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{edge.fmod.Scalar not delegated: its divisor 2.7 is not a power of 2}}
  %0 = edge.fmod.Scalar(%x) {other = 2.7 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:   func.func @atan2(
// CHECK:           edge.atan2
// XIR-LABEL:     func.func @atan2(
// XIR:             xnnpack.binary atan2
func.func @atan2(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{edge.atan2 not delegated: stock ExecuTorch has no node for it (compile for target "xir")}}
  %0 = edge.atan2(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:   func.func @copysign(
// CHECK:           edge.copysign.Tensor
// XIR-LABEL:     func.func @copysign(
// XIR:             xnnpack.binary copysign
func.func @copysign(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{edge.copysign.Tensor not delegated: stock ExecuTorch has no node for it}}
  %0 = edge.copysign.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:   func.func @bits(
// CHECK:           edge.bitwise_not
// XIR-LABEL:     func.func @bits(
// XIR:             xnnpack.unary bitwise_not
// XIR:             xnnpack.binary bitwise_and
// XIR:             xnnpack.constant dense<5> : tensor<i32>
// XIR:             xnnpack.binary bitwise_xor
func.func @bits(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-remark@+1 {{edge.bitwise_not not delegated: stock ExecuTorch has no node for it}}
  %0 = edge.bitwise_not(%x) : (tensor<4xi32>) -> tensor<4xi32>
  // expected-remark@+1 {{edge.bitwise_and.Tensor not delegated: stock ExecuTorch has no node for it}}
  %1 = edge.bitwise_and.Tensor(%0, %x) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // expected-remark@+1 {{edge.bitwise_xor.Scalar not delegated: stock ExecuTorch has no node for it}}
  %2 = edge.bitwise_xor.Scalar(%1) {other = 5 : i64} : (tensor<4xi32>) -> tensor<4xi32>
  func.return %2 : tensor<4xi32>
}

// CHECK-LABEL:   func.func @other_bits(
// CHECK-NOT:       xnnpack
// XIR-LABEL:     func.func @other_bits(
// XIR:             xnnpack.binary bitwise_or
// XIR:             xnnpack.binary bitwise_xor
// XIR:             xnnpack.constant dense<3> : tensor<i32>
// XIR:             xnnpack.binary bitwise_and
// XIR:             xnnpack.constant dense<4> : tensor<i32>
// XIR:             xnnpack.binary bitwise_or
func.func @other_bits(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = edge.bitwise_or.Tensor(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = edge.bitwise_xor.Tensor(%0, %y) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %2 = edge.bitwise_and.Scalar(%1) {other = 3 : i64} : (tensor<4xi32>) -> tensor<4xi32>
  %3 = edge.bitwise_or.Scalar(%2) {other = 4 : i64} : (tensor<4xi32>) -> tensor<4xi32>
  func.return %3 : tensor<4xi32>
}
