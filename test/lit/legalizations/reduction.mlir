// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// The mean over an image is a node of its own; any other block of dimensions is reshaped into an image's height.
// CHECK-LABEL: func.func @means(
// CHECK:         xnnpack.global_average_pooling2d %{{.*}} {keep_dims} : tensor<2x4x5x3xf32> -> tensor<2x1x1x3xf32>
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 3, 1, 20>}
// CHECK-NEXT:    xnnpack.global_average_pooling2d %{{.*}} : tensor<2x3x1x20xf32> -> tensor<2x20xf32>
// CHECK-NEXT:    xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 4, 5>}
func.func @means(%x: tensor<2x3x4x5xf32>) -> (tensor<2x3x1x1xf32>, tensor<2x4x5xf32>) {
  %0 = edge.mean.dim(%x) {dim = array<i64: 2, 3>, keepdim = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %1 = edge.mean.dim(%x) {dim = array<i64: 1>} : (tensor<2x3x4x5xf32>) -> tensor<2x4x5xf32>
  func.return %0, %1 : tensor<2x3x1x1xf32>, tensor<2x4x5xf32>
}

// -----

// CHECK-LABEL: func.func @largest(
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 4, 1>, stride = array<i32: 4, 1>} : tensor<3x4x1x1xf32> -> tensor<3x1x1x1xf32>
func.func @largest(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %0 = edge.amax(%x) {dim = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// The result in another type than the operand's.
// CHECK-LABEL: func.func @converted(
// CHECK:         edge.mean.dim
func.func @converted(%x: tensor<3x4xf32>) -> tensor<3xf64> {
  // expected-remark @+1 {{edge.mean.dim not delegated: its result is tensor<3xf64>, XNNPACK's would be tensor<3xf32>}}
  %0 = edge.mean.dim(%x) {dim = array<i64: 1>, dtype = f64} : (tensor<3x4xf32>) -> tensor<3xf64>
  func.return %0 : tensor<3xf64>
}

// -----

// A scalar, or one element along the dimension, is what it is reduced to, whichever of its dimensions ATen is given.
// CHECK-LABEL: func.func @of_one(
// CHECK:         ^bb0(%[[Y:.*]]: tensor<3x1xf32>, %[[X:.*]]: tensor<f32>):
// CHECK-NEXT:    %[[S:.*]] = xnnpack.static_reshape %[[Y]] {new_shape = array<i32: 3>}
// CHECK-NEXT:    xnnpack.unary abs %[[X]]
// CHECK-NEXT:    xnnpack.unary exp %[[X]]
// CHECK-NEXT:    xnnpack.unary negate %[[X]]
// CHECK-NEXT:    xnnpack.unary floor %[[X]]
// CHECK-NEXT:    xnnpack.unary square_root %[[X]]
// CHECK-NEXT:    xnnpack.unary abs %[[S]]
// CHECK-NEXT:    xnnpack.yield
func.func @of_one(%x: tensor<f32>, %y: tensor<3x1xf32>)
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xf32>) {
  %0 = edge.sum(%x) : (tensor<f32>) -> tensor<f32>
  %1 = edge.mean.dim(%x) {dim = array<i64: 0>} : (tensor<f32>) -> tensor<f32>
  %2 = edge.amax(%x) {dim = array<i64: -1>, keepdim = true} : (tensor<f32>) -> tensor<f32>
  %3 = edge.amin(%x) : (tensor<f32>) -> tensor<f32>
  %4 = edge.prod.dim_int(%x) {dim = 0 : i64} : (tensor<f32>) -> tensor<f32>
  %5 = edge.sum.dim_IntList(%y) {dim = array<i64: 1>} : (tensor<3x1xf32>) -> tensor<3xf32>
  %a = edge.abs(%0) : (tensor<f32>) -> tensor<f32>
  %b = edge.exp(%1) : (tensor<f32>) -> tensor<f32>
  %c = edge.neg(%2) : (tensor<f32>) -> tensor<f32>
  %d = edge.floor(%3) : (tensor<f32>) -> tensor<f32>
  %e = edge.sqrt(%4) : (tensor<f32>) -> tensor<f32>
  %f = edge.abs(%5) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %a, %b, %c, %d, %e, %f
      : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @variance_of_one(
// CHECK:         edge.var.dim
func.func @variance_of_one(%x: tensor<3x1xf32>) -> tensor<3xf32> {
  // expected-remark @+1 {{edge.var.dim not delegated: 1 elements less the correction 1 leave nothing to divide by}}
  %0 = edge.var.dim(%x) {dim = array<i64: 1>} : (tensor<3x1xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic(
// CHECK:         edge.amax
func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.amax not delegated: it counts along a dynamic dimension, whose bound is unknown}}
  %0 = edge.amax(%x) {dim = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// The node takes the mean over as many rows as there are; a sum of few enough is a product with as many ones.
// CHECK-LABEL: func.func @dynamic_mean(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 0, 1, 4>} : tensor<?x4xf32> -> tensor<1x?x1x4xf32>
// CHECK-NEXT:    xnnpack.global_average_pooling2d %{{.*}} : tensor<1x?x1x4xf32> -> tensor<1x4xf32>
// CHECK-NEXT:    xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 4>} : tensor<1x4xf32> -> tensor<4xf32>
// CHECK:         %[[PADDED:.*]] = xnnpack.static_constant_pad %{{.*}} {padding_value = 1.000000e+00 : f32
// CHECK-NEXT:    %[[COLUMN:.*]] = xnnpack.static_slice %[[PADDED]] {offsets = array<i32: 0, 0>, sizes = array<i32: 0, 1>}
// CHECK-NEXT:    %[[ONES:.*]] = xnnpack.static_reshape %[[COLUMN]] {new_shape = array<i32: 1, 0>}
// CHECK-NEXT:    xnnpack.batch_matrix_multiply %[[ONES]], %{{.*}} : (tensor<1x?xf32>, tensor<?x4xf32>) -> tensor<1x4xf32>
func.func @dynamic_mean(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 9, 4>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.mean.dim(%x) {dim = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<4xf32>
  %1 = edge.sum.dim_IntList(%x) {dim = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_row(
// CHECK:         %[[ONES:.*]] = xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 0>} : tensor<?x1xf32> -> tensor<1x?xf32>
// CHECK-NEXT:    xnnpack.fully_connected %{{.*}}, %[[ONES]] : (tensor<2x?xf32>, tensor<1x?xf32>) -> tensor<2x1xf32>
func.func @dynamic_row(%x: tensor<2x?xf32> {xir.max_shape = array<i64: 2, 9>}) -> tensor<2xf32> {
  %0 = edge.sum.dim_IntList(%x) {dim = array<i64: 1>} : (tensor<2x?xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// Other sums are the mean times the number of elements, and that is the product of the numbers of ones of each dimension.
// CHECK-LABEL: func.func @dynamic_plane(
// CHECK:         %[[MEAN:.*]] = xnnpack.global_average_pooling2d
// CHECK:         xnnpack.batch_matrix_multiply %{{.*}}, %{{.*}} : (tensor<1x?xf32>, tensor<?x1xf32>) -> tensor<1x1xf32>
// CHECK:         xnnpack.batch_matrix_multiply %{{.*}}, %{{.*}} : (tensor<1x?xf32>, tensor<?x1xf32>) -> tensor<1x1xf32>
// CHECK:         %[[COUNT:.*]] = xnnpack.binary multiply %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32> -> tensor<f32>
// CHECK-NEXT:    xnnpack.binary multiply %[[MEAN]], %[[COUNT]] : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
func.func @dynamic_plane(%x: tensor<2x3x?x?xf32>) -> tensor<2x3xf32> {
  %0 = edge.sum.dim_IntList(%x) {dim = array<i64: 2, 3>} : (tensor<2x3x?x?xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_variance(
// CHECK:         %[[VARIANCE:.*]] = xnnpack.global_average_pooling2d %{{.*}} : tensor<1x?x1x4xf32> -> tensor<1x4xf32>
// CHECK:         %[[LEFT:.*]] = xnnpack.binary subtract %[[COUNT:.*]], %{{.*}} {output_min = 0.000000e+00 : f32} : tensor<f32>, tensor<f32> -> tensor<f32>
// CHECK-NEXT:    %[[FACTOR:.*]] = xnnpack.binary divide %[[COUNT]], %[[LEFT]]
// CHECK-NEXT:    xnnpack.binary multiply %{{.*}}, %[[FACTOR]] : tensor<1x4xf32>, tensor<f32> -> tensor<1x4xf32>
func.func @dynamic_variance(%x: tensor<?x4xf32>) -> tensor<4xf32> {
  %0 = edge.var.dim(%x) {dim = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// Windows of at most 8, in rounds until there is one element; the last of each round ends behind the image.
// CHECK-LABEL: func.func @dynamic_largest(
// CHECK:         %[[FIRST:.*]] = xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 8, 1>, padding = array<i32: 0, 0, 7, 0>, stride = array<i32: 8, 1>} : tensor<1x?x1x4xf32> -> tensor<1x?x1x4xf32>
// CHECK-NEXT:    %[[SECOND:.*]] = xnnpack.max_pooling2d %[[FIRST]] {kernel = array<i32: 2, 1>, padding = array<i32: 0, 0, 1, 0>, stride = array<i32: 2, 1>}
// CHECK-NEXT:    xnnpack.static_slice %[[SECOND]] {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 1, 1, 4>} : tensor<1x?x1x4xf32> -> tensor<1x1x1x4xf32>
func.func @dynamic_largest(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 9, 4>}) -> tensor<4xf32> {
  %0 = edge.amax(%x) {dim = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_largest_of_plane(
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 3, 5>, padding = array<i32: 0, 4, 2, 0>, stride = array<i32: 3, 5>} : tensor<?x?x?x2xf32> -> tensor<?x?x?x2xf32>
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} sizes = array<i32: 0, 1, 0, 2>
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} sizes = array<i32: 0, 1, 1, 2>
func.func @dynamic_largest_of_plane(%x: tensor<?x2x?x?xf32> {xir.max_shape = array<i64: 4, 2, 3, 5>}) -> tensor<?x2x1x1xf32> {
  %0, %1 = edge.adaptive_max_pool2d(%x) {output_size = array<i64: 1, 1>} : (tensor<?x2x?x?xf32>) -> (tensor<?x2x1x1xf32>, tensor<?x2x1x1xi64>)
  func.return %0 : tensor<?x2x1x1xf32>
}

// -----

// The mean of a group of channels is that of their means, for no dimension has to be merged with an open one.
// CHECK-LABEL: func.func @dynamic_groups(
// CHECK:         %[[MEANS:.*]] = xnnpack.global_average_pooling2d %{{.*}} {keep_dims} : tensor<?x?x?x4xf32> -> tensor<?x1x1x4xf32>
// CHECK:         xnnpack.fully_connected %{{.*}}, %{{.*}} : (tensor<?x2x2xf32>, tensor<1x2xf32>) -> tensor<?x2x1xf32>
// CHECK:         xnnpack.binary multiply %{{.*}}, %{{.*}} : tensor<?x2x1xf32>, tensor<1x1x2xf32> -> tensor<?x2x2xf32>
// CHECK:         xnnpack.binary subtract %{{.*}}, %{{.*}} : tensor<?x4x?x?xf32>, tensor<?x4x1x1xf32> -> tensor<?x4x?x?xf32>
// CHECK:         xnnpack.global_average_pooling2d
func.func @dynamic_groups(%x: tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32> {
  %0 = edge.group_norm(%x, none, none) {num_groups = 2 : i64} : (tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  func.return %0 : tensor<?x4x?x?xf32>
}

// -----

// CHECK-LABEL: func.func @largest(
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 6, 1>, stride = array<i32: 6, 1>}
func.func @largest(%x: tensor<2x3xf32>) -> tensor<f32> {
  %0 = edge.max(%x) : (tensor<2x3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @smallest_of_dim(
// CHECK:         xnnpack.unary negate
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 3, 1>, stride = array<i32: 3, 1>}
// CHECK:         xnnpack.unary negate
func.func @smallest_of_dim(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0, %1 = edge.min.dim(%x) {dim = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @where_it_is(
// CHECK:         edge.max.dim
func.func @where_it_is(%x: tensor<2x3xf32>) -> tensor<2xi64> {
  // expected-remark @+1 {{edge.max.dim not delegated: its indices are used}}
  %0, %1 = edge.max.dim(%x) {dim = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  func.return %1 : tensor<2xi64>
}

// -----

// CHECK-LABEL: func.func @statistics(
// CHECK:         edge.native_layer_norm
func.func @statistics(%x: tensor<2x3xf32>) -> tensor<2x1xf32> {
  // expected-remark @+1 {{edge.native_layer_norm not delegated: its mean and deviation are used}}
  %0, %1, %2 = edge.native_layer_norm(%x, none, none) {normalized_shape = array<i64: 3>, eps = 1.0e-05 : f64} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  func.return %1 : tensor<2x1xf32>
}

// -----

// Each channel of each sample is a group of its own.
// CHECK-LABEL: func.func @instance_norm(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 3, 20>} : tensor<2x3x4x5xf32> -> tensor<2x3x20xf32>
// CHECK:         xnnpack.unary reciprocal_square_root
func.func @instance_norm(%x: tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32> {
  %0 = edge.instance_norm(%x, none, none, none, none) {use_input_stats = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  func.return %0 : tensor<2x3x4x5xf32>
}

// -----

// With running statistics it is a batch norm.
// CHECK-LABEL: func.func @running_statistics(
// CHECK:         xnnpack.constant dense<{{.*}}> : tensor<3x1x1xf32>
// CHECK-NEXT:    xnnpack.binary multiply
// CHECK:         xnnpack.binary add
// CHECK-NEXT:    xnnpack.yield
func.func @running_statistics(%x: tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32> {
  %m = edge.constant dense<1.0> : tensor<3xf32>
  %0 = edge.instance_norm(%x, none, none, %m, %m) {use_input_stats = false, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true} : (tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>
  func.return %0 : tensor<2x3x4x5xf32>
}

// -----

// CHECK-LABEL: func.func @vector_norm(
// CHECK:         xnnpack.unary square
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.unary square_root
func.func @vector_norm(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = edge.linalg_vector_norm(%x) {dim = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// Any order is a power of a sum of powers.
// CHECK-LABEL: func.func @other_orders(
// CHECK:         xnnpack.unary square
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.unary exp
func.func @other_orders(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = edge.linalg_vector_norm(%x) {ord = 3 : i64, dim = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// 0 counts what is not 0, and XNNPACK has no comparison.
// CHECK-LABEL: func.func @order_0(
// CHECK:         edge.linalg_vector_norm
func.func @order_0(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-remark @+1 {{edge.linalg_vector_norm not delegated: no rule lowers edge.ne.Scalar, which it consists of, to XNNPACK}}
  %1 = edge.linalg_vector_norm(%x) {ord = 0 : i64, dim = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// Half times half; an odd element at the end.
// CHECK-LABEL: func.func @prod(
// CHECK:         %[[O:.*]] = xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 4, 0, 0>, sizes = array<i32: 2, 1, 1, 1>}
// CHECK-COUNT-2: xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.binary multiply %{{.*}}, %[[O]]
func.func @prod(%x: tensor<2x5xf32>) -> tensor<2xf32> {
  %0 = edge.prod.dim_int(%x) {dim = 1 : i64} : (tensor<2x5xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// The innermost dimensions are summed by a fully connected layer, of whose factors a mean's are 1 / n.
// CHECK-LABEL: func.func @innermost(
// CHECK:         %[[QUARTER:.*]] = xnnpack.constant dense<2.500000e-01> : tensor<1x4xf32>
// CHECK-NEXT:    xnnpack.fully_connected %{{.*}}, %[[QUARTER]] : (tensor<3x2x4xf32>, tensor<1x4xf32>) -> tensor<3x2x1xf32>
// CHECK-NEXT:    %[[ONES:.*]] = xnnpack.constant dense<1.000000e+00> : tensor<1x8xf32>
// CHECK-NEXT:    %[[ROWS:.*]] = xnnpack.static_reshape %{{.*}} : tensor<3x2x4xf32> -> tensor<3x8xf32>
// CHECK-NEXT:    xnnpack.fully_connected %[[ROWS]], %[[ONES]] : (tensor<3x8xf32>, tensor<1x8xf32>) -> tensor<3x1xf32>
func.func @innermost(%x: tensor<3x2x4xf32>) -> (tensor<3x2x1xf32>, tensor<3xf32>) {
  %0 = edge.mean.dim(%x) {dim = array<i64: -1>, keepdim = true} : (tensor<3x2x4xf32>) -> tensor<3x2x1xf32>
  %1 = edge.sum.dim_IntList(%x) {dim = array<i64: 1, 2>} : (tensor<3x2x4xf32>) -> tensor<3xf32>
  func.return %0, %1 : tensor<3x2x1xf32>, tensor<3xf32>
}

// -----

// What is no power of 2 is divided by: a product with 1/6 would round each element.
// CHECK-LABEL: func.func @of_six(
// CHECK:         xnnpack.constant dense<2.500000e-01> : tensor<1x6xf32>
// CHECK-NEXT:    xnnpack.fully_connected
// CHECK-NEXT:    %[[LEFT:.*]] = xnnpack.constant dense<1.500000e+00> : tensor<f32>
// CHECK:         xnnpack.binary divide %{{.*}}, %[[LEFT]]
func.func @of_six(%x: tensor<2x6xf32>) -> tensor<2x1xf32> {
  %0 = edge.mean.dim(%x) {dim = array<i64: 1>, keepdim = true} : (tensor<2x6xf32>) -> tensor<2x1xf32>
  func.return %0 : tensor<2x1xf32>
}

// -----

// Many elements are added up in blocks.
// CHECK-LABEL: func.func @blocks(
// CHECK:         xnnpack.static_reshape %{{.*}} : tensor<2x4096xf32> -> tensor<2x64x64xf32>
// CHECK-NEXT:    xnnpack.fully_connected %{{.*}} : (tensor<2x64x64xf32>, tensor<1x64xf32>) -> tensor<2x64x1xf32>
// CHECK:         xnnpack.fully_connected %{{.*}} : (tensor<2x64xf32>, tensor<1x64xf32>) -> tensor<2x1xf32>
func.func @blocks(%x: tensor<2x4096xf32>) -> tensor<2xf32> {
  %0 = edge.mean.dim(%x) {dim = array<i64: 1>} : (tensor<2x4096xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// Too many elements to add one by one, and no divisor of their number: it is a prime.
// CHECK-LABEL: func.func @long(
// CHECK:         xnnpack.global_average_pooling2d
// CHECK-NOT:     xnnpack.fully_connected
func.func @long(%x: tensor<2x4099xf32>) -> tensor<2xf32> {
  %0 = edge.mean.dim(%x) {dim = array<i64: 1>} : (tensor<2x4099xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @mean(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 6>}
// CHECK:         xnnpack.fully_connected
// CHECK:         %[[SUM:.*]] = xnnpack.static_reshape %{{.*}} {new_shape = array<i32>}
// CHECK:         xnnpack.binary divide %[[SUM]]
// CHECK-NEXT:    xnnpack.yield
func.func @mean(%x: tensor<2x3xf32>) -> tensor<f32> {
  %0 = edge.mean(%x) : (tensor<2x3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @sum(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 6>}
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32>}
// CHECK-NEXT:    xnnpack.yield
func.func @sum(%x: tensor<2x3xf32>) -> tensor<f32> {
  %0 = edge.sum(%x) : (tensor<2x3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @prod(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 6, 1, 1>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 3, 1, 1>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 3, 0, 0>, sizes = array<i32: 1, 3, 1, 1>}
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 2, 0, 0>, sizes = array<i32: 1, 1, 1, 1>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 1, 1, 1>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 1, 0, 0>, sizes = array<i32: 1, 1, 1, 1>}
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32>}
// CHECK-NEXT:    xnnpack.yield
func.func @prod(%x: tensor<2x3xf32>) -> tensor<f32> {
  %0 = edge.prod(%x) : (tensor<2x3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @min(
// CHECK:         xnnpack.unary negate
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 6, 1, 1>}
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 6, 1>, stride = array<i32: 6, 1>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32>}
// CHECK:         xnnpack.unary negate
// CHECK-NEXT:    xnnpack.yield
func.func @min(%x: tensor<2x3xf32>) -> tensor<f32> {
  %0 = edge.min(%x) : (tensor<2x3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @amin(
// CHECK:         xnnpack.unary negate
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 1, 3>}
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 2, 1>, stride = array<i32: 2, 1>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 3>}
// CHECK:         xnnpack.unary negate
// CHECK-NEXT:    xnnpack.yield
func.func @amin(%x: tensor<2x3xf32>) -> tensor<3xf32> {
  %0 = edge.amin(%x) {dim = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @var_correction(
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.binary subtract
// CHECK:         xnnpack.unary square
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2>}
// CHECK-NEXT:    xnnpack.yield
func.func @var_correction(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = edge.var.correction(%x) {dim = array<i64: 1>, correction = 0 : i64} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @log_softmax(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 3, 1, 1>}
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 3, 1>, stride = array<i32: 3, 1>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 1>}
// CHECK:         xnnpack.binary subtract
// CHECK:         xnnpack.unary exp
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.unary log
// CHECK:         xnnpack.binary subtract
// CHECK-NEXT:    xnnpack.yield
func.func @log_softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge._log_softmax(%x) {dim = -1 : i64, half_to_float = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @rms_norm(
// CHECK:         xnnpack.unary square
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.binary add
// CHECK:         xnnpack.unary reciprocal_square_root
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.binary multiply
// CHECK-NEXT:    xnnpack.yield
func.func @rms_norm(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.constant dense<1.000000e+00> : tensor<3xf32>
  %1 = edge.rms_norm(%x, %0) {normalized_shape = array<i64: 3>, eps = 1.000000e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @group_norm(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 16>}
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.binary subtract
// CHECK:         xnnpack.unary square
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.binary add
// CHECK:         xnnpack.unary reciprocal_square_root
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 4, 4>}
// CHECK-NEXT:    xnnpack.yield
func.func @group_norm(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %0 = edge.group_norm(%x, none, none) {num_groups = 2 : i64} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %0 : tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @native_group_norm(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 1, 32>}
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.binary subtract
// CHECK:         xnnpack.unary square
// CHECK:         xnnpack.fully_connected
// CHECK:         xnnpack.binary add
// CHECK:         xnnpack.unary reciprocal_square_root
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 4, 4>}
// CHECK-NEXT:    xnnpack.yield
func.func @native_group_norm(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %0, %1, %2 = edge.native_group_norm(%x, none, none) {N = 1 : i64, C = 2 : i64, HxW = 16 : i64, group = 1 : i64, eps = 1.000000e-05 : f64} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
  func.return %0 : tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @more_than_32_bits(
// CHECK:         edge.max(%x) {xir.reason = "XNNPACK's nodes hold numbers of 32 bits, and 6442450941 takes more"}
func.func @more_than_32_bits(%x: tensor<2147483647x3xf32>) -> tensor<f32> {
  %0 = edge.max(%x) : (tensor<2147483647x3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// The largest element of each row where batch and length are open: no dimensions are merged.
// CHECK-LABEL: func.func @largest_of_rows(
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 4, 1>, stride = array<i32: 4, 1>} : tensor<?x4x1x?xf32> -> tensor<?x1x1x?xf32>
func.func @largest_of_rows(%x: tensor<?x?x4xf32> {xir.max_shape = array<i64: 2, 9, 4>}) -> tensor<?x?xf32> {
  %0 = edge.amax(%x) {dim = array<i64: 2>} : (tensor<?x?x4xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// -----

// As for pixels: channels become the height of an image.
// CHECK-LABEL: func.func @largest_of_channels(
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 5, 1>, stride = array<i32: 5, 1>} : tensor<?x5x?x?xf32> -> tensor<?x1x?x?xf32>
func.func @largest_of_channels(%x: tensor<?x5x?x?xf32> {xir.max_shape = array<i64: 2, 5, 9, 4>}) -> tensor<?x1x?x?xf32> {
  %0 = edge.amax(%x) {dim = array<i64: 1>, keepdim = true} : (tensor<?x5x?x?xf32>) -> tensor<?x1x?x?xf32>
  func.return %0 : tensor<?x1x?x?xf32>
}
