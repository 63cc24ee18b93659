// RUN: xir-opt %s --decompose-for-kernels --split-input-file | filecheck %s

// CHECK-LABEL:  func.func @conv1d(
// CHECK-NEXT:     %[[V0:.*]] = edge.convolution(%x, %w, none) {dilation = array<i64: 1>, groups = 2 : i64, output_padding = array<i64: 0>, padding = array<i64: 0>, stride = array<i64: 2>, transposed = false}
// CHECK-NEXT:     func.return %[[V0]]
func.func @conv1d(%x: tensor<2x4x9xf32>, %w: tensor<6x2x3xf32>) -> tensor<2x6x4xf32> {
  %0 = edge.conv1d(%x, %w, none) {stride = array<i64: 2>, groups = 2 : i64} : (tensor<2x4x9xf32>, tensor<6x2x3xf32>) -> tensor<2x6x4xf32>
  func.return %0 : tensor<2x6x4xf32>
}

// CHECK-LABEL:  func.func @conv2d(
// CHECK-NEXT:     %[[V0:.*]] = edge.convolution(%x, %w, %b) {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, transposed = false}
// CHECK-NEXT:     func.return %[[V0]]
func.func @conv2d(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %b: tensor<6xf32>) -> tensor<1x6x6x6xf32> {
  %0 = edge.conv2d(%x, %w, %b) : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<1x6x6x6xf32>
  func.return %0 : tensor<1x6x6x6xf32>
}

// CHECK-LABEL:  func.func @conv_transpose2d(
// CHECK-NEXT:     %[[V0:.*]] = edge.convolution(%x, %w, none) {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, transposed = true}
// CHECK-NEXT:     func.return %[[V0]]
func.func @conv_transpose2d(%x: tensor<1x4x8x8xf32>, %w: tensor<4x6x2x2xf32>) -> tensor<1x6x16x16xf32> {
  %0 = edge.conv_transpose2d.input(%x, %w, none) {stride = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>, tensor<4x6x2x2xf32>) -> tensor<1x6x16x16xf32>
  func.return %0 : tensor<1x6x16x16xf32>
}

// A sample without a batch dimension gets one.
// CHECK-LABEL:  func.func @unbatched(
// CHECK-NEXT:     %[[V0:.*]] = edge.unsqueeze(%x) {dim = 0 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.convolution(%[[V0]], %w, none) {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, transposed = false}
// CHECK-NEXT:     %[[V2:.*]] = edge.squeeze.dims(%[[V1]]) {dim = array<i64: 0>}
// CHECK-NEXT:     func.return %[[V2]]
func.func @unbatched(%x: tensor<4x8x8xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<6x6x6xf32> {
  %0 = edge.conv2d(%x, %w, none) : (tensor<4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<6x6x6xf32>
  func.return %0 : tensor<6x6x6xf32>
}

// CHECK-LABEL:  func.func @unbatched_convolution(
// CHECK-NEXT:     %[[V0:.*]] = edge.unsqueeze(%x) {dim = 0 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.convolution(%[[V0]], %w, none) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = array<i64: 0>, padding = array<i64: 0>, stride = array<i64: 1>, transposed = true}
// CHECK-NEXT:     %[[V2:.*]] = edge.squeeze.dims(%[[V1]]) {dim = array<i64: 0>}
// CHECK-NEXT:     func.return %[[V2]]
func.func @unbatched_convolution(%x: tensor<4x8xf32>, %w: tensor<4x6x3xf32>) -> tensor<6x10xf32> {
  %0 = edge.convolution(%x, %w, none) {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, transposed = true, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<4x8xf32>, tensor<4x6x3xf32>) -> tensor<6x10xf32>
  func.return %0 : tensor<6x10xf32>
}
