// RUN: xir-opt %s --split-input-file --partition-xnnpack='min-ops=2' | filecheck %s

// CHECK-LABEL: func.func @too_small(
// CHECK-NEXT:    %[[R:.*]] = edge.abs(%x) {xir.reason = "its group of 1 nodes is smaller than min-ops=2"}
// CHECK-NEXT:    func.return %[[R]]
func.func @too_small(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// Constants are no nodes: this is one addition.
// CHECK-LABEL: func.func @one_node(
// CHECK-NOT:     xnnpack
func.func @one_node(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.add.Scalar(%x) {other = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// One op may be several nodes.
// CHECK-LABEL: func.func @two_nodes(
// CHECK:         xnnpack.subgraph
// CHECK:           xnnpack.unary sigmoid
// CHECK-NEXT:      xnnpack.binary multiply
func.func @two_nodes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.silu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// The small group stays outside, the large one does not.
// CHECK-LABEL: func.func @one_of_two(
// CHECK-NEXT:    edge.abs(%x) {xir.reason = "its group of 1 nodes is smaller than min-ops=2"}
// CHECK-NEXT:    edge.cumsum
// CHECK-NEXT:    xnnpack.subgraph
func.func @one_of_two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.exp(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.abs(%2) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
