// RUN: xir-opt %s --split-input-file --fold-batch-norm --canonicalize | filecheck %s

// scale = gamma / sqrt(var + eps) = [2, 3], shift = beta - mean * scale = [10 - 1 * 2, 20 - 2 * 3].
// CHECK-LABEL: func.func @conv2d(
// CHECK-NEXT:    %[[W:.*]] = edge.constant dense<{{\[\[\[\[}}2.000000e+00]]], {{\[\[\[}}6.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK-NEXT:    %[[B:.*]] = edge.constant dense<[8.000000e+00, 1.400000e+01]> : tensor<2xf32>
// CHECK-NEXT:    %[[R:.*]] = edge.conv2d(%x, %[[W]], %[[B]]) {stride = array<i64: 2, 2>} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @conv2d(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %w = edge.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>
  %gamma = edge.constant dense<[2.0, 6.0]> : tensor<2xf32>
  %beta = edge.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %mean = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %var = edge.constant dense<[0.75, 3.75]> : tensor<2xf32>
  %0 = edge.conv2d(%x, %w, none) {stride = array<i64: 2, 2>} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %1 = edge.batch_norm(%0, %gamma, %beta, %mean, %var) {training = false, momentum = 0.1, eps = 0.25, cudnn_enabled = true} : (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  func.return %1 : tensor<1x2x2x2xf32>
}

// -----

// A bias goes through the norm as well: [1 * 2 - 1 * 2, 2 * 2 - 1 * 2]. Gamma and beta may be absent.
// CHECK-LABEL: func.func @linear(
// CHECK-NEXT:    %[[W:.*]] = edge.constant dense<{{\[\[}}2.000000e+00, 4.000000e+00], [6.000000e+00, 8.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT:    %[[B:.*]] = edge.constant dense<[0.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %[[R:.*]] = edge.linear(%x, %[[W]], %[[B]])
// CHECK-NEXT:    func.return %[[R]]
func.func @linear(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = edge.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %mean = edge.constant dense<1.0> : tensor<2xf32>
  %var = edge.constant dense<0.25> : tensor<2xf32>
  %0 = edge.linear(%x, %w, %b) : (tensor<3x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %1, %2, %3 = edge._native_batch_norm_legit_no_training(%0, none, none, %mean, %var) {momentum = 0.1, eps = 0.0} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %1 : tensor<3x2xf32>
}

// -----

// A transposed convolution has its output channels in the second dimension of the weight, a group's in one block.
// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT:    %[[W:.*]] = edge.constant dense<{{\[\[\[\[}}2.000000e+00]], {{\[\[}}4.000000e+00]]], {{\[\[\[}}8.000000e+00]], {{\[\[}}1.600000e+01]]]]> : tensor<2x2x1x1xf32>
// CHECK:         edge.conv_transpose2d.input(%x, %[[W]], %{{.*}}) {groups = 2 : i64}
// CHECK-NOT:     batch_norm
func.func @transposed(%x: tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %w = edge.constant dense<1.0> : tensor<2x2x1x1xf32>
  %gamma = edge.constant dense<[2.0, 4.0, 8.0, 16.0]> : tensor<4xf32>
  %mean = edge.constant dense<0.0> : tensor<4xf32>
  %var = edge.constant dense<1.0> : tensor<4xf32>
  %0 = edge.conv_transpose2d.input(%x, %w, none) {groups = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = edge.batch_norm(%0, %gamma, none, %mean, %var) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x4x4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  func.return %1 : tensor<1x4x4x4xf32>
}

// -----

// A norm after a norm folds after it.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT:    %[[W:.*]] = edge.constant dense<8.000000e+00> : tensor<1x1x1x1xf32>
// CHECK-NEXT:    %[[B:.*]] = edge.constant dense<{{.*}}> : tensor<1xf32>
// CHECK-NEXT:    %[[R:.*]] = edge.conv2d(%x, %[[W]], %[[B]])
// CHECK-NEXT:    func.return %[[R]]
func.func @chain(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = edge.constant dense<2.0> : tensor<1x1x1x1xf32>
  %mean = edge.constant dense<0.0> : tensor<1xf32>
  %var = edge.constant dense<0.25> : tensor<1xf32>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1 = edge.batch_norm(%0, none, none, %mean, %var) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  %2 = edge.batch_norm(%1, none, none, %mean, %var) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  func.return %2 : tensor<1x1x4x4xf32>
}

// -----

// Somebody else reads the values before the norm.
// CHECK-LABEL: func.func @two_users(
// CHECK:         edge.conv2d(%x, %w, none)
// CHECK-NEXT:    edge.batch_norm
func.func @two_users(%x: tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %w = edge.constant dense<2.0> : tensor<1x1x1x1xf32>
  %one = edge.constant dense<1.0> : tensor<1xf32>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1 = edge.batch_norm(%0, none, none, %one, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  func.return %0, %1 : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// -----

// The statistics, or the weight, are computed at run time.
// CHECK-LABEL: func.func @not_constant(
// CHECK:         edge.conv2d(%x, %w, none)
// CHECK-NEXT:    edge.batch_norm
// CHECK-NEXT:    edge.conv2d(%{{.*}}, %v, none)
// CHECK-NEXT:    edge.batch_norm
func.func @not_constant(%x: tensor<1x1x4x4xf32>, %v: tensor<1x1x1x1xf32>, %mean: tensor<1xf32>) -> tensor<1x1x4x4xf32> {
  %w = edge.constant dense<2.0> : tensor<1x1x1x1xf32>
  %one = edge.constant dense<1.0> : tensor<1xf32>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1 = edge.batch_norm(%0, none, none, %mean, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  %2 = edge.conv2d(%1, %v, none) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %3 = edge.batch_norm(%2, none, none, %one, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  func.return %3 : tensor<1x1x4x4xf32>
}

// -----

// No weights in front of the norm.
// CHECK-LABEL: func.func @no_weights(
// CHECK:         edge.relu
// CHECK-NEXT:    edge.batch_norm
func.func @no_weights(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %one = edge.constant dense<1.0> : tensor<1xf32>
  %0 = edge.relu(%x) : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %1 = edge.batch_norm(%0, none, none, %one, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  func.return %1 : tensor<1x1x4x4xf32>
}

// -----

// The norm's channels are dimension 1: for a linear op on sequences that is the position, not the feature, ...
// CHECK-LABEL: func.func @sequence(
// CHECK:         edge.linear(%x, %w, none)
// CHECK-NEXT:    edge.batch_norm
// ... and for a convolution without a batch it is the height.
// CHECK-LABEL: func.func @unbatched(
// CHECK:         edge.conv2d(%x, %w, none)
// CHECK-NEXT:    edge.batch_norm
func.func @sequence(%x: tensor<1x2x2xf32>) -> tensor<1x2x2xf32> {
  %w = edge.constant dense<1.0> : tensor<2x2xf32>
  %one = edge.constant dense<1.0> : tensor<2xf32>
  %0 = edge.linear(%x, %w, none) : (tensor<1x2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2xf32>
  %1 = edge.batch_norm(%0, none, none, %one, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
  func.return %1 : tensor<1x2x2xf32>
}
func.func @unbatched(%x: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
  %w = edge.constant dense<1.0> : tensor<2x2x1x1xf32>
  %one = edge.constant dense<1.0> : tensor<2xf32>
  %0 = edge.conv2d(%x, %w, none) : (tensor<2x2x2xf32>, tensor<2x2x1x1xf32>) -> tensor<2x2x2xf32>
  %1 = edge.batch_norm(%0, none, none, %one, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<2x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x2xf32>
  func.return %1 : tensor<2x2x2xf32>
}

// -----

// fp16 weights as well, unless one would become too large.
// CHECK-LABEL: func.func @half(
// CHECK:         [[W:%.+]] = edge.constant dense<2.000000e+00> : tensor<1x1x1x1xf16>
// CHECK:         edge.conv2d({{%.+}}, [[W]], {{%.+}})
// CHECK-NOT:     edge.batch_norm
func.func @half(%x: tensor<1x1x4x4xf16>) -> tensor<1x1x4x4xf16> {
  %w = edge.constant dense<2.0> : tensor<1x1x1x1xf16>
  %one = edge.constant dense<1.0> : tensor<1xf16>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x1x4x4xf16>, tensor<1x1x1x1xf16>) -> tensor<1x1x4x4xf16>
  %1 = edge.batch_norm(%0, none, none, %one, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x1x4x4xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<1x1x4x4xf16>
  func.return %1 : tensor<1x1x4x4xf16>
}

// -----

// CHECK-LABEL: func.func @half_overflow(
// CHECK:         edge.batch_norm
func.func @half_overflow(%x: tensor<1x1x4x4xf16>) -> tensor<1x1x4x4xf16> {
  %w = edge.constant dense<2.0> : tensor<1x1x1x1xf16>
  %large = edge.constant dense<4.0e4> : tensor<1xf16>
  %one = edge.constant dense<1.0> : tensor<1xf16>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x1x4x4xf16>, tensor<1x1x1x1xf16>) -> tensor<1x1x4x4xf16>
  %1 = edge.batch_norm(%0, %large, none, %one, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x1x4x4xf16>, tensor<1xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<1x1x4x4xf16>
  func.return %1 : tensor<1x1x4x4xf16>
}

// -----

// bf16 has too few bits for weights that are rounded twice.
// CHECK-LABEL: func.func @bfloat(
// CHECK:         edge.batch_norm
func.func @bfloat(%x: tensor<1x1x4x4xbf16>) -> tensor<1x1x4x4xbf16> {
  %w = edge.constant dense<2.0> : tensor<1x1x1x1xbf16>
  %one = edge.constant dense<1.0> : tensor<1xbf16>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x1x4x4xbf16>, tensor<1x1x1x1xbf16>) -> tensor<1x1x4x4xbf16>
  %1 = edge.batch_norm(%0, none, none, %one, %one) {training = false, momentum = 0.1, eps = 0.0, cudnn_enabled = true} : (tensor<1x1x4x4xbf16>, tensor<1xbf16>, tensor<1xbf16>) -> tensor<1x1x4x4xbf16>
  func.return %1 : tensor<1x1x4x4xbf16>
}

// -----

// Somebody reads the statistics that the op would have saved in training.
// CHECK-LABEL: func.func @saved_statistics(
// CHECK:         edge.conv2d(%x, %w, none)
// CHECK-NEXT:    edge._native_batch_norm_legit_no_training
func.func @saved_statistics(%x: tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<0xf32>) {
  %w = edge.constant dense<2.0> : tensor<1x1x1x1xf32>
  %one = edge.constant dense<1.0> : tensor<1xf32>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1, %2, %3 = edge._native_batch_norm_legit_no_training(%0, none, none, %one, %one) {momentum = 0.1, eps = 0.0} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<1x1x4x4xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %1, %2 : tensor<1x1x4x4xf32>, tensor<0xf32>
}
