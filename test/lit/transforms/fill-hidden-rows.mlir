// RUN: xir-opt %s --fill-hidden-rows --split-input-file | filecheck %s

// CHECK-LABEL: func.func @hidden_again
// CHECK: %[[FILLED:.*]] = edge.masked_fill.Scalar(%x, %m) {value = -3.4028234663852886e+38 : f64}
// CHECK-NEXT: %[[SOFT:.*]] = edge._softmax(%[[FILLED]])
// CHECK-NEXT: edge.masked_fill.Scalar(%[[SOFT]], %m) {value = 0 : i64}
func.func @hidden_again(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %m = edge.constant dense<[[true, true, true], [false, true, false]]> : tensor<2x3xi1>
  %0 = edge.masked_fill.Scalar(%x, %m) {value = 0xFFF0000000000000 : f64} : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<2x3xf32>
  %1 = edge._softmax(%0) {dim = -1 : i64, half_to_float = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.masked_fill.Scalar(%1, %m) {value = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// -----

// The program gives NaN for such a row, and goes on doing so.
// CHECK-LABEL: func.func @returned
// CHECK: edge.masked_fill.Scalar(%x, %m) {value = 0xFFF0000000000000 : f64}
func.func @returned(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %m = edge.constant dense<[[true, true, true], [false, true, false]]> : tensor<2x3xi1>
  %0 = edge.masked_fill.Scalar(%x, %m) {value = 0xFFF0000000000000 : f64} : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<2x3xf32>
  %1 = edge._softmax(%0) {dim = -1 : i64, half_to_float = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.masked_fill.Scalar(%1, %m) {value = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<2x3xf32>
  func.return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// The second mask leaves one number of the hidden row.
// CHECK-LABEL: func.func @in_part
// CHECK: edge.masked_fill.Scalar(%x, %m) {value = 0xFFF0000000000000 : f64}
func.func @in_part(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %m = edge.constant dense<[[true, true, true], [false, true, false]]> : tensor<2x3xi1>
  %n = edge.constant dense<[true, true, false]> : tensor<3xi1>
  %0 = edge.masked_fill.Scalar(%x, %m) {value = 0xFFF0000000000000 : f64} : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<2x3xf32>
  %1 = edge._softmax(%0) {dim = -1 : i64, half_to_float = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.masked_fill.Scalar(%1, %n) {value = 0 : i64} : (tensor<2x3xf32>, tensor<3xi1>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// -----

// No row is hidden throughout: nothing has to change.
// CHECK-LABEL: func.func @shown
// CHECK: edge.masked_fill.Scalar(%x, %m) {value = 0xFFF0000000000000 : f64}
func.func @shown(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %m = edge.constant dense<[false, true, false]> : tensor<3xi1>
  %0 = edge.masked_fill.Scalar(%x, %m) {value = 0xFFF0000000000000 : f64} : (tensor<2x3xf32>, tensor<3xi1>) -> tensor<2x3xf32>
  %1 = edge._softmax(%0) {dim = -1 : i64, half_to_float = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.masked_fill.Scalar(%1, %m) {value = 0 : i64} : (tensor<2x3xf32>, tensor<3xi1>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
