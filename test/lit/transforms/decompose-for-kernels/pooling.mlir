// RUN: xir-opt %s --decompose-for-kernels --split-input-file | filecheck %s

// CHECK-LABEL:  func.func @max_pool2d(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]] = edge.max_pool2d_with_indices(%x) {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>}
// CHECK-NEXT:     func.return %[[V0]]
func.func @max_pool2d(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %0 = edge.max_pool2d(%x) {kernel_size = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  func.return %0 : tensor<1x4x4x4xf32>
}

// CHECK-LABEL:  func.func @max_pool1d(
// CHECK-NEXT:     %[[V0:.*]] = edge.unsqueeze(%x) {dim = -2 : i64}
// CHECK-NEXT:     %[[V1:.*]], %[[V2:.*]] = edge.max_pool2d_with_indices(%[[V0]]) {kernel_size = array<i64: 1, 3>, padding = array<i64: 0, 1>, stride = array<i64: 1, 2>}
// CHECK-NEXT:     %[[V3:.*]] = edge.squeeze.dims(%[[V1]]) {dim = array<i64: -2>}
// CHECK-NEXT:     func.return %[[V3]]
func.func @max_pool1d(%x: tensor<1x4x9xf32>) -> tensor<1x4x5xf32> {
  %0 = edge.max_pool1d(%x) {kernel_size = array<i64: 3>, stride = array<i64: 2>, padding = array<i64: 1>} : (tensor<1x4x9xf32>) -> tensor<1x4x5xf32>
  func.return %0 : tensor<1x4x5xf32>
}

// CHECK-LABEL:  func.func @avg_pool1d(
// CHECK-NEXT:     %[[V0:.*]] = edge.unsqueeze(%x) {dim = -2 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.avg_pool2d(%[[V0]]) {count_include_pad = false, kernel_size = array<i64: 1, 3>, stride = array<i64: 1, 3>}
// CHECK-NEXT:     %[[V2:.*]] = edge.squeeze.dims(%[[V1]]) {dim = array<i64: -2>}
// CHECK-NEXT:     func.return %[[V2]]
func.func @avg_pool1d(%x: tensor<1x4x9xf32>) -> tensor<1x4x3xf32> {
  %0 = edge.avg_pool1d(%x) {kernel_size = array<i64: 3>, count_include_pad = false} : (tensor<1x4x9xf32>) -> tensor<1x4x3xf32>
  func.return %0 : tensor<1x4x3xf32>
}

// CHECK-LABEL:  func.func @avg_pool3d(
// CHECK-NEXT:     %[[V0:.*]] = edge.view(%x) {size = array<i64: 10, 6, 6, 6>}
// CHECK-NEXT:     %[[V1:.*]] = edge.avg_pool2d(%[[V0]]) {divisor_override = 1 : i64, kernel_size = array<i64: 3, 3>, stride = array<i64: 3, 3>}
// CHECK-NEXT:     %[[V2:.*]] = edge.view(%[[V1]]) {size = array<i64: 1, 10, 6, 4>}
// CHECK-NEXT:     %[[V3:.*]] = edge.avg_pool2d(%[[V2]]) {divisor_override = 7 : i64, kernel_size = array<i64: 2, 1>, stride = array<i64: 2, 1>}
// CHECK-NEXT:     %[[V4:.*]] = edge.view(%[[V3]]) {size = array<i64: 2, 5, 3, 2, 2>}
// CHECK-NEXT:     func.return %[[V4]]
func.func @avg_pool3d(%x: tensor<2x5x6x6x6xf32>) -> tensor<2x5x3x2x2xf32> {
  %0 = edge.avg_pool3d(%x) {kernel_size = array<i64: 2, 3, 3>, divisor_override = 7 : i64} : (tensor<2x5x6x6x6xf32>) -> tensor<2x5x3x2x2xf32>
  func.return %0 : tensor<2x5x3x2x2xf32>
}

// CHECK-LABEL:  func.func @max_pool3d(
// CHECK-NEXT:     %[[V0:.*]] = edge.view(%x) {size = array<i64: 10, 6, 6, 6>}
// CHECK-NEXT:     %[[V1:.*]], %[[V2:.*]] = edge.max_pool2d_with_indices(%[[V0]]) {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>}
// CHECK-NEXT:     %[[V3:.*]] = edge.view(%[[V1]]) {size = array<i64: 1, 10, 6, 9>}
// CHECK-NEXT:     %[[V4:.*]], %[[V5:.*]] = edge.max_pool2d_with_indices(%[[V3]]) {kernel_size = array<i64: 2, 1>, stride = array<i64: 2, 1>}
// CHECK-NEXT:     %[[V6:.*]] = edge.view(%[[V4]]) {size = array<i64: 2, 5, 3, 3, 3>}
// CHECK-NEXT:     func.return %[[V6]]
func.func @max_pool3d(%x: tensor<2x5x6x6x6xf32>) -> tensor<2x5x3x3x3xf32> {
  %0, %1 = edge.max_pool3d_with_indices(%x) {kernel_size = array<i64: 2, 2, 2>} : (tensor<2x5x6x6x6xf32>) -> (tensor<2x5x3x3x3xf32>, tensor<2x5x3x3x3xi64>)
  func.return %0 : tensor<2x5x3x3x3xf32>
}

// Positions in three dimensions are not those in two.
// CHECK-LABEL:  func.func @max_pool3d_indices(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]] = edge.max_pool3d_with_indices(%x) {kernel_size = array<i64: 2, 2, 2>}
// CHECK-NEXT:     func.return %[[V1]]
func.func @max_pool3d_indices(%x: tensor<2x5x6x6x6xf32>) -> tensor<2x5x3x3x3xi64> {
  %0, %1 = edge.max_pool3d_with_indices(%x) {kernel_size = array<i64: 2, 2, 2>} : (tensor<2x5x6x6x6xf32>) -> (tensor<2x5x3x3x3xf32>, tensor<2x5x3x3x3xi64>)
  func.return %1 : tensor<2x5x3x3x3xi64>
}

// CHECK-LABEL:  func.func @to_one(
// CHECK-NEXT:     %[[V0:.*]] = edge.mean.dim(%x) {dim = array<i64: -2, -1>, keepdim = true}
// CHECK-NEXT:     func.return %[[V0]]
func.func @to_one(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x1x1xf32> {
  %0 = edge.adaptive_avg_pool2d(%x) {output_size = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x1x1xf32>
  func.return %0 : tensor<1x4x1x1xf32>
}

// CHECK-LABEL:  func.func @adaptive_avg_pool1d(
// CHECK-NEXT:     %[[V0:.*]] = edge.unsqueeze(%x) {dim = -2 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge._adaptive_avg_pool2d(%[[V0]]) {output_size = array<i64: 1, 4>}
// CHECK-NEXT:     %[[V2:.*]] = edge.squeeze.dims(%[[V1]]) {dim = array<i64: -2>}
// CHECK-NEXT:     func.return %[[V2]]
func.func @adaptive_avg_pool1d(%x: tensor<1x4x9xf32>) -> tensor<1x4x4xf32> {
  %0 = edge.adaptive_avg_pool1d(%x) {output_size = array<i64: 4>} : (tensor<1x4x9xf32>) -> tensor<1x4x4xf32>
  func.return %0 : tensor<1x4x4xf32>
}

// CHECK-LABEL:  func.func @adaptive_avg_pool3d(
// CHECK-NEXT:     %[[V0:.*]] = edge.view(%x) {size = array<i64: 2, 6, 6, 6>}
// CHECK-NEXT:     %[[V1:.*]] = edge._adaptive_avg_pool2d(%[[V0]]) {output_size = array<i64: 4, 3>}
// CHECK-NEXT:     %[[V2:.*]] = edge.view(%[[V1]]) {size = array<i64: 1, 2, 6, 12>}
// CHECK-NEXT:     %[[V3:.*]] = edge._adaptive_avg_pool2d(%[[V2]]) {output_size = array<i64: 3, 12>}
// CHECK-NEXT:     %[[V4:.*]] = edge.view(%[[V3]]) {size = array<i64: 1, 2, 3, 4, 3>}
// CHECK-NEXT:     func.return %[[V4]]
func.func @adaptive_avg_pool3d(%x: tensor<1x2x6x6x6xf32>) -> tensor<1x2x3x4x3xf32> {
  %0 = edge._adaptive_avg_pool3d(%x) {output_size = array<i64: 3, 4, 3>} : (tensor<1x2x6x6x6xf32>) -> tensor<1x2x3x4x3xf32>
  func.return %0 : tensor<1x2x3x4x3xf32>
}

// CHECK-LABEL:  func.func @even_windows(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]] = edge.max_pool2d_with_indices(%x) {kernel_size = array<i64: 2, 3>, stride = array<i64: 2, 3>}
// CHECK-NEXT:     func.return %[[V0]], %[[V1]]
func.func @even_windows(%x: tensor<1x4x8x6xf32>) -> (tensor<1x4x4x2xf32>, tensor<1x4x4x2xi64>) {
  %0, %1 = edge.adaptive_max_pool2d(%x) {output_size = array<i64: 4, 2>} : (tensor<1x4x8x6xf32>) -> (tensor<1x4x4x2xf32>, tensor<1x4x4x2xi64>)
  func.return %0, %1 : tensor<1x4x4x2xf32>, tensor<1x4x4x2xi64>
}

// CHECK-LABEL:  func.func @uneven_windows(
// CHECK-NEXT:     %[[V0:.*]] = edge.slice.Tensor(%x) {dim = -2 : i64, end = 3 : i64, start = 0 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.amax(%[[V0]]) {dim = array<i64: -2>, keepdim = true}
// CHECK-NEXT:     %[[V2:.*]] = edge.slice.Tensor(%x) {dim = -2 : i64, end = 5 : i64, start = 2 : i64}
// CHECK-NEXT:     %[[V3:.*]] = edge.amax(%[[V2]]) {dim = array<i64: -2>, keepdim = true}
// CHECK-NEXT:     %[[V4:.*]] = edge.cat([%[[V1]], %[[V3]]]) {dim = -2 : i64}
// CHECK-NEXT:     %[[V5:.*]] = edge.slice.Tensor(%[[V4]]) {dim = -1 : i64, end = 1 : i64, start = 0 : i64}
// CHECK-NEXT:     %[[V6:.*]] = edge.amax(%[[V5]]) {dim = array<i64: -1>, keepdim = true}
// CHECK-NEXT:     %[[V7:.*]] = edge.slice.Tensor(%[[V4]]) {dim = -1 : i64, end = 2 : i64, start = 1 : i64}
// CHECK-NEXT:     %[[V8:.*]] = edge.amax(%[[V7]]) {dim = array<i64: -1>, keepdim = true}
// CHECK-NEXT:     %[[V9:.*]] = edge.slice.Tensor(%[[V4]]) {dim = -1 : i64, end = 3 : i64, start = 2 : i64}
// CHECK-NEXT:     %[[V10:.*]] = edge.amax(%[[V9]]) {dim = array<i64: -1>, keepdim = true}
// CHECK-NEXT:     %[[V11:.*]] = edge.cat([%[[V6]], %[[V8]], %[[V10]]]) {dim = -1 : i64}
// CHECK-NEXT:     func.return %[[V11]]
func.func @uneven_windows(%x: tensor<1x4x5x3xf32>) -> tensor<1x4x2x3xf32> {
  %0, %1 = edge.adaptive_max_pool2d(%x) {output_size = array<i64: 2, 3>} : (tensor<1x4x5x3xf32>) -> (tensor<1x4x2x3xf32>, tensor<1x4x2x3xi64>)
  func.return %0 : tensor<1x4x2x3xf32>
}

// CHECK-LABEL:  func.func @uneven_indices(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]] = edge.adaptive_max_pool2d(%x) {output_size = array<i64: 2, 3>}
// CHECK-NEXT:     func.return %[[V1]]
func.func @uneven_indices(%x: tensor<1x4x5x3xf32>) -> tensor<1x4x2x3xi64> {
  %0, %1 = edge.adaptive_max_pool2d(%x) {output_size = array<i64: 2, 3>} : (tensor<1x4x5x3xf32>) -> (tensor<1x4x2x3xf32>, tensor<1x4x2x3xi64>)
  func.return %1 : tensor<1x4x2x3xi64>
}

// CHECK-LABEL:  func.func @bilinear_to_size(
// CHECK-NEXT:     %[[V0:.*]] = edge.upsample_bilinear2d.vec(%x) {align_corners = true, output_size = array<i64: 16, 9>}
// CHECK-NEXT:     func.return %[[V0]]
func.func @bilinear_to_size(%x: tensor<1x4x8x6xf32>) -> tensor<1x4x16x9xf32> {
  %0 = edge.upsample_bilinear2d(%x) {output_size = array<i64: 16, 9>, align_corners = true} : (tensor<1x4x8x6xf32>) -> tensor<1x4x16x9xf32>
  func.return %0 : tensor<1x4x16x9xf32>
}

// CHECK-LABEL:  func.func @nearest_by_factors(
// CHECK-NEXT:     %[[V0:.*]] = edge.upsample_nearest2d.vec(%x) {scale_factors = array<f64: 2.300000e+00, 2.200000e+00>}
// CHECK-NEXT:     func.return %[[V0]]
func.func @nearest_by_factors(%x: tensor<1x4x8x6xf32>) -> tensor<1x4x18x13xf32> {
  %0 = edge.upsample_nearest2d(%x) {output_size = array<i64: 18, 13>, scales_h = 2.3 : f64, scales_w = 2.2 : f64} : (tensor<1x4x8x6xf32>) -> tensor<1x4x18x13xf32>
  func.return %0 : tensor<1x4x18x13xf32>
}

// Factors that do not lead to the size: ATen computes positions from them, and no kernel takes both.
// CHECK-LABEL:  func.func @nearest_beside_factors(
// CHECK-NEXT:     %[[V0:.*]] = edge.upsample_nearest2d(%x)
// CHECK-NEXT:     func.return %[[V0]]
func.func @nearest_beside_factors(%x: tensor<1x4x8x6xf32>) -> tensor<1x4x19x13xf32> {
  %0 = edge.upsample_nearest2d(%x) {output_size = array<i64: 19, 13>, scales_h = 2.3 : f64, scales_w = 2.2 : f64} : (tensor<1x4x8x6xf32>) -> tensor<1x4x19x13xf32>
  func.return %0 : tensor<1x4x19x13xf32>
}

// … but where nearest neighbours double the size, it does not look at the factor, nor where an image keeps its size.
// CHECK-LABEL:  func.func @nearest_doubled_beside_factors(
// CHECK-NEXT:     %[[V0:.*]] = edge.upsample_nearest2d.vec(%x) {output_size = array<i64: 16, 6>}
// CHECK-NEXT:     func.return %[[V0]]
func.func @nearest_doubled_beside_factors(%x: tensor<1x4x8x6xf32>) -> tensor<1x4x16x6xf32> {
  %0 = edge.upsample_nearest2d(%x) {output_size = array<i64: 16, 6>, scales_h = 2.3 : f64, scales_w = 1.3 : f64} : (tensor<1x4x8x6xf32>) -> tensor<1x4x16x6xf32>
  func.return %0 : tensor<1x4x16x6xf32>
}

