// RUN: xir-opt %s --raise-grouped-query --split-input-file | filecheck %s

// As transformers repeats heads: a copy of what is expanded.
// CHECK-LABEL: func.func @repeated
// CHECK: edge.scaled_dot_product_attention(%q, %k, %v, none) {enable_gqa = true, scale = 5.000000e-01 : f64} :
// CHECK-NOT: edge.expand
func.func @repeated(%q: tensor<1x6x1x4xf32>, %k: tensor<1x2x7x4xf32>, %v: tensor<1x2x7x4xf32>) -> tensor<1x6x1x4xf32> {
  %0 = edge.unsqueeze(%k) {dim = 2 : i64} : (tensor<1x2x7x4xf32>) -> tensor<1x2x1x7x4xf32>
  %1 = edge.expand(%0) {size = array<i64: 1, 2, 3, 7, 4>} : (tensor<1x2x1x7x4xf32>) -> tensor<1x2x3x7x4xf32>
  %2 = edge.clone(%1) {memory_format = "contiguous_format"} : (tensor<1x2x3x7x4xf32>) -> tensor<1x2x3x7x4xf32>
  %3 = edge._unsafe_view(%2) {size = array<i64: 1, 6, 7, 4>} : (tensor<1x2x3x7x4xf32>) -> tensor<1x6x7x4xf32>
  %4 = edge.unsqueeze(%v) {dim = -3 : i64} : (tensor<1x2x7x4xf32>) -> tensor<1x2x1x7x4xf32>
  %5 = edge.expand(%4) {size = array<i64: 1, 2, 3, 7, 4>} : (tensor<1x2x1x7x4xf32>) -> tensor<1x2x3x7x4xf32>
  %6 = edge.view(%5) {size = array<i64: 1, -1, 7, 4>} : (tensor<1x2x3x7x4xf32>) -> tensor<1x6x7x4xf32>
  %7 = edge.scaled_dot_product_attention(%q, %3, %6, none) {scale = 0.5 : f64} : (tensor<1x6x1x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>) -> tensor<1x6x1x4xf32>
  func.return %7 : tensor<1x6x1x4xf32>
}

// -----

// All heads once, and again: no groups of neighbours.
// CHECK-LABEL: func.func @in_turn
// CHECK: edge.expand
// CHECK-NOT: enable_gqa
func.func @in_turn(%q: tensor<1x6x1x4xf32>, %k: tensor<1x2x7x4xf32>) -> tensor<1x6x1x4xf32> {
  %0 = edge.unsqueeze(%k) {dim = 1 : i64} : (tensor<1x2x7x4xf32>) -> tensor<1x1x2x7x4xf32>
  %1 = edge.expand(%0) {size = array<i64: 1, 3, 2, 7, 4>} : (tensor<1x1x2x7x4xf32>) -> tensor<1x3x2x7x4xf32>
  %2 = edge.view(%1) {size = array<i64: 1, 6, 7, 4>} : (tensor<1x3x2x7x4xf32>) -> tensor<1x6x7x4xf32>
  %3 = edge.scaled_dot_product_attention(%q, %2, %2, none) : (tensor<1x6x1x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>) -> tensor<1x6x1x4xf32>
  func.return %3 : tensor<1x6x1x4xf32>
}

// -----

// Values that have a head for each query head of their own.
// CHECK-LABEL: func.func @keys_alone
// CHECK: edge.expand
// CHECK-NOT: enable_gqa
func.func @keys_alone(%q: tensor<1x6x1x4xf32>, %k: tensor<1x2x7x4xf32>, %v: tensor<1x6x7x4xf32>) -> tensor<1x6x1x4xf32> {
  %0 = edge.unsqueeze(%k) {dim = 2 : i64} : (tensor<1x2x7x4xf32>) -> tensor<1x2x1x7x4xf32>
  %1 = edge.expand(%0) {size = array<i64: 1, 2, 3, 7, 4>} : (tensor<1x2x1x7x4xf32>) -> tensor<1x2x3x7x4xf32>
  %2 = edge.view(%1) {size = array<i64: 1, 6, 7, 4>} : (tensor<1x2x3x7x4xf32>) -> tensor<1x6x7x4xf32>
  %3 = edge.scaled_dot_product_attention(%q, %2, %v, none) : (tensor<1x6x1x4xf32>, tensor<1x6x7x4xf32>, tensor<1x6x7x4xf32>) -> tensor<1x6x1x4xf32>
  func.return %3 : tensor<1x6x1x4xf32>
}
