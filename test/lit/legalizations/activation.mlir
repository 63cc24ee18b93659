// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// CHECK-LABEL: func.func @bounds(
// CHECK:         xnnpack.clamp %{{.*}} {output_min = 0.000000e+00 : f32} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:    xnnpack.clamp %{{.*}} {output_max = 6.000000e+00 : f32, output_min = 0.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.clamp %{{.*}} {output_max = 5.000000e-01 : f32}
// CHECK-NEXT:    xnnpack.yield
func.func @bounds(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.hardtanh(%0) {min_val = 0 : i64, max_val = 6 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.clamp(%1) {max = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// -----

// Bounds without an interval between them are no node, but what ATen does: first the lower one, then the upper one.
// CHECK-LABEL: func.func @no_interval(
// CHECK:         %[[L:.*]] = xnnpack.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[M:.*]] = xnnpack.binary maximum %{{.*}}, %[[L]]
// CHECK-NEXT:    %[[H:.*]] = xnnpack.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary minimum %[[M]], %[[H]]
func.func @no_interval(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.clamp(%x) {min = 2 : i64, max = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// One node, or as many as the definition has parts.
// CHECK-LABEL: func.func @nodes(
// CHECK:         xnnpack.unary hardswish
// CHECK-NEXT:    xnnpack.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary add
// CHECK-NEXT:    xnnpack.clamp %{{.*}} {output_max = 6.000000e+00 : f32, output_min = 0.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.constant dense<0.166666672> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.unary sigmoid
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.unary gelu
// CHECK-NEXT:    xnnpack.elu %{{.*}} {alpha = 5.000000e-01 : f32}
// CHECK-NEXT:    xnnpack.leaky_relu %{{.*}} {negative_slope = 2.500000e-01 : f32}
// CHECK-NEXT:    xnnpack.yield
func.func @nodes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.hardswish(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.hardsigmoid(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.silu(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.gelu(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = edge.elu(%3) {alpha = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = edge.leaky_relu(%4) {negative_slope = 0.25 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %5 : tensor<4xf32>
}

// -----

// In fp16 a sixth is off by 2.4e-4, to the same side in each layer: its decomposition computes in fp32.
// CHECK-LABEL: func.func @half_hardsigmoid(
// CHECK:         xnnpack.convert %{{.*}} : tensor<4xf16> -> tensor<4xf32>
// CHECK:         xnnpack.constant dense<0.166666672> : tensor<f32>
// CHECK:         xnnpack.convert %{{.*}} {xir.unasked} : tensor<4xf32> -> tensor<4xf16>
func.func @half_hardsigmoid(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = edge.hardsigmoid(%x) : (tensor<4xf16>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// -----

// A scale is a product, as SELU has one: XNNPACK's ELU has an alpha only.
// CHECK-LABEL: func.func @selu(
// CHECK:         xnnpack.elu %{{.*}} {alpha = 1.67326319 : f32}
// CHECK-NEXT:    xnnpack.constant dense<1.050701e+00> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.yield
func.func @selu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.elu(%x) {alpha = 1.6732632423543772 : f64, scale = 1.0507009873554805 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// XNNPACK takes no alpha that is not positive, and has no scale of the input: then both sides are added.
// CHECK-LABEL: func.func @sides(
// CHECK:         %[[B:.*]] = xnnpack.clamp %{{.*}} {output_max = 0.000000e+00 : f32}
// CHECK:         %[[E:.*]] = xnnpack.elu %{{.*}} {alpha = 1.000000e+00 : f32}
// CHECK:         xnnpack.clamp %{{.*}} {output_min = 0.000000e+00 : f32}
// CHECK:         xnnpack.binary multiply %[[E]]
// CHECK:         xnnpack.binary add
// CHECK-NOT:     edge.elu
func.func @sides(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.elu(%x) {alpha = 2 : i64, input_scale = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.elu(%x) {alpha = -1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A slope for each channel lines up with dimension 1.
// CHECK-LABEL: func.func @prelu(
// CHECK:         %[[W:.*]] = xnnpack.constant dense<{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT:    xnnpack.binary prelu %{{.*}}, %[[W]] : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
func.func @prelu(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = edge.constant dense<[0.1, 0.2]> : tensor<2xf32>
  %0 = edge.prelu(%x, %w) : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %0 : tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @computed_prelu(
// CHECK:         %[[W:.*]] = xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 1, 1>}
// CHECK-NEXT:    xnnpack.binary prelu %{{.*}}, %[[W]] : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
func.func @computed_prelu(%x: tensor<1x2x4x4xf32>, %w: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  %0 = edge.prelu(%x, %w) : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %0 : tensor<1x2x4x4xf32>
}

// -----

// A threshold that shows puts self in the place of its softplus.
// CHECK-LABEL: func.func @softplus(
// CHECK:         xnnpack.unary exp
// CHECK-NOT:     xnnpack.unary log
// CHECK-NOT:     dense<1.70141183e+38>
// CHECK-LABEL: func.func @low_threshold(
// CHECK:         xnnpack.constant dense<1.70141183e+38>
func.func @softplus(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.softplus(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @low_threshold(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.softplus(%x) {threshold = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @negative_threshold(
// CHECK:         edge.softplus
func.func @negative_threshold(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.softplus not delegated: its threshold -1 cuts off negative numbers}}
  %0 = edge.softplus(%x) {threshold = -1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @mish(
// CHECK:         xnnpack.clamp %{{.*}} {output_max = 1.000000e+01 : f32}
// CHECK:         xnnpack.unary exp
// CHECK:         xnnpack.binary add
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.binary add
// CHECK:         xnnpack.binary divide
// CHECK:         xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.yield
func.func @mish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.mish(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A bound that is NaN makes all NaN.
// CHECK-LABEL: func.func @nan_bound(
// CHECK:         edge.clamp
func.func @nan_bound(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.clamp not delegated: one of its bounds is NaN}}
  %0 = edge.clamp(%x) {min = 0x7FF8000000000000 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// 0 · ∞ is NaN to ATen.
// CHECK-LABEL: func.func @infinite_slope(
// CHECK:         edge.leaky_relu
func.func @infinite_slope(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.leaky_relu not delegated: its slope inf is not finite}}
  %0 = edge.leaky_relu(%x) {negative_slope = 0x7FF0000000000000 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A slope that fp16 does not have is one of fp32.
// CHECK-LABEL: func.func @steep_slope(
// CHECK:         [[Y:%.+]] = xnnpack.leaky_relu {{%.+}} {negative_slope = 7.000000e+04 : f32} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:    xnnpack.convert [[Y]] {xir.unasked} : tensor<4xf32> -> tensor<4xf16>
func.func @steep_slope(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = edge.leaky_relu(%x) {negative_slope = 70000.0 : f64} : (tensor<4xf16>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}
