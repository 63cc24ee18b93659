// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// The last window hangs over the border: padding grows where rounding up made it.
// CHECK-LABEL: func.func @ceil_mode(
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 3, 3>, padding = array<i32: 0, 1, 1, 0>, stride = array<i32: 2, 2>} : tensor<1x6x6x1xf32> -> tensor<1x3x3x1xf32>
func.func @ceil_mode(%x: tensor<1x1x6x6xf32>) -> tensor<1x1x3x3xf32> {
  %0 = edge.max_pool2d(%x) {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, ceil_mode = true} : (tensor<1x1x6x6xf32>) -> tensor<1x1x3x3xf32>
  func.return %0 : tensor<1x1x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @indices(
// CHECK:         edge.max_pool2d_with_indices
func.func @indices(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xi64> {
  // expected-remark @+1 {{edge.max_pool2d_with_indices not delegated: its indices are used}}
  %0, %1 = edge.max_pool2d_with_indices(%x) {kernel_size = array<i64: 2, 2>} : (tensor<1x1x4x4xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>)
  func.return %1 : tensor<1x1x2x2xi64>
}

// -----

// A window of one element is no pooling: it takes elements.
// CHECK-LABEL: func.func @one_element(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 2, 4>}
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 2, 1, 4>}
// CHECK-NOT:     max_pool
func.func @one_element(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  %0 = edge.max_pool2d(%x) {kernel_size = array<i64: 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %1 = edge.max_pool2d(%0) {kernel_size = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  func.return %1 : tensor<1x1x2x2xf32>
}

// -----

// XNNPACK does not count padding, so that what counts is written around the image.
// CHECK-LABEL: func.func @average(
// CHECK:         xnnpack.static_constant_pad %{{.*}} {post_paddings = array<i32: 0, 0, 1, 1>, pre_paddings = array<i32: 0, 0, 1, 1>
// CHECK:         xnnpack.average_pooling2d %{{.*}} {kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>}
// CHECK-LABEL: func.func @average_inside(
// CHECK-NOT:     xnnpack.static_constant_pad
// CHECK:         xnnpack.average_pooling2d %{{.*}} {kernel = array<i32: 2, 2>, padding = array<i32: 1, 1, 1, 1>, stride = array<i32: 2, 2>}
func.func @average(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x3x3xf32> {
  %0 = edge.avg_pool2d(%x) {kernel_size = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x3x3xf32>
  func.return %0 : tensor<1x1x3x3xf32>
}
func.func @average_inside(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x3x3xf32> {
  %0 = edge.avg_pool2d(%x) {kernel_size = array<i64: 2, 2>, padding = array<i64: 1, 1>, count_include_pad = false} : (tensor<1x1x4x4xf32>) -> tensor<1x1x3x3xf32>
  func.return %0 : tensor<1x1x3x3xf32>
}

// -----

// A divisor divides whatever the window meets: zeros stand also where it ends outside.
// CHECK-LABEL: func.func @divisor(
// CHECK:         xnnpack.static_constant_pad %{{.*}} {post_paddings = array<i32: 0, 0, 1, 1>, pre_paddings = array<i32: 0, 0, 0, 0>
// CHECK:         xnnpack.average_pooling2d %{{.*}} {kernel = array<i32: 3, 3>, stride = array<i32: 2, 2>}
// CHECK:         xnnpack.constant dense<4.500000e+00> : tensor<f32>
// CHECK-NEXT:    xnnpack.binary multiply
func.func @divisor(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  %0 = edge.avg_pool2d(%x) {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, ceil_mode = true, divisor_override = 2 : i64} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  func.return %0 : tensor<1x1x2x2xf32>
}

// -----

// A result that does not say its sizes, of an image that does.
// CHECK-LABEL: func.func @open_result(
// CHECK:         edge.avg_pool2d(%x) {{.*}}xir.reason = "how far its last window reaches depends on a dynamic dimension"
func.func @open_result(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x?x?xf32> {
  %0 = edge.avg_pool2d(%x) {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, ceil_mode = true, divisor_override = 2 : i64} : (tensor<1x1x4x4xf32>) -> tensor<1x1x?x?xf32>
  func.return %0 : tensor<1x1x?x?xf32>
}

// -----

// CHECK-LABEL: func.func @adaptive(
// CHECK:         xnnpack.global_average_pooling2d %{{.*}} {keep_dims}
func.func @adaptive(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32> {
  %0 = edge.adaptive_avg_pool2d(%x) {output_size = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  func.return %0 : tensor<1x2x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic(
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>} : tensor<?x?x4x1xf32> -> tensor<?x?x2x1xf32>
func.func @dynamic(%x: tensor<?x1x?x4xf32>) -> tensor<?x1x?x2xf32> {
  %0 = edge.max_pool2d(%x) {kernel_size = array<i64: 2, 2>} : (tensor<?x1x?x4xf32>) -> tensor<?x1x?x2xf32>
  func.return %0 : tensor<?x1x?x2xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_ceil_mode(
// CHECK:         edge.max_pool2d
func.func @dynamic_ceil_mode(%x: tensor<1x1x?x4xf32>) -> tensor<1x1x?x2xf32> {
  // expected-remark @+1 {{edge.max_pool2d not delegated: how far its last window reaches depends on a dynamic dimension (pool with ceil_mode=False)}}
  %0 = edge.max_pool2d(%x) {kernel_size = array<i64: 2, 2>, ceil_mode = true} : (tensor<1x1x?x4xf32>) -> tensor<1x1x?x2xf32>
  func.return %0 : tensor<1x1x?x2xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_grid(
// CHECK:         edge.adaptive_avg_pool2d
func.func @dynamic_grid(%x: tensor<1x2x?x4xf32>) -> tensor<1x2x2x2xf32> {
  // expected-remark @+1 {{edge.adaptive_avg_pool2d not delegated: it computes with the size of a dynamic dimension}}
  %0 = edge.adaptive_avg_pool2d(%x) {output_size = array<i64: 2, 2>} : (tensor<1x2x?x4xf32>) -> tensor<1x2x2x2xf32>
  func.return %0 : tensor<1x2x2x2xf32>
}

// -----

// Cells that ATen cuts unevenly: rows 0 to 1 and 1 to 2 of three; then the columns.
// CHECK-LABEL: func.func @adaptive_max(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 1, 2, 2>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 1, 0>, sizes = array<i32: 1, 1, 2, 2>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 2 : i32}
// CHECK:         xnnpack.max_pooling2d
func.func @adaptive_max(%x: tensor<1x1x3x2xf32>) -> tensor<1x1x2x1xf32> {
  %0, %1 = edge.adaptive_max_pool2d(%x) {output_size = array<i64: 2, 1>} : (tensor<1x1x3x2xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xi64>)
  func.return %0 : tensor<1x1x2x1xf32>
}

// -----

// CHECK-LABEL: func.func @adaptive_max_indices(
// CHECK:         edge.adaptive_max_pool2d
func.func @adaptive_max_indices(%x: tensor<1x1x3x2xf32>) -> tensor<1x1x1x1xi64> {
  // expected-remark @+1 {{edge.adaptive_max_pool2d not delegated: its indices are used}}
  %0, %1 = edge.adaptive_max_pool2d(%x) {output_size = array<i64: 1, 1>} : (tensor<1x1x3x2xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xi64>)
  func.return %1 : tensor<1x1x1x1xi64>
}

// -----

// CHECK-LABEL: func.func @max_pool1d(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 1, 6>}
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 2, 3, 1>}
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 1, 3>, stride = array<i32: 1, 2>}
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 3, 1, 2>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 2>}
// CHECK-NEXT:    xnnpack.yield
func.func @max_pool1d(%x: tensor<1x2x6xf32>) -> tensor<1x2x2xf32> {
  %0 = edge.max_pool1d(%x) {kernel_size = array<i64: 3>, stride = array<i64: 2>} : (tensor<1x2x6xf32>) -> tensor<1x2x2xf32>
  func.return %0 : tensor<1x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @avg_pool1d(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 1, 6>}
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 2, 3, 1>}
// CHECK:         xnnpack.average_pooling2d %{{.*}} {kernel = array<i32: 1, 2>, stride = array<i32: 1, 2>}
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 3, 1, 2>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 3>}
// CHECK-NEXT:    xnnpack.yield
func.func @avg_pool1d(%x: tensor<1x2x6xf32>) -> tensor<1x2x3xf32> {
  %0 = edge.avg_pool1d(%x) {kernel_size = array<i64: 2>} : (tensor<1x2x6xf32>) -> tensor<1x2x3xf32>
  func.return %0 : tensor<1x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @adaptive_avg_pool1d(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 1, 6>}
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 2, 3, 1>}
// CHECK:         xnnpack.average_pooling2d %{{.*}} {kernel = array<i32: 1, 2>, stride = array<i32: 1, 2>}
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 3, 1, 2>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 3>}
// CHECK-NEXT:    xnnpack.yield
func.func @adaptive_avg_pool1d(%x: tensor<1x2x6xf32>) -> tensor<1x2x3xf32> {
  %0 = edge.adaptive_avg_pool1d(%x) {output_size = array<i64: 3>} : (tensor<1x2x6xf32>) -> tensor<1x2x3xf32>
  func.return %0 : tensor<1x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @adaptive_avg_pool2d(
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 2, 3, 1>}
// CHECK:         xnnpack.global_average_pooling2d
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 3, 1, 2>}
// CHECK-NEXT:    xnnpack.yield
func.func @adaptive_avg_pool2d(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32> {
  %0 = edge._adaptive_avg_pool2d(%x) {output_size = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  func.return %0 : tensor<1x2x1x1xf32>
}

// -----

// Volumes: height and width first, then the depth, all positions of a plane in a row.
// CHECK-LABEL: func.func @volume(
// CHECK:         xnnpack.average_pooling2d %{{.*}} {kernel = array<i32: 2, 3>, stride = array<i32: 2, 3>} : tensor<2x4x6x4xf32> -> tensor<2x2x2x4xf32>
// CHECK:         xnnpack.average_pooling2d %{{.*}} {kernel = array<i32: 2, 1>, stride = array<i32: 2, 1>} : tensor<1x4x4x2xf32> -> tensor<1x2x4x2xf32>
// CHECK:         xnnpack.average_pooling2d %{{.*}} {kernel = array<i32: 2, 3>, stride = array<i32: 2, 3>}
// CHECK:         xnnpack.average_pooling2d %{{.*}} {kernel = array<i32: 4, 1>, stride = array<i32: 4, 1>}
func.func @volume(%x: tensor<1x2x4x4x6xf32>) -> (tensor<1x2x2x2x2xf32>, tensor<1x2x1x2x2xf32>) {
  %0 = edge.avg_pool3d(%x) {kernel_size = array<i64: 2, 2, 3>} : (tensor<1x2x4x4x6xf32>) -> tensor<1x2x2x2x2xf32>
  %1 = edge._adaptive_avg_pool3d(%x) {output_size = array<i64: 1, 2, 2>} : (tensor<1x2x4x4x6xf32>) -> tensor<1x2x1x2x2xf32>
  func.return %0, %1 : tensor<1x2x2x2x2xf32>, tensor<1x2x1x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @largest_of_volume(
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 2, 3>, stride = array<i32: 2, 3>}
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 2, 1>, stride = array<i32: 2, 1>}
func.func @largest_of_volume(%x: tensor<1x2x4x4x6xf32>) -> tensor<1x2x2x2x2xf32> {
  %0, %1 = edge.max_pool3d_with_indices(%x) {kernel_size = array<i64: 2, 2, 3>} : (tensor<1x2x4x4x6xf32>) -> (tensor<1x2x2x2x2xf32>, tensor<1x2x2x2x2xi64>)
  func.return %0 : tensor<1x2x2x2x2xf32>
}
