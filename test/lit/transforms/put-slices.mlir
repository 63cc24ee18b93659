// RUN: xir-opt %s --put-slices --split-input-file --verify-diagnostics | filecheck %s

// The values that torch has taken a dimension of 1 from, or that stand for several, in full.
// CHECK-LABEL:  func.func @in_full
// CHECK-NEXT:     %[[K:.*]] = edge.mutable_buffer "k" dense<0.000000e+00>
// CHECK-NEXT:     %[[A:.*]] = edge.index_put(%[[K]], [none, %at], %x) : (tensor<1x8x4xf32>, tensor<1xi64>, tensor<1x1x4xf32>)
// CHECK-NEXT:     %[[WIDE:.*]] = edge.expand(%one) {size = array<i64: 1, 1, 4>} : (tensor<1xf32>) -> tensor<1x1x4xf32>
// CHECK-NEXT:     %[[B:.*]] = edge.index_put(%[[A]], [none, %at], %[[WIDE]])
// CHECK-NEXT:     edge.update_buffer %[[K]], %[[B]] : tensor<1x8x4xf32>
func.func @in_full(%x: tensor<1x1x4xf32>, %one: tensor<1xf32>, %at: tensor<1xi64>) {
  %k = edge.mutable_buffer "k" dense<0.0> : tensor<1x8x4xf32>
  %0 = edge.view(%x) {size = array<i64: 1, 4>} : (tensor<1x1x4xf32>) -> tensor<1x4xf32>
  %1 = edge.index_put(%k, [none, %at], %0) : (tensor<1x8x4xf32>, tensor<1xi64>, tensor<1x4xf32>) -> tensor<1x8x4xf32>
  %2 = edge.index_put(%1, [none, %at], %one) : (tensor<1x8x4xf32>, tensor<1xi64>, tensor<1xf32>) -> tensor<1x8x4xf32>
  edge.update_buffer %k, %2 : tensor<1x8x4xf32>
  func.return
}

// -----

// Known bounds are positions, also from the end and in steps.
// CHECK-LABEL:  func.func @bounds
// CHECK:          %[[FIRST:.*]] = edge.constant dense<[6, 7]> : tensor<2xi64>
// CHECK-NEXT:     %[[A:.*]] = edge.index_put(%{{.*}}, [none, %[[FIRST]]], %x) : (tensor<3x8xf32>, tensor<2xi64>, tensor<3x2xf32>)
// CHECK-NEXT:     %[[SECOND:.*]] = edge.constant dense<[0, 2]> : tensor<2xi64>
// CHECK-NEXT:     %[[B:.*]] = edge.index_put(%[[A]], [%[[SECOND]]], %y) : (tensor<3x8xf32>, tensor<2xi64>, tensor<2x8xf32>)
// CHECK-NEXT:     %[[ROW:.*]] = edge.unsqueeze(%z) {dim = 0 : i64} : (tensor<8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:     %[[LAST:.*]] = edge.constant dense<2> : tensor<1xi64>
// CHECK-NEXT:     edge.index_put(%[[B]], [%[[LAST]]], %[[ROW]])
func.func @bounds(%x: tensor<3x2xf32>, %y: tensor<2x8xf32>, %z: tensor<8xf32>) {
  %k = edge.mutable_buffer "k" dense<0.0> : tensor<3x8xf32>
  %0 = edge.slice_scatter(%k, %x) {dim = 1 : i64, start = -2 : i64} : (tensor<3x8xf32>, tensor<3x2xf32>) -> tensor<3x8xf32>
  %1 = edge.slice_scatter(%0, %y) {step = 2 : i64} : (tensor<3x8xf32>, tensor<2x8xf32>) -> tensor<3x8xf32>
  %2 = edge.select_scatter(%1, %z) {dim = 0 : i64, index = -1 : i64} : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  edge.update_buffer %k, %2 : tensor<3x8xf32>
  func.return
}

// -----

// What is no write to a buffer stays, and so do sums, masks, several vectors and bounds that are not known.
// CHECK-LABEL:  func.func @left
// CHECK-NOT:      edge.constant
// CHECK:          edge.slice_scatter(%y, %x)
// CHECK-NEXT:     edge.index_put(%{{.*}}, [none, %at], %row) {accumulate = true}
// CHECK-NEXT:     edge.index_put(%{{.*}}, [none, %mask], %one)
// CHECK-NEXT:     edge.index_put(%{{.*}}, [%at, %at], %one)
// CHECK-NEXT:     edge.slice_scatter(%{{.*}}, %x)
func.func @left(%x: tensor<3x2xf32>, %y: tensor<3x8xf32>, %row: tensor<1xf32>, %one: tensor<1xf32>, %at: tensor<1xi64>, %mask: tensor<8xi1>, %end: i64) -> tensor<3x8xf32> {
  %k = edge.mutable_buffer "k" dense<0.0> : tensor<3x8xf32>
  %0 = edge.slice_scatter(%y, %x) {dim = 1 : i64, start = 6 : i64} : (tensor<3x8xf32>, tensor<3x2xf32>) -> tensor<3x8xf32>
  %1 = edge.index_put(%k, [none, %at], %row) {accumulate = true} : (tensor<3x8xf32>, tensor<1xi64>, tensor<1xf32>) -> tensor<3x8xf32>
  %2 = edge.index_put(%1, [none, %mask], %one) : (tensor<3x8xf32>, tensor<8xi1>, tensor<1xf32>) -> tensor<3x8xf32>
  %3 = edge.index_put(%2, [%at, %at], %one) : (tensor<3x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xf32>) -> tensor<3x8xf32>
  %4 = edge.slice_scatter(%3, %x)[%end] {dim = 1 : i64, start = 6 : i64, end = -9223372036854775808 : i64} : (tensor<3x8xf32>, tensor<3x2xf32>, i64) -> tensor<3x8xf32>
  edge.update_buffer %k, %4 : tensor<3x8xf32>
  func.return %0 : tensor<3x8xf32>
}
