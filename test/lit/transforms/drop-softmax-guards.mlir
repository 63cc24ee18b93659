// RUN: xir-opt %s --drop-softmax-guards --split-input-file | filecheck %s

// Scores are a product in a delegate that there is already.
// CHECK-LABEL: func.func @product
// CHECK: %[[SCORES:.*]], %[[SOFT:.*]] = xnnpack.subgraph
// CHECK: func.return %[[SOFT]]
func.func @product(%q: tensor<2x3x4xf32>, %k: tensor<2x4x5xf32>, %zeros: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %0, %1 = xnnpack.subgraph(%q, %k) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  ^bb0(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>):
    %c = xnnpack.batch_matrix_multiply %a, %b : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    %d = xnnpack.softmax %c : tensor<2x3x5xf32> -> tensor<2x3x5xf32>
    xnnpack.yield %c, %d : tensor<2x3x5xf32>, tensor<2x3x5xf32>
  }
  %2 = edge.eq.Scalar(%0) {other = 0xFFF0000000000000 : f64} : (tensor<2x3x5xf32>) -> tensor<2x3x5xi1>
  %3 = edge.logical_not(%2) : (tensor<2x3x5xi1>) -> tensor<2x3x5xi1>
  %4 = edge.any.dim(%3) {dim = -1 : i64, keepdim = true} : (tensor<2x3x5xi1>) -> tensor<2x3x1xi1>
  %5 = edge.logical_not(%4) : (tensor<2x3x1xi1>) -> tensor<2x3x1xi1>
  %6 = edge.where.self(%5, %zeros, %1) : (tensor<2x3x1xi1>, tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  func.return %6 : tensor<2x3x5xf32>
}

// -----

// A constant mask leaves a number in each row.
// CHECK-LABEL: func.func @masked
// CHECK: %[[SOFT:.*]] = edge._softmax
// CHECK-NEXT: func.return %[[SOFT]]
func.func @masked(%q: tensor<2x2x4xf32>, %k: tensor<2x4x2xf32>, %zeros: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
  %m = edge.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %p = edge.bmm(%q, %k) : (tensor<2x2x4xf32>, tensor<2x4x2xf32>) -> tensor<2x2x2xf32>
  %0 = edge.add.Tensor(%p, %m) : (tensor<2x2x2xf32>, tensor<2x2xf32>) -> tensor<2x2x2xf32>
  %1 = edge._softmax(%0) {dim = -1 : i64, half_to_float = false} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %2 = edge.eq.Scalar(%0) {other = 0xFFF0000000000000 : f64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xi1>
  %3 = edge.logical_not(%2) : (tensor<2x2x2xi1>) -> tensor<2x2x2xi1>
  %4 = edge.any.dim(%3) {dim = -1 : i64, keepdim = true} : (tensor<2x2x2xi1>) -> tensor<2x2x1xi1>
  %5 = edge.logical_not(%4) : (tensor<2x2x1xi1>) -> tensor<2x2x1xi1>
  %6 = edge.where.self(%5, %zeros, %1) : (tensor<2x2x1xi1>, tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  func.return %6 : tensor<2x2x2xf32>
}

// -----

// One of the mask's rows hides all.
// CHECK-LABEL: func.func @hidden_row
// CHECK: edge.where.self
func.func @hidden_row(%q: tensor<2x2x4xf32>, %k: tensor<2x4x2xf32>, %zeros: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
  %m = edge.constant dense<[[0xFF800000, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %p = edge.bmm(%q, %k) : (tensor<2x2x4xf32>, tensor<2x4x2xf32>) -> tensor<2x2x2xf32>
  %0 = edge.add.Tensor(%p, %m) : (tensor<2x2x2xf32>, tensor<2x2xf32>) -> tensor<2x2x2xf32>
  %1 = edge._softmax(%0) {dim = -1 : i64, half_to_float = false} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %2 = edge.eq.Scalar(%0) {other = 0xFFF0000000000000 : f64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xi1>
  %3 = edge.logical_not(%2) : (tensor<2x2x2xi1>) -> tensor<2x2x2xi1>
  %4 = edge.any.dim(%3) {dim = -1 : i64, keepdim = true} : (tensor<2x2x2xi1>) -> tensor<2x2x1xi1>
  %5 = edge.logical_not(%4) : (tensor<2x2x1xi1>) -> tensor<2x2x1xi1>
  %6 = edge.where.self(%5, %zeros, %1) : (tensor<2x2x1xi1>, tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  func.return %6 : tensor<2x2x2xf32>
}

// -----

// The caller's scores may be hidden altogether, and a test along another dimension is another one.
// CHECK-LABEL: func.func @given
// CHECK: edge.where.self
func.func @given(%x: tensor<2x5xf32>, %zeros: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %1 = edge._softmax(%x) {dim = -1 : i64, half_to_float = false} : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %2 = edge.eq.Scalar(%x) {other = 0xFFF0000000000000 : f64} : (tensor<2x5xf32>) -> tensor<2x5xi1>
  %3 = edge.logical_not(%2) : (tensor<2x5xi1>) -> tensor<2x5xi1>
  %4 = edge.any.dim(%3) {dim = -1 : i64, keepdim = true} : (tensor<2x5xi1>) -> tensor<2x1xi1>
  %5 = edge.logical_not(%4) : (tensor<2x1xi1>) -> tensor<2x1xi1>
  %6 = edge.where.self(%5, %zeros, %1) : (tensor<2x1xi1>, tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  func.return %6 : tensor<2x5xf32>
}
