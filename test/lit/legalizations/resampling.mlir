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

// Whether the factor counts depends on the size.
// CHECK-LABEL: func.func @hardly_larger(
// CHECK:         edge.upsample_bilinear2d.vec
func.func @hardly_larger(%x: tensor<1x2x?x4xf32> {xir.max_shape = array<i64: 1, 2, 8, 4>}) -> tensor<1x2x?x5xf32> {
  // expected-remark @+1 {{edge.upsample_bilinear2d.vec not delegated: its step depends on a dynamic dimension}}
  %0 = edge.upsample_bilinear2d.vec(%x) {align_corners = false, scale_factors = array<f64: 1.25, 1.25>} : (tensor<1x2x?x4xf32>) -> tensor<1x2x?x5xf32>
  func.return %0 : tensor<1x2x?x5xf32>
}

// -----

// CHECK-LABEL: func.func @wide(
// CHECK:         edge.upsample_nearest2d
func.func @wide(%x: tensor<1x1x1x100000xf32>) -> tensor<1x1x1x99999xf32> {
  // expected-remark @+1 {{edge.upsample_nearest2d not delegated: it takes a matrix of 99999x100000 weights; 16777216 are sensible}}
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
