// RUN: xir-opt %s --crop-padding --split-input-file | filecheck %s

// As convolutions over the past are written, with padding on both sides.
// CHECK-LABEL: func.func @causal(
// CHECK:         %[[P:.*]] = edge.constant_pad_nd(%x) {pad = array<i64: 2, 0>, value = 0.000000e+00 : f64} : (tensor<1x4x?xf32>) -> tensor<1x4x?xf32>
// CHECK-NEXT:    %[[C:.*]] = edge.conv1d(%[[P]], %w, none) : (tensor<1x4x?xf32>, tensor<4x4x3xf32>) -> tensor<1x4x?xf32>
// CHECK-NEXT:    func.return %[[C]]
func.func @causal(%x: tensor<1x4x?xf32> {xir.max_shape = array<i64: 1, 4, 9>, xir.dim_names = ["", "", "n"]}, %w: tensor<4x4x3xf32>) -> tensor<1x4x?xf32> {
  %0 = edge.conv1d(%x, %w, none) {padding = array<i64: 2>} : (tensor<1x4x?xf32>, tensor<4x4x3xf32>) -> tensor<1x4x?xf32>
  %1 = edge.slice.Tensor(%0) {dim = 2 : i64, start = 0 : i64, end = -2 : i64} : (tensor<1x4x?xf32>) -> tensor<1x4x?xf32>
  func.return %1 : tensor<1x4x?xf32>
}

// -----

// As long as the input, the second to last dimension, by strides: two of the padding's four rows are left.
// CHECK-LABEL: func.func @rows(
// CHECK:         %[[P:.*]] = edge.constant_pad_nd(%x) {pad = array<i64: 0, 0, 4, 2>, value = 0.000000e+00 : f64}
// CHECK-NEXT:    edge.convolution(%[[P]], %w, none) {{{.*}}padding = array<i64: 0, 1>, stride = array<i64: 2, 1>
func.func @rows(%x: tensor<1x1x?x8xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x?x8xf32> {
  %0 = edge.convolution(%x, %w, none) {stride = array<i64: 2, 1>, padding = array<i64: 4, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x1x?x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x?x8xf32>
  %1 = edge.slice.Tensor(%0) {dim = -2 : i64, start = 0 : i64, end = -1 : i64} : (tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32>
  func.return %1 : tensor<1x1x?x8xf32>
}

// -----

// More is cut off than was padded, from the start, of channels, or of what something else reads whole.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     edge.constant_pad_nd
func.func @others(%x: tensor<1x4x?xf32>, %w: tensor<4x4x3xf32>) -> (tensor<1x4x?xf32>, tensor<1x4x?xf32>, tensor<1x2x?xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>) {
  %0 = edge.conv1d(%x, %w, none) {padding = array<i64: 1>} : (tensor<1x4x?xf32>, tensor<4x4x3xf32>) -> tensor<1x4x?xf32>
  %1 = edge.slice.Tensor(%0) {dim = 2 : i64, start = 0 : i64, end = -2 : i64} : (tensor<1x4x?xf32>) -> tensor<1x4x?xf32>
  %2 = edge.conv1d(%x, %w, none) {padding = array<i64: 2>} : (tensor<1x4x?xf32>, tensor<4x4x3xf32>) -> tensor<1x4x?xf32>
  %3 = edge.slice.Tensor(%2) {dim = 2 : i64, start = 2 : i64} : (tensor<1x4x?xf32>) -> tensor<1x4x?xf32>
  %4 = edge.conv1d(%x, %w, none) {padding = array<i64: 3>} : (tensor<1x4x?xf32>, tensor<4x4x3xf32>) -> tensor<1x4x?xf32>
  %5 = edge.slice.Tensor(%4) {dim = 1 : i64, start = 0 : i64, end = 2 : i64} : (tensor<1x4x?xf32>) -> tensor<1x2x?xf32>
  %6 = edge.conv1d(%x, %w, none) {padding = array<i64: 4>} : (tensor<1x4x?xf32>, tensor<4x4x3xf32>) -> tensor<1x4x?xf32>
  %7 = edge.slice.Tensor(%6) {dim = 2 : i64, start = 0 : i64, end = -1 : i64} : (tensor<1x4x?xf32>) -> tensor<1x4x?xf32>
  func.return %1, %3, %5, %6, %7 : tensor<1x4x?xf32>, tensor<1x4x?xf32>, tensor<1x2x?xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>
}
