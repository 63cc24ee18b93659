// RUN: xir-opt %s --split-input-file --delegate | filecheck %s

// Convolution, norm and activation are one node; the function's NCHW is met by one transpose at either end.
// CHECK-LABEL: func.func @block(
// CHECK:         xnnpack.subgraph(%x) : (tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: tensor<1x1x4x4xf32>):
// CHECK-NEXT:      %[[W:.*]] = xnnpack.constant dense<{{.*}}> : tensor<2x1x1x1xf32>
// CHECK-NEXT:      %[[B:.*]] = xnnpack.constant dense<{{.*}}> : tensor<2xf32>
// CHECK-NEXT:      %[[I:.*]] = xnnpack.static_reshape %[[X]] {new_shape = array<i32: 1, 4, 4, 1>}
// CHECK-NEXT:      %[[C:.*]] = xnnpack.conv2d %[[I]], %[[W]], %[[B]] {output_max = 6.000000e+00 : f32, output_min = 0.000000e+00 : f32}
// CHECK-NEXT:      %[[T:.*]] = xnnpack.static_transpose %[[C]] {perm = array<i32: 0, 3, 1, 2>}
// CHECK-NEXT:      %[[S:.*]] = xnnpack.unary hardswish %[[T]] : tensor<1x2x4x4xf32>
// CHECK-NEXT:      xnnpack.yield %[[S]]
func.func @block(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = edge.constant dense<1.0> : tensor<2x1x1x1xf32>
  %one = edge.constant dense<1.0> : tensor<2xf32>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = edge.batch_norm(%0, none, none, %one, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %2 = edge.hardtanh(%1) {min_val = 0 : i64, max_val = 6 : i64} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %3 = edge.hardswish(%2) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %3 : tensor<1x2x4x4xf32>
}

// -----

// Equal outputs are one.
// CHECK-LABEL: func.func @equal_outputs(
// CHECK:         %[[Y:.*]] = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK:         func.return %[[Y]], %[[Y]]
func.func @equal_outputs(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Nor can XNNPACK compute one value for two outputs that differ only in where they come from.
// CHECK-LABEL: func.func @equal_after_lowering(
// CHECK:         xnnpack.yield %[[A:.*]], %[[B:.*]] : tensor<4xf32>, tensor<4xf32>
func.func @equal_after_lowering(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.clamp(%x) {min = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A program that gives its input back, permuted there and back, copies it: an output is an output of a node.
// CHECK-LABEL: func.func @identity(
// CHECK:         %[[C:.*]] = xnnpack.copy
// CHECK-NEXT:    xnnpack.yield %[[C]]
func.func @identity(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.permute(%x) {dims = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = edge.permute(%0) {dims = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
