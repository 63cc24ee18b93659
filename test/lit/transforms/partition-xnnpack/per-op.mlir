// RUN: xir-opt %s --partition-xnnpack='per-op' | filecheck %s
// RUN: xir-opt %s --partition-xnnpack='per-op min-ops=2' | filecheck %s --check-prefix=SMALL

// A subgraph for each op, also for one that only moves data, in the order of the program.
// CHECK:      xnnpack.subgraph
// CHECK:        xnnpack.unary abs
// CHECK-NEXT:   xnnpack.yield
// CHECK:      edge.cumsum
// CHECK:      xnnpack.subgraph
// CHECK:        xnnpack.static_reshape
// CHECK-NEXT:   xnnpack.yield
// CHECK:      xnnpack.subgraph
// CHECK:        xnnpack.unary sigmoid
// CHECK-NEXT:   xnnpack.binary multiply
// CHECK-NEXT:   xnnpack.yield

// SMALL:      edge.abs
// SMALL-SAME: its group of 1 nodes is smaller than min-ops=2
// SMALL:      xnnpack.subgraph
// SMALL:        xnnpack.binary multiply
func.func @f(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.view(%1) {size = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
  %3 = edge.silu(%2) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %3 : tensor<2x2xf32>
}
