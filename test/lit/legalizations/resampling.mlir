// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// XNNPACK's node takes the ratio of the sizes; a factor that is another number becomes a matrix on either side.
// CHECK-LABEL: func.func @bilinear(
// CHECK:         xnnpack.static_resize_bilinear2d %{{.*}} {align_corners, new_height = 8 : i32, new_width = 8 : i32}
func.func @bilinear(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32> {
  %0 = edge.upsample_bilinear2d(%x) {output_size = array<i64: 8, 8>, align_corners = true} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  func.return %0 : tensor<1x2x8x8xf32>
}

// -----

// CHECK-LABEL: func.func @bilinear_by_factor(
// CHECK-NOT:     static_resize_bilinear2d
// CHECK:         xnnpack.fully_connected %{{.*}} : (tensor<1x2x5x5xf32>, tensor<7x5xf32>) -> tensor<1x2x5x7xf32>
// CHECK:         xnnpack.fully_connected %{{.*}} : (tensor<1x2x7x5xf32>, tensor<7x5xf32>) -> tensor<1x2x7x7xf32>
func.func @bilinear_by_factor(%x: tensor<1x2x5x5xf32>) -> tensor<1x2x7x7xf32> {
  %0 = edge.upsample_bilinear2d.vec(%x) {align_corners = false, scale_factors = array<f64: 1.5, 1.5>} : (tensor<1x2x5x5xf32>) -> tensor<1x2x7x7xf32>
  func.return %0 : tensor<1x2x7x7xf32>
}

// -----

// Whole factors repeat pixels by a broadcast product.
// CHECK-LABEL: func.func @nearest(
// CHECK:         xnnpack.binary multiply %{{.*}}, %{{.*}} : tensor<2x4x1x4x1xf32>, tensor<2x1x3xf32> -> tensor<2x4x2x4x3xf32>
func.func @nearest(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x8x12xf32> {
  %0 = edge.upsample_nearest2d(%x) {output_size = array<i64: 8, 12>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x12xf32>
  func.return %0 : tensor<1x2x8x12xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 0, 4, 1, 4, 1>} : tensor<?x2x4x4xf32> -> tensor<?x4x1x4x1xf32>
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 0, 2, 8, 8>} : tensor<?x4x2x4x2xf32> -> tensor<?x2x8x8xf32>
func.func @dynamic(%x: tensor<?x2x4x4xf32>) -> tensor<?x2x8x8xf32> {
  %0 = edge.upsample_nearest2d(%x) {output_size = array<i64: 8, 8>} : (tensor<?x2x4x4xf32>) -> tensor<?x2x8x8xf32>
  func.return %0 : tensor<?x2x8x8xf32>
}

// -----

// XNNPACK infers one open size of a reshape.
// CHECK-LABEL: func.func @dynamic_size(
// CHECK:         xnnpack.binary multiply %{{.*}}, %{{.*}} : tensor<2x?x1x4x1xf32>, tensor<2x1x2xf32> -> tensor<2x?x2x4x2xf32>
// CHECK-NEXT:    xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 0, 8>}
func.func @dynamic_size(%x: tensor<1x2x?x4xf32>) -> tensor<1x2x?x8xf32> {
  %0 = edge.upsample_nearest2d.vec(%x) {scale_factors = array<f64: 2.0, 2.0>} : (tensor<1x2x?x4xf32>) -> tensor<1x2x?x8xf32>
  func.return %0 : tensor<1x2x?x8xf32>
}

// -----

// Of two it infers none: the graph computes a matrix for each direction, by the distance of elements from the places
// that they are taken from.
// CHECK-LABEL: func.func @dynamic_sizes(
// CHECK:         xnnpack.unary floor
// CHECK:         %[[PLACES:.*]] = xnnpack.binary minimum
// CHECK-NEXT:    %[[APART:.*]] = xnnpack.binary subtract %[[PLACES]], %{{.*}} : tensor<1x1x?x1xf32>, tensor<1x1x1x?xf32> -> tensor<1x1x?x?xf32>
// CHECK-NEXT:    %[[DISTANCE:.*]] = xnnpack.unary abs %[[APART]]
// CHECK-NEXT:    %[[ONE:.*]] = xnnpack.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[ROWS:.*]] = xnnpack.binary subtract %[[ONE]], %[[DISTANCE]] {output_min = 0.000000e+00 : f32}
// CHECK:         xnnpack.unary floor
// CHECK:         %[[COLUMNS:.*]] = xnnpack.binary subtract %{{.*}} {output_min = 0.000000e+00 : f32}
// CHECK-NEXT:    %[[WIDE:.*]] = xnnpack.batch_matrix_multiply %{{.*}}, %[[COLUMNS]] {transpose_b} : (tensor<1x2x?x?xf32>, tensor<1x1x?x?xf32>) -> tensor<1x2x?x?xf32>
// CHECK-NEXT:    xnnpack.batch_matrix_multiply %[[ROWS]], %[[WIDE]] : (tensor<1x1x?x?xf32>, tensor<1x2x?x?xf32>) -> tensor<1x2x?x?xf32>
func.func @dynamic_sizes(%x: tensor<1x2x?x?xf32> {xir.max_shape = array<i64: 1, 2, 6, 7>}) -> tensor<1x2x?x?xf32> {
  %0 = edge.upsample_nearest2d.vec(%x) {scale_factors = array<f64: 2.0, 2.0>} : (tensor<1x2x?x?xf32>) -> tensor<1x2x?x?xf32>
  func.return %0 : tensor<1x2x?x?xf32>
}

// -----

// A static direction has a static matrix.
// CHECK-LABEL: func.func @dynamic_height(
// CHECK:         %[[WIDE:.*]] = xnnpack.fully_connected %{{.*}}, %{{.*}} : (tensor<1x2x?x3xf32>, tensor<6x3xf32>) -> tensor<1x2x?x6xf32>
// CHECK-NEXT:    xnnpack.batch_matrix_multiply %{{.*}}, %[[WIDE]] : (tensor<1x1x?x?xf32>, tensor<1x2x?x6xf32>) -> tensor<1x2x?x6xf32>
func.func @dynamic_height(%x: tensor<1x2x?x3xf32> {xir.max_shape = array<i64: 1, 2, 6, 3>}) -> tensor<1x2x?x6xf32> {
  %0 = edge.upsample_bilinear2d.vec(%x) {align_corners = false, scale_factors = array<f64: 2.0, 2.0>} : (tensor<1x2x?x3xf32>) -> tensor<1x2x?x6xf32>
  func.return %0 : tensor<1x2x?x6xf32>
}

// -----

// CHECK-LABEL: func.func @unbounded(
// CHECK:         edge.upsample_nearest2d.vec
func.func @unbounded(%x: tensor<1x2x?x?xf32>) -> tensor<1x2x?x?xf32> {
  // expected-remark @+1 {{edge.upsample_nearest2d.vec not delegated: it counts along a dynamic dimension, whose bound is unknown}}
  %0 = edge.upsample_nearest2d.vec(%x) {scale_factors = array<f64: 2.0, 2.0>} : (tensor<1x2x?x?xf32>) -> tensor<1x2x?x?xf32>
  func.return %0 : tensor<1x2x?x?xf32>
}

// -----

// Images that stay as small as they are have a step of 1, others that of the factor: the sizes' difference tells.
// CHECK-LABEL: func.func @hardly_larger(
// CHECK:         %[[LONGER:.*]] = xnnpack.binary subtract %{{.*}}, %{{.*}} {output_max = 1.000000e+00 : f32, output_min = 0.000000e+00 : f32} : tensor<f32>, tensor<f32> -> tensor<f32>
// CHECK:         %[[LESS:.*]] = xnnpack.constant dense<-0.199999988>
// CHECK-NEXT:    %[[STEP:.*]] = xnnpack.binary multiply %[[LONGER]], %[[LESS]]
// CHECK:         xnnpack.binary add %[[STEP]], %{{.*}} : tensor<f32>, tensor<f32> -> tensor<f32>
// CHECK:         xnnpack.batch_matrix_multiply %{{.*}}, %{{.*}} : (tensor<1x1x?x?xf32>, tensor<1x2x?x5xf32>) -> tensor<1x2x?x5xf32>
func.func @hardly_larger(%x: tensor<1x2x?x4xf32> {xir.max_shape = array<i64: 1, 2, 8, 4>}) -> tensor<1x2x?x5xf32> {
  %0 = edge.upsample_bilinear2d.vec(%x) {align_corners = false, scale_factors = array<f64: 1.25, 1.25>} : (tensor<1x2x?x4xf32>) -> tensor<1x2x?x5xf32>
  func.return %0 : tensor<1x2x?x5xf32>
}

// -----

// 45 · 1.4 is 62 in fp64, so no quotient of whole numbers gives the size.
// CHECK-LABEL: func.func @not_quite_a_quotient(
// CHECK:         edge.upsample_bilinear2d.vec
func.func @not_quite_a_quotient(%x: tensor<1x2x?x5xf32> {xir.max_shape = array<i64: 1, 2, 8, 5>}) -> tensor<1x2x?x7xf32> {
  // expected-remark @+1 {{edge.upsample_bilinear2d.vec not delegated: it has a dynamic size that no earlier floating-point value has}}
  %0 = edge.upsample_bilinear2d.vec(%x) {align_corners = false, scale_factors = array<f64: 1.4, 1.4>} : (tensor<1x2x?x5xf32>) -> tensor<1x2x?x7xf32>
  func.return %0 : tensor<1x2x?x7xf32>
}

// -----

// CHECK-LABEL: func.func @wide(
// CHECK:         edge.upsample_nearest2d
func.func @wide(%x: tensor<1x1x1x100000xf32>) -> tensor<1x1x1x99999xf32> {
  // expected-remark @+1 {{edge.upsample_nearest2d not delegated: it takes a matrix of 99999x100000 weights; the limit is 16777216}}
  %0 = edge.upsample_nearest2d(%x) {output_size = array<i64: 1, 99999>} : (tensor<1x1x1x100000xf32>) -> tensor<1x1x1x99999xf32>
  func.return %0 : tensor<1x1x1x99999xf32>
}

// -----

// CHECK-LABEL: func.func @spread_wide(
// CHECK:         edge.upsample_nearest2d
func.func @spread_wide(%x: tensor<1x1x1x1xf32>) -> tensor<1x1x100000x100000xf32> {
  // expected-remark @+1 {{edge.upsample_nearest2d not delegated: it takes a matrix of 100000x100000 weights}}
  %0 = edge.upsample_nearest2d(%x) {output_size = array<i64: 100000, 100000>} : (tensor<1x1x1x1xf32>) -> tensor<1x1x100000x100000xf32>
  func.return %0 : tensor<1x1x100000x100000xf32>
}

// -----

// Where several sizes are open, a transposed convolution puts each channel of a block to its place.
// CHECK-LABEL: func.func @shuffle(
// CHECK:         xnnpack.deconv2d %{{.*}}, %{{.*}} {stride = array<i32: 2, 2>} : (tensor<?x?x?x8xf32>, tensor<2x2x2x8xf32>) -> tensor<?x?x?x2xf32>
func.func @shuffle(%x: tensor<?x8x?x?xf32> {xir.max_shape = array<i64: 2, 8, 6, 4>}) -> tensor<?x2x?x?xf32> {
  %0 = edge.pixel_shuffle(%x) {upscale_factor = 2 : i64} : (tensor<?x8x?x?xf32>) -> tensor<?x2x?x?xf32>
  func.return %0 : tensor<?x2x?x?xf32>
}

// -----

// And filters of its own pick each pixel of one.
// CHECK-LABEL: func.func @unshuffle(
// CHECK:         xnnpack.depthwise_conv2d %{{.*}}, %{{.*}} {groups = 2 : i32, stride = array<i32: 2, 2>} : (tensor<?x?x?x2xf32>, tensor<1x2x2x8xf32>) -> tensor<?x?x?x8xf32>
func.func @unshuffle(%x: tensor<?x2x?x?xf32> {xir.max_shape = array<i64: 2, 2, 6, 4>, xir.dim_names = ["n", "", "2*h", "2*w"]}) -> tensor<?x8x?x?xf32> {
  %0 = edge.pixel_unshuffle(%x) {downscale_factor = 2 : i64} : (tensor<?x2x?x?xf32>) -> tensor<?x8x?x?xf32>
  func.return %0 : tensor<?x8x?x?xf32>
}

// -----

// With one open size it is a matter of reshapes.
// CHECK-LABEL: func.func @shuffle_batches(
// CHECK-NOT:     conv2d
// CHECK:         func.return
func.func @shuffle_batches(%x: tensor<?x8x3x4xf32> {xir.max_shape = array<i64: 2, 8, 3, 4>}) -> tensor<?x2x6x8xf32> {
  %0 = edge.pixel_shuffle(%x) {upscale_factor = 2 : i64} : (tensor<?x8x3x4xf32>) -> tensor<?x2x6x8xf32>
  func.return %0 : tensor<?x2x6x8xf32>
}
