// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// Clamping to [7, 7] fills, clamping to [−∞, ∞] keeps.
// CHECK-LABEL: func.func @fill(
// CHECK:         %[[L:.*]] = xnnpack.constant dense<[7.000000e+00, 0xFF800000]> : tensor<2xf32>
// CHECK-NEXT:    %[[M:.*]] = xnnpack.binary maximum %{{.*}}, %[[L]]
// CHECK-NEXT:    %[[H:.*]] = xnnpack.constant dense<[7.000000e+00, 0x7F800000]> : tensor<2xf32>
// CHECK-NEXT:    xnnpack.binary minimum %[[M]], %[[H]]
func.func @fill(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %m = edge.constant dense<[true, false]> : tensor<2xi1>
  %0 = edge.masked_fill.Scalar(%x, %m) {value = 7 : i64} : (tensor<3x2xf32>, tensor<2xi1>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}

// -----

// −∞, as in an attention mask, takes one node.
// CHECK-LABEL: func.func @attention_mask(
// CHECK:         %[[H:.*]] = xnnpack.constant dense<[0xFF800000, 0x7F800000]> : tensor<2xf32>
// CHECK-NEXT:    %[[R:.*]] = xnnpack.binary minimum %{{.*}}, %[[H]]
// CHECK-NEXT:    xnnpack.yield %[[R]]
func.func @attention_mask(%x: tensor<2xf32>) -> tensor<2xf32> {
  %m = edge.constant dense<[true, false]> : tensor<2xi1>
  %v = edge.constant dense<0xFF800000> : tensor<f32>
  %0 = edge.masked_fill.Tensor(%x, %m, %v) : (tensor<2xf32>, tensor<2xi1>, tensor<f32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// Of two values each is zero where the other one is chosen.
// CHECK-LABEL: func.func @two_values(
// CHECK:         %[[A:.*]] = xnnpack.binary minimum
// CHECK:         %[[B:.*]] = xnnpack.binary minimum
// CHECK-NEXT:    xnnpack.binary add %[[A]], %[[B]]
func.func @two_values(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %m = edge.constant dense<[true, false]> : tensor<2xi1>
  %0 = edge.where.self(%m, %x, %y) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @condition_at_run_time(
// CHECK:         edge.where.self
func.func @condition_at_run_time(%m: tensor<2xi1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-remark @+1 {{edge.where.self not delegated: its condition is computed at run time, and XNNPACK has no booleans (choose by arithmetic}}
  %0 = edge.where.self(%m, %x, %x) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @mask_at_run_time(
// CHECK:         edge.masked_fill.Scalar
func.func @mask_at_run_time(%m: tensor<2xi1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-remark @+1 {{edge.masked_fill.Scalar not delegated: its mask is computed at run time}}
  %0 = edge.masked_fill.Scalar(%x, %m) {value = 1 : i64} : (tensor<2xf32>, tensor<2xi1>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// It is `where`, both sides of which may be computed.
// CHECK-LABEL: func.func @value_at_run_time(
// CHECK-NOT:     edge.masked_fill.Tensor
// CHECK:         xnnpack.binary add
func.func @value_at_run_time(%x: tensor<2xf32>, %v: tensor<f32>) -> tensor<2xf32> {
  %m = edge.constant dense<[true, false]> : tensor<2xi1>
  %0 = edge.masked_fill.Tensor(%x, %m, %v) : (tensor<2xf32>, tensor<2xi1>, tensor<f32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @triangle(
// CHECK:         %[[L:.*]] = xnnpack.constant dense<{{\[\[}}0xFF800000, 0.000000e+00], [0xFF800000, 0xFF800000]]> : tensor<2x2xf32>
// CHECK-NEXT:    %[[M:.*]] = xnnpack.binary maximum %{{.*}}, %[[L]]
// CHECK:         xnnpack.binary minimum %[[M]]
func.func @triangle(%x: tensor<3x2x2xf32>) -> tensor<3x2x2xf32> {
  %0 = edge.tril(%x) : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  func.return %0 : tensor<3x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @triu(
// CHECK:         xnnpack.binary maximum
// CHECK:         xnnpack.binary minimum
// CHECK-NEXT:    xnnpack.static_transpose
// CHECK-NEXT:    xnnpack.yield
func.func @triu(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.triu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// XNNPACK's extremes pass over a NaN.
// CHECK-LABEL: func.func @nan_filled(
// CHECK:         edge.where.self
func.func @nan_filled(%x: tensor<2xf32>) -> tensor<2xf32> {
  %m = edge.constant dense<[true, false]> : tensor<2xi1>
  %n = edge.constant dense<0x7FC00000> : tensor<f32>
  // expected-remark @+1 {{edge.where.self not delegated: it fills in NaN, which XNNPACK's minimum and maximum ignore}}
  %0 = edge.where.self(%m, %n, %x) : (tensor<2xi1>, tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
