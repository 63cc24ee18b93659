// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// Nodes take [N, H, W, C] and [O, kH, kW, I]; transposes stand around each until layouts are chosen.
// CHECK-LABEL: func.func @conv2d(
// CHECK:         %[[X:.*]] = xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 2, 3, 1>} : tensor<1x1x2x3xf32> -> tensor<1x2x3x1xf32>
// CHECK-NEXT:    %[[W:.*]] = xnnpack.constant dense<{{.*}}> : tensor<2x1x2x1xf32>
// CHECK-NEXT:    %[[B:.*]] = xnnpack.constant dense<{{.*}}> : tensor<2xf32>
// CHECK-NEXT:    %[[Y:.*]] = xnnpack.conv2d %[[X]], %[[W]], %[[B]] {padding = array<i32: 0, 1, 0, 1>, stride = array<i32: 1, 2>} : (tensor<1x2x3x1xf32>, tensor<2x1x2x1xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
// CHECK-NEXT:    xnnpack.static_transpose %[[Y]] {perm = array<i32: 0, 3, 1, 2>} : tensor<1x2x2x2xf32> -> tensor<1x2x2x2xf32>
func.func @conv2d(%x: tensor<1x1x2x3xf32>) -> tensor<1x2x2x2xf32> {
  %w = edge.constant dense<[[[[1.0, 2.0]]], [[[3.0, 4.0]]]]> : tensor<2x1x1x2xf32>
  %b = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = edge.conv2d(%x, %w, %b) {stride = array<i64: 1, 2>, padding = array<i64: 0, 1>} : (tensor<1x1x2x3xf32>, tensor<2x1x1x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  func.return %0 : tensor<1x2x2x2xf32>
}

// -----

// One group for each channel is a depthwise node, whose filter is [1, kH, kW, O].
// CHECK-LABEL: func.func @depthwise(
// CHECK:         xnnpack.constant dense<{{.*}}> : tensor<1x1x2x4xf32>
// CHECK-NEXT:    xnnpack.depthwise_conv2d %{{.*}}, %{{.*}} {groups = 2 : i32} : (tensor<1x2x3x2xf32>, tensor<1x1x2x4xf32>) -> tensor<1x2x2x4xf32>
func.func @depthwise(%x: tensor<1x2x2x3xf32>) -> tensor<1x4x2x2xf32> {
  %w = edge.constant dense<1.0> : tensor<4x1x1x2xf32>
  %0 = edge.conv2d(%x, %w, none) {groups = 2 : i64} : (tensor<1x2x2x3xf32>, tensor<4x1x1x2xf32>) -> tensor<1x4x2x2xf32>
  func.return %0 : tensor<1x4x2x2xf32>
}

// -----

// A transposed convolution's groups lie in blocks along both channel dimensions.
// CHECK-LABEL: func.func @transposed(
// CHECK:         xnnpack.constant dense<{{\[\[\[\[}}1.000000e+00]], {{\[\[}}2.000000e+00]]], {{\[\[\[}}3.000000e+00]], {{\[\[}}4.000000e+00]]]]> : tensor<2x2x1x1xf32>
// CHECK-NEXT:    xnnpack.deconv2d {{.*}} {adjustment = array<i32: 1, 0>, groups = 2 : i32, stride = array<i32: 2, 1>} : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>) -> tensor<1x5x2x2xf32>
func.func @transposed(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x5x2xf32> {
  %w = edge.constant dense<[[[[1.0], [2.0]]], [[[3.0], [4.0]]]]> : tensor<2x1x2x1xf32>
  %0 = edge.conv_transpose2d.input(%x, %w, none) {stride = array<i64: 2, 1>, output_padding = array<i64: 1, 0>, groups = 2 : i64} : (tensor<1x2x2x2xf32>, tensor<2x1x2x1xf32>) -> tensor<1x2x5x2xf32>
  func.return %0 : tensor<1x2x5x2xf32>
}

// -----

// One dimension is an image of height 1, and a missing batch one image.
// CHECK-LABEL: func.func @conv1d(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 1, 8>} : tensor<1x2x8xf32> -> tensor<1x2x1x8xf32>
// CHECK:         xnnpack.conv2d {{.*}} {padding = array<i32: 0, 1, 0, 1>, stride = array<i32: 1, 2>
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 4, 4>} : tensor<1x4x1x4xf32> -> tensor<1x4x4xf32>
func.func @conv1d(%x: tensor<2x8xf32>) -> tensor<4x4xf32> {
  %w = edge.constant dense<1.0> : tensor<4x2x3xf32>
  %0 = edge.conv1d(%x, %w, none) {stride = array<i64: 2>, padding = array<i64: 1>} : (tensor<2x8xf32>, tensor<4x2x3xf32>) -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @three_dimensions(
// CHECK:         edge.convolution
func.func @three_dimensions(%x: tensor<1x1x2x2x2xf32>) -> tensor<1x1x2x2x2xf32> {
  %w = edge.constant dense<1.0> : tensor<1x1x1x1x1xf32>
  // expected-remark @+1 {{edge.convolution not delegated: it convolves 3 dimensions; XNNPACK convolves two at most}}
  %0 = edge.convolution(%x, %w, none) {stride = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>, transposed = false, output_padding = array<i64: 0, 0, 0>, groups = 1 : i64} : (tensor<1x1x2x2x2xf32>, tensor<1x1x1x1x1xf32>) -> tensor<1x1x2x2x2xf32>
  func.return %0 : tensor<1x1x2x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @computed(
// CHECK:         edge.conv2d
func.func @computed(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32> {
  // expected-remark @+1 {{edge.conv2d not delegated: its weight is not a constant (make it a parameter or buffer of the module)}}
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  func.return %0 : tensor<1x1x2x2xf32>
}

// -----

// A bias by channel is added where the channels are innermost.
// CHECK-LABEL: func.func @computed_bias(
// CHECK:         %[[C:.*]] = xnnpack.conv2d %{{.*}}, %{{.*}} {{.*}}: (tensor<1x2x2x1xf32>, tensor<3x1x1x1xf32>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT:    xnnpack.binary add %[[C]], %{{.*}} : tensor<1x2x2x3xf32>, tensor<3xf32> -> tensor<1x2x2x3xf32>
func.func @computed_bias(%x: tensor<1x1x2x2xf32>, %b: tensor<3xf32>) -> tensor<1x3x2x2xf32> {
  %w = edge.constant dense<1.0> : tensor<3x1x1x1xf32>
  %0 = edge.conv2d(%x, %w, %b) : (tensor<1x1x2x2xf32>, tensor<3x1x1x1xf32>, tensor<3xf32>) -> tensor<1x3x2x2xf32>
  func.return %0 : tensor<1x3x2x2xf32>
}

// -----

// An output padding as large as the stride, which XNNPACK does not take, is a zero behind the image, or less to cut.
// CHECK-LABEL: func.func @large_output_padding(
// CHECK:         xnnpack.static_constant_pad %{{.*}} {post_paddings = array<i32: 0, 0, 1, 0>, pre_paddings = array<i32: 0, 0, 0, 0>
// CHECK:         xnnpack.deconv2d %{{.*}}, %{{.*}} {dilation = array<i32: 2, 2>, padding = array<i32: 0, 0, 0, 1>} : {{.*}} -> tensor<1x6x4x1xf32>
func.func @large_output_padding(%x: tensor<1x1x3x3xf32>) -> tensor<1x1x6x4xf32> {
  %w = edge.constant dense<1.0> : tensor<1x1x2x2xf32>
  %0 = edge.conv_transpose2d.input(%x, %w, none) {padding = array<i64: 0, 1>, output_padding = array<i64: 1, 1>, dilation = array<i64: 2, 2>} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x6x4xf32>
  func.return %0 : tensor<1x1x6x4xf32>
}

// -----

// What fold-batch-norm leaves over is a product and a sum by channel.
// CHECK-LABEL: func.func @batch_norm(
// CHECK:         %[[S:.*]] = xnnpack.constant dense<{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT:    %[[P:.*]] = xnnpack.binary multiply %{{.*}}, %[[S]] : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
// CHECK-NEXT:    %[[B:.*]] = xnnpack.constant dense<{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT:    xnnpack.binary add %[[P]], %[[B]]
func.func @batch_norm(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %one = edge.constant dense<1.0> : tensor<2xf32>
  %0 = edge.batch_norm(%x, none, none, %one, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %0 : tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @no_statistics(
// CHECK:         edge.batch_norm
func.func @no_statistics(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  // expected-remark @+1 {{edge.batch_norm not delegated: it keeps no running statistics}}
  %0 = edge.batch_norm(%x, none, none, none, none) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %0 : tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @computed_statistics(
// CHECK:         edge.batch_norm
func.func @computed_statistics(%x: tensor<1x2x4x4xf32>, %m: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  // expected-remark @+1 {{edge.batch_norm not delegated: its running_mean is not a constant}}
  %0 = edge.batch_norm(%x, none, none, %m, %m) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %0 : tensor<1x2x4x4xf32>
}

// -----

// An image of height 1.
// CHECK-LABEL: func.func @conv_transpose1d(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 1, 6>}
// CHECK:         xnnpack.deconv2d %{{.*}}, %{{.*}} {stride = array<i32: 1, 2>} : (tensor<1x1x6x2xf32>, tensor<3x1x3x2xf32>) -> tensor<1x1x13x3xf32>
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 3, 13>}
func.func @conv_transpose1d(%x: tensor<1x2x6xf32>) -> tensor<1x3x13xf32> {
  %0 = edge.constant dense<1.0> : tensor<2x3x3xf32>
  %1 = edge.conv_transpose1d(%x, %0, none) {stride = array<i64: 2>} : (tensor<1x2x6xf32>, tensor<2x3x3xf32>) -> tensor<1x3x13xf32>
  func.return %1 : tensor<1x3x13xf32>
}

// -----

// CHECK-LABEL: func.func @native_batch_norm_legit_no_training(
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.binary add
// CHECK-NEXT:    xnnpack.yield
func.func @native_batch_norm_legit_no_training(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = edge.constant dense<1.000000e+00> : tensor<2xf32>
  %1 = edge.constant dense<1.000000e+00> : tensor<2xf32>
  %2, %3, %4 = edge._native_batch_norm_legit_no_training(%x, none, none, %0, %1) {momentum = 1.000000e-01 : f64, eps = 1.000000e-05 : f64} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %2 : tensor<3x2xf32>
}
