// RUN: xir-opt %s --decompose-for-kernels --split-input-file | filecheck %s

// CHECK-LABEL:  func.func @sum(
// CHECK-NEXT:     %[[V0:.*]] = edge.sum.dim_IntList(%x)
// CHECK-NEXT:     func.return %[[V0]]
func.func @sum(%x: tensor<2x3xi32>) -> tensor<i64> {
  %0 = edge.sum(%x) : (tensor<2x3xi32>) -> tensor<i64>
  func.return %0 : tensor<i64>
}

// Dimensions of what has none.
// CHECK-LABEL:  func.func @sum_of_a_number(
// CHECK-NEXT:     %[[V0:.*]] = edge.sum.dim_IntList(%x) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:     func.return %[[V0]]
func.func @sum_of_a_number(%x: tensor<f32>) -> tensor<f32> {
  %0 = edge.sum.dim_IntList(%x) {dim = array<i64: -1>, keepdim = true} : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK-LABEL:  func.func @sum_of_a_dimension(
// CHECK-NEXT:     edge.sum.dim_IntList(%x) {dim = array<i64: -1>}
func.func @sum_of_a_dimension(%x: tensor<3xf32>) -> tensor<f32> {
  %0 = edge.sum.dim_IntList(%x) {dim = array<i64: -1>} : (tensor<3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK-LABEL:  func.func @running_sum_of_a_number(
// CHECK-NEXT:     %[[V0:.*]] = edge._to_copy(%x) {dtype = i64}
// CHECK-NEXT:     func.return %[[V0]]
func.func @running_sum_of_a_number(%x: tensor<i32>) -> tensor<i64> {
  %0 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<i32>) -> tensor<i64>
  func.return %0 : tensor<i64>
}

// CHECK-LABEL:  func.func @running_sum(
// CHECK-NEXT:     edge.cumsum(%x) {dim = 0 : i64}
func.func @running_sum(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// CHECK-LABEL:  func.func @all(
// CHECK-NEXT:     %[[V0:.*]] = edge.logical_not(%x)
// CHECK-NEXT:     %[[V1:.*]] = edge.any(%[[V0]])
// CHECK-NEXT:     %[[V2:.*]] = edge.logical_not(%[[V1]])
// CHECK-NEXT:     func.return %[[V2]]
func.func @all(%x: tensor<2x3xi1>) -> tensor<i1> {
  %0 = edge.all(%x) : (tensor<2x3xi1>) -> tensor<i1>
  func.return %0 : tensor<i1>
}

// Of bytes it is a byte.
// CHECK-LABEL:  func.func @all_of_dim(
// CHECK-NEXT:     %[[V0:.*]] = edge.logical_not(%x)
// CHECK-NEXT:     %[[V1:.*]] = edge.any.dim(%[[V0]]) {dim = 1 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.logical_not(%[[V1]])
// CHECK-NEXT:     %[[V3:.*]] = edge._to_copy(%[[V2]]) {dtype = ui8}
// CHECK-NEXT:     func.return %[[V3]]
func.func @all_of_dim(%x: tensor<2x3xui8>) -> tensor<2xui8> {
  %0 = edge.all.dim(%x) {dim = 1 : i64} : (tensor<2x3xui8>) -> tensor<2xui8>
  func.return %0 : tensor<2xui8>
}

// CHECK-LABEL:  func.func @norm(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Tensor(%x, %x)
// CHECK-NEXT:     %[[V1:.*]] = edge.sum.dim_IntList(%[[V0]])
// CHECK-NEXT:     %[[V2:.*]] = edge.sqrt(%[[V1]])
// CHECK-NEXT:     func.return %[[V2]]
func.func @norm(%x: tensor<2x3xf32>) -> tensor<f32> {
  %0 = edge.linalg_vector_norm(%x) : (tensor<2x3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK-LABEL:  func.func @norm_of_other_orders(
// CHECK-NEXT:     %[[V0:.*]] = edge.ne.Scalar(%x) {other = 0 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge._to_copy(%[[V0]]) {dtype = f32}
// CHECK-NEXT:     %[[V2:.*]] = edge.sum.dim_IntList(%[[V1]]) {dim = array<i64: 1>}
// CHECK-NEXT:     %[[V3:.*]] = edge.abs(%x)
// CHECK-NEXT:     %[[V4:.*]] = edge.sum.dim_IntList(%[[V3]]) {dim = array<i64: 1>, keepdim = true}
// CHECK-NEXT:     %[[V5:.*]] = edge.abs(%x)
// CHECK-NEXT:     %[[V6:.*]] = edge.pow.Tensor_Scalar(%[[V5]]) {exponent = 3.000000e+00 : f64}
// CHECK-NEXT:     %[[V7:.*]] = edge.sum.dim_IntList(%[[V6]]) {dim = array<i64: 1>}
// CHECK-NEXT:     %[[V8:.*]] = edge.pow.Tensor_Scalar(%[[V7]]) {exponent = 0.3333333333333333 : f64}
// CHECK-NEXT:     %[[V9:.*]] = edge.abs(%x)
// CHECK-NEXT:     %[[V10:.*]] = edge.amax(%[[V9]])
// CHECK-NEXT:     func.return %[[V2]], %[[V4]], %[[V8]], %[[V10]]
func.func @norm_of_other_orders(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2x1xf32>, tensor<2xf32>, tensor<f32>) {
  %0 = edge.linalg_vector_norm(%x) {ord = 0 : i64, dim = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  %1 = edge.linalg_vector_norm(%x) {ord = 1 : i64, dim = array<i64: 1>, keepdim = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %2 = edge.linalg_vector_norm(%x) {ord = 3.0 : f64, dim = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  %3 = edge.linalg_vector_norm(%x) {ord = 0x7FF0000000000000 : f64} : (tensor<2x3xf32>) -> tensor<f32>
  func.return %0, %1, %2, %3 : tensor<2xf32>, tensor<2x1xf32>, tensor<2xf32>, tensor<f32>
}

// CHECK-LABEL:  func.func @sort(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]] = edge.topk(%x) {dim = 0 : i64, k = 2 : i64}
// CHECK-NEXT:     func.return %[[V0]], %[[V1]]
func.func @sort(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %0, %1 = edge.sort(%x) {dim = 0 : i64, descending = true} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xi64>
}

// CHECK-LABEL:  func.func @sort_of_scalar(
// CHECK-NEXT:     %[[V0:.*]] = edge.full() {fill_value = 0 : i64, size = array<i64>}
// CHECK-NEXT:     func.return %x, %[[V0]]
func.func @sort_of_scalar(%x: tensor<f32>) -> (tensor<f32>, tensor<i64>) {
  %0, %1 = edge.sort(%x) : (tensor<f32>) -> (tensor<f32>, tensor<i64>)
  func.return %0, %1 : tensor<f32>, tensor<i64>
}
