// RUN: xir-opt %s --decompose-for-kernels --split-input-file | filecheck %s

// CHECK-LABEL:  func.func @batch_norm(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]], %[[V2:.*]] = edge._native_batch_norm_legit_no_training(%x, none, %a, %a, %a) {eps = 1.000000e-05 : f64, momentum = 1.000000e-01 : f64}
// CHECK-NEXT:     func.return %[[V0]]
func.func @batch_norm(%x: tensor<1x4x8x8xf32>, %a: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %0 = edge.batch_norm(%x, none, %a, %a, %a) {training = false, momentum = 0.1 : f64, eps = 1.0e-5 : f64, cudnn_enabled = true} : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  func.return %0 : tensor<1x4x8x8xf32>
}

// CHECK-LABEL:  func.func @layer_norm(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]], %[[V2:.*]] = edge.native_layer_norm(%x, %a, none) {eps = 1.000000e-05 : f64, normalized_shape = array<i64: 3, 4>}
// CHECK-NEXT:     func.return %[[V0]]
func.func @layer_norm(%x: tensor<2x3x4xf32>, %a: tensor<3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = edge.layer_norm(%x, %a, none) {normalized_shape = array<i64: 3, 4>} : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL:  func.func @group_norm(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]], %[[V2:.*]] = edge.native_group_norm(%x, none, none) {C = 4 : i64, HxW = 15 : i64, N = 2 : i64, eps = 1.000000e-05 : f64, group = 2 : i64}
// CHECK-NEXT:     func.return %[[V0]]
func.func @group_norm(%x: tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32> {
  %0 = edge.group_norm(%x, none, none) {num_groups = 2 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  func.return %0 : tensor<2x4x3x5xf32>
}

// CHECK-LABEL:  func.func @instance_norm(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]], %[[V2:.*]] = edge.native_group_norm(%x, none, none) {C = 4 : i64, HxW = 15 : i64, N = 2 : i64, eps = 1.000000e-05 : f64, group = 4 : i64}
// CHECK-NEXT:     func.return %[[V0]]
func.func @instance_norm(%x: tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32> {
  %0 = edge.instance_norm(%x, none, none, none, none) {use_input_stats = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64, cudnn_enabled = true} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  func.return %0 : tensor<2x4x3x5xf32>
}

// CHECK-LABEL:  func.func @instance_norm_by_running_statistics(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]], %[[V2:.*]] = edge._native_batch_norm_legit_no_training(%x, none, none, %a, %a) {eps = 1.000000e-05 : f64, momentum = 1.000000e-01 : f64}
// CHECK-NEXT:     func.return %[[V0]]
func.func @instance_norm_by_running_statistics(%x: tensor<2x4x3x5xf32>, %a: tensor<4xf32>) -> tensor<2x4x3x5xf32> {
  %0 = edge.instance_norm(%x, none, none, %a, %a) {use_input_stats = false, momentum = 0.1 : f64, eps = 1.0e-5 : f64, cudnn_enabled = true} : (tensor<2x4x3x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x5xf32>
  func.return %0 : tensor<2x4x3x5xf32>
}

// CHECK-LABEL:  func.func @rms_norm(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Tensor(%x, %x)
// CHECK-NEXT:     %[[V1:.*]] = edge.mean.dim(%[[V0]]) {dim = array<i64: -1>, keepdim = true}
// CHECK-NEXT:     %[[V2:.*]] = edge.add.Scalar(%[[V1]]) {other = 1.000000e-06 : f64}
// CHECK-NEXT:     %[[V3:.*]] = edge.rsqrt(%[[V2]])
// CHECK-NEXT:     %[[V4:.*]] = edge.mul.Tensor(%x, %[[V3]])
// CHECK-NEXT:     %[[V5:.*]] = edge.mul.Tensor(%[[V4]], %a)
// CHECK-NEXT:     func.return %[[V5]]
func.func @rms_norm(%x: tensor<2x3x4xf32>, %a: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %0 = edge.rms_norm(%x, %a) {normalized_shape = array<i64: 4>, eps = 1.0e-6 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}

// Without eps it is that of the element type.
// CHECK-LABEL:  func.func @rms_norm_of_plane(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Tensor(%x, %x)
// CHECK-NEXT:     %[[V1:.*]] = edge.mean.dim(%[[V0]]) {dim = array<i64: -2, -1>, keepdim = true}
// CHECK-NEXT:     %[[V2:.*]] = edge.add.Scalar(%[[V1]]) {other = 1.1920928955078125e-07 : f64}
// CHECK-NEXT:     %[[V3:.*]] = edge.rsqrt(%[[V2]])
// CHECK-NEXT:     %[[V4:.*]] = edge.mul.Tensor(%x, %[[V3]])
// CHECK-NEXT:     func.return %[[V4]]
func.func @rms_norm_of_plane(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = edge.rms_norm(%x, none) {normalized_shape = array<i64: 3, 4>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}
