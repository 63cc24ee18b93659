// RUN: xir-opt %s --split-input-file --separate-packed-constants | filecheck %s

// A bias that a product reads as well, and a filter that is another node's input.
// CHECK-LABEL: func.func @both(
// CHECK:           %[[D:.*]] = xnnpack.constant dense<3.000000e+00> : tensor<4xf32>
// CHECK-NEXT:      %[[B:.*]] = xnnpack.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT:      %[[C:.*]] = xnnpack.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT:      %[[W:.*]] = xnnpack.constant dense<2.000000e+00> : tensor<4x4xf32>
// CHECK-NEXT:      %[[V:.*]] = xnnpack.constant dense<2.000000e+00> : tensor<4x4xf32>
// CHECK-NEXT:      %[[Y:.*]] = xnnpack.fully_connected %a, %[[W]], %[[B]]
// CHECK-NEXT:      %[[M:.*]] = xnnpack.binary multiply %[[Y]], %[[C]]
// CHECK-NEXT:      %[[Z:.*]] = xnnpack.binary add %[[M]], %[[D]]
// CHECK-NEXT:      %[[U:.*]] = xnnpack.fully_connected %[[V]], %[[W]], %[[B]]
// CHECK-NEXT:      xnnpack.yield %[[Z]], %[[U]]
func.func @both(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>) {
  %z:2 = xnnpack.subgraph(%x) : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>) {
  ^bb0(%a: tensor<2x4xf32>):
    %d = xnnpack.constant dense<3.0> : tensor<4xf32>
    %b = xnnpack.constant dense<1.0> : tensor<4xf32>
    %w = xnnpack.constant dense<2.0> : tensor<4x4xf32>
    %0 = xnnpack.fully_connected %a, %w, %b : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %1 = xnnpack.binary multiply %0, %b : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
    %2 = xnnpack.binary add %1, %d : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
    %3 = xnnpack.fully_connected %w, %w, %b : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    xnnpack.yield %2, %3 : tensor<2x4xf32>, tensor<4x4xf32>
  }
  func.return %z#0, %z#1 : tensor<2x4xf32>, tensor<4x4xf32>
}

// -----

// What all nodes pack, or none does, stays one value.
// CHECK-LABEL: func.func @alike(
// CHECK-COUNT-3:   xnnpack.constant
// CHECK-NOT:       xnnpack.constant
// CHECK:           xnnpack.yield
func.func @alike(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>):
    %b = xnnpack.constant dense<1.0> : tensor<4xf32>
    %w = xnnpack.constant dense<2.0> : tensor<4x4xf32>
    %c = xnnpack.constant dense<3.0> : tensor<4xf32>
    %0 = xnnpack.fully_connected %a, %w, %b : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %1 = xnnpack.fully_connected %0, %w, %b : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %2 = xnnpack.binary multiply %1, %c : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
    %3 = xnnpack.binary add %2, %c : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
    xnnpack.yield %3 : tensor<2x4xf32>
  }
  func.return %z : tensor<2x4xf32>
}
