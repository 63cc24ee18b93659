// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// CHECK-LABEL: func.func @bounds(
// CHECK:         xnnpack.clamp %{{.*}} {output_min = 0.000000e+00 : f32} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:    xnnpack.clamp %{{.*}} {output_min = 0.000000e+00 : f32, output_max = 6.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.clamp %{{.*}} {output_max = 5.000000e-01 : f32}
// CHECK-NEXT:    xnnpack.yield
func.func @bounds(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.hardtanh(%0) {min_val = 0 : i64, max_val = 6 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.clamp(%1) {max = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @no_interval(
// CHECK:         edge.clamp(%x) {min = 1 : i64, max = 1 : i64, xir.reason = "its bounds [1, 1] leave no interval"}
func.func @no_interval(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.clamp not delegated: its bounds [1, 1] leave no interval}}
  %0 = edge.clamp(%x) {min = 1 : i64, max = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// One node, or as many as the definition has parts.
// CHECK-LABEL: func.func @nodes(
// CHECK:         xnnpack.unary hardswish
// CHECK-NEXT:    xnnpack.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary add %{{.*}}, %{{.*}} {output_min = 0.000000e+00 : f32, output_max = 6.000000e+00 : f32} : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
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

// CHECK-LABEL: func.func @scaled_elu(
// CHECK:         edge.elu
func.func @scaled_elu(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.elu not delegated: XNNPACK's elu has no scale and input_scale}}
  %0 = edge.elu(%x) {scale = 1.05 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// XNNPACK's own limits are refusals too.
// CHECK-LABEL: func.func @negative_alpha(
// CHECK:         edge.elu
func.func @negative_alpha(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.elu not delegated: alpha must be finite and positive, it is -1.0}}
  %0 = edge.elu(%x) {alpha = -1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
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
// CHECK:         edge.prelu
func.func @computed_prelu(%x: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-remark @+1 {{edge.prelu not delegated: its weight is not a constant (make it a parameter or buffer of the module)}}
  %0 = edge.prelu(%x, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
