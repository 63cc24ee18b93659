// RUN: xir-opt %s --decompose-for-kernels --split-input-file | filecheck %s

// Sizes that are known when the program runs are asked for.
// CHECK-LABEL:  func.func @matmul(
// CHECK-NEXT:     %[[V0:.*]] = edge.sym_size.int(%a) {dim = 0 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.executorch_prim.mul.Scalar()[%[[V0]]] {a = -9223372036854775808 : i64, b = 5 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.view(%a)[%[[V1]]] {size = array<i64: -9223372036854775808, 2, 3>}
// CHECK-NEXT:     %[[V3:.*]] = edge.view(%b)[%[[V1]]] {size = array<i64: -9223372036854775808, 3, 4>}
// CHECK-NEXT:     %[[V4:.*]] = edge.bmm(%[[V2]], %[[V3]])
// CHECK-NEXT:     %[[V5:.*]] = edge.view(%[[V4]])[%[[V0]]] {size = array<i64: -9223372036854775808, 5, 2, 4>}
// CHECK-NEXT:     func.return %[[V5]]
func.func @matmul(%a: tensor<?x5x2x3xf32>, %b: tensor<?x5x3x4xf32>) -> tensor<?x5x2x4xf32> {
  %0 = edge.matmul(%a, %b) : (tensor<?x5x2x3xf32>, tensor<?x5x3x4xf32>) -> tensor<?x5x2x4xf32>
  func.return %0 : tensor<?x5x2x4xf32>
}

// CHECK-LABEL:  func.func @group_norm(
// CHECK-NEXT:     %[[V0:.*]] = edge.sym_size.int(%x) {dim = 0 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.sym_size.int(%x) {dim = 2 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.executorch_prim.mul.Scalar()[%[[V1]]] {a = -9223372036854775808 : i64, b = 5 : i64}
// CHECK-NEXT:     %[[V3:.*]], %[[V4:.*]], %[[V5:.*]] = edge.native_group_norm(%x, none, none)[%[[V0]], %[[V2]]] {C = 4 : i64, HxW = -9223372036854775808 : i64, N = -9223372036854775808 : i64, eps = 1.000000e-05 : f64, group = 2 : i64}
// CHECK-NEXT:     func.return %[[V3]]
func.func @group_norm(%x: tensor<?x4x?x5xf32>) -> tensor<?x4x?x5xf32> {
  %0 = edge.group_norm(%x, none, none) {num_groups = 2 : i64} : (tensor<?x4x?x5xf32>) -> tensor<?x4x?x5xf32>
  func.return %0 : tensor<?x4x?x5xf32>
}

// CHECK-LABEL:  func.func @causal(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Scalar(%q) {other = 2.500000e-01 : f64}
// CHECK-NEXT:     %[[V1:.*]] = edge.transpose.int(%k) {dim0 = -2 : i64, dim1 = -1 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.bmm(%[[V0]], %[[V1]])
// CHECK-NEXT:     %[[V3:.*]] = edge.sym_size.int(%q) {dim = 1 : i64}
// CHECK-NEXT:     %[[V4:.*]] = edge.sym_size.int(%k) {dim = 1 : i64}
// CHECK-NEXT:     %[[V5:.*]] = edge.full()[%[[V3]], %[[V4]]] {fill_value = true, size = array<i64: -9223372036854775808, -9223372036854775808>}
// CHECK-NEXT:     %[[V6:.*]] = edge.tril(%[[V5]])
// CHECK-NEXT:     %[[V7:.*]] = edge.logical_not(%[[V6]])
// CHECK-NEXT:     %[[V8:.*]] = edge.masked_fill.Scalar(%[[V2]], %[[V7]]) {value = 0xFFF0000000000000 : f64}
// CHECK-NEXT:     %[[V9:.*]] = edge._softmax(%[[V8]]) {dim = -1 : i64, half_to_float = false}
// CHECK-NEXT:     %[[V10:.*]] = edge.bmm(%[[V9]], %v)
// CHECK-NEXT:     func.return %[[V10]]
func.func @causal(%q: tensor<2x?x16xf32>, %k: tensor<2x?x16xf32>, %v: tensor<2x?x6xf32>) -> tensor<2x?x6xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %k, %v, none) {is_causal = true} : (tensor<2x?x16xf32>, tensor<2x?x16xf32>, tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  func.return %0 : tensor<2x?x6xf32>
}

// A dimension that only the program knows about stays known.
// CHECK-LABEL:  func.func @refined(
// CHECK-NEXT:     %[[V0:.*]] = edge.view(%x) {size = array<i64: -1, 4>}
// CHECK-NEXT:     func.return %[[V0]]
func.func @refined(%x: tensor<?x4xf32>) -> tensor<8x4xf32> {
  %0 = edge._unsafe_view(%x) {size = array<i64: -1, 4>} : (tensor<?x4xf32>) -> tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}

// The kernel of unbind cannot resize its results.
// CHECK-LABEL:  func.func @unbind(
// CHECK-NEXT:     %[[V0:.*]] = edge.select.int(%x) {dim = 0 : i64, index = 0 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.select.int(%x) {dim = 0 : i64, index = 1 : i64}
// CHECK-NEXT:     func.return %[[V0]], %[[V1]]
func.func @unbind(%x: tensor<2x?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0, %1 = edge.unbind.int(%x) : (tensor<2x?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  func.return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// How long the pieces are is known, or not.
// CHECK-LABEL:  func.func @split(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]] = edge.split_with_sizes(%x) {dim = 1 : i64, split_sizes = array<i64: 2, 2>}
// CHECK-NEXT:     %[[V2:.*]], %[[V3:.*]] = edge.split.Tensor(%x) {split_size = 2 : i64}
// CHECK-NEXT:     func.return %[[V0]], %[[V1]], %[[V2]], %[[V3]]
func.func @split(%x: tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %0, %1 = edge.split.Tensor(%x) {split_size = 2 : i64, dim = 1 : i64} : (tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>)
  %2, %3 = edge.split.Tensor(%x) {split_size = 2 : i64} : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  func.return %0, %1, %2, %3 : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}
