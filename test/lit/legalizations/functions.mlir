// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// A quotient of polynomials of x², for |x| ≤ 4.
// CHECK-LABEL: func.func @erf(
// CHECK:         xnnpack.clamp %{{.*}} {output_max = 4.000000e+00 : f32, output_min = -4.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.unary square
// CHECK:         xnnpack.binary divide
// CHECK-NEXT:    xnnpack.clamp %{{.*}} {output_max = 1.000000e+00 : f32, output_min = -1.000000e+00 : f32}
func.func @erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.erf(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @expm1(
// CHECK:         xnnpack.elu
// CHECK:         xnnpack.unary exp
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.binary subtract
// CHECK-NEXT:    xnnpack.yield
func.func @expm1(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.expm1(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @sinh(
// CHECK-COUNT-4: xnnpack.elu
// CHECK:         xnnpack.constant dense<5.000000e-01>
// CHECK:         xnnpack.binary subtract
// CHECK:         xnnpack.yield
func.func @sinh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.sinh(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A polynomial near 0, and the logarithm of what is beyond.
// CHECK-LABEL: func.func @log1p(
// CHECK:         %[[NEAR:.*]] = xnnpack.clamp %{{.*}} {output_max = 1.000000e+00 : f32, output_min = -5.000000e-01 : f32}
// CHECK:         %[[REST:.*]] = xnnpack.binary divide
// CHECK-NEXT:    %[[BEYOND:.*]] = xnnpack.unary log %[[REST]]
// CHECK:         xnnpack.binary divide %[[NEAR]]
// CHECK-NEXT:    xnnpack.unary square
// CHECK:         xnnpack.binary add %{{.*}}, %[[BEYOND]]
func.func @log1p(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.log1p(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// By a power of 2 nothing rounds.
// By less than 1 a quotient would overflow: numbers are kept to those that have a remainder.
// CHECK-LABEL: func.func @remainders(
// CHECK:         xnnpack.clamp
// CHECK:         xnnpack.unary floor
// CHECK:         xnnpack.binary subtract
// CHECK:         xnnpack.unary ceiling
// CHECK:         xnnpack.binary subtract
// CHECK-COUNT-2: edge.remainder.Scalar
func.func @remainders(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.remainder.Scalar(%x) {other = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.fmod.Scalar(%0) {other = -4 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{edge.remainder.Scalar not delegated: its divisor 3 is not a power of 2 from 2^-126 to 2^23, so that quotients round}}
  %2 = edge.remainder.Scalar(%1) {other = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{its divisor 0 is not a power of 2}}
  %3 = edge.remainder.Scalar(%2) {other = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// -----

// Integers wrap around, which floats do not.
// CHECK-LABEL: func.func @power_of_integers(
// CHECK:         edge.pow.Scalar
func.func @power_of_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-remark @+1 {{edge.pow.Scalar not delegated: it is a power of integers, which XNNPACK would compute in floats}}
  %0 = edge.pow.Scalar(%x) {self = 255 : i64} : (tensor<4xi32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
