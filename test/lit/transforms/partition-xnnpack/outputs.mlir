// RUN: xir-opt %s --split-input-file --partition-xnnpack | filecheck %s

// What a subgraph yields must be the result of a node, and each once: a copy makes one of what is not. Here two ops
// do nothing inside a group of ops that do something.

// A value that is one of the subgraph's inputs does not go through it.
// CHECK-LABEL: func.func @argument(
// CHECK:         %[[R:.*]] = xnnpack.subgraph(%x)
// CHECK-NOT:     xnnpack.copy
// CHECK:         func.return %[[R]], %x
func.func @argument(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.clone(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Nor does one that an op gives on unchanged: the first output serves both.
// CHECK-LABEL: func.func @duplicate(
// CHECK:         %[[R:.*]] = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT:     xnnpack.copy
// CHECK:         func.return %[[R]], %[[R]]
func.func @duplicate(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.clone(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
