// RUN: xir-opt %s --cse --allow-unregistered-dialect | filecheck %s
// RUN: xir-opt %s --pass-pipeline='cse{delegates=false}' --allow-unregistered-dialect | filecheck %s --check-prefix=OUTSIDE

// CHECK-LABEL: func.func @equal
func.func @equal(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %0 = edge.relu(%x)
  // CHECK-NEXT: %1 = edge.mul.Tensor(%0, %0)
  // CHECK-NEXT: func.return
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.mul.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// Equal after their operands became equal.
// CHECK-LABEL: func.func @chains
func.func @chains(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: edge.relu
  // CHECK-NEXT: %[[B:.*]] = edge.exp
  // CHECK-NEXT: func.return %[[B]], %[[B]]
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.exp(%2) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// Other properties, other constants: other ops.
// CHECK-LABEL: func.func @different
func.func @different(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<1xf32>, tensor<1xf32>) {
  // CHECK-NEXT: dims = array<i64: 1, 0>
  // CHECK-NEXT: dims = array<i64: 0, 1>
  // CHECK-NEXT: edge.constant dense<1.000000e+00>
  // CHECK-NEXT: edge.constant dense<2.000000e+00>
  %0 = edge.permute(%x) {dims = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = edge.permute(%x) {dims = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = edge.constant dense<1.0> : tensor<1xf32>
  %3 = edge.constant dense<2.0> : tensor<1xf32>
  func.return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<1xf32>, tensor<1xf32>
}

// An op of unknown effect happens as often as it is written.
// CHECK-LABEL: func.func @effects
func.func @effects(%x: i32) -> (i32, i32) {
  // CHECK-COUNT-2: "test.op"(%x)
  %0 = "test.op"(%x) : (i32) -> i32
  %1 = "test.op"(%x) : (i32) -> i32
  func.return %0, %1 : i32, i32
}

// One branch does not see the other's, what follows does not see either's, and both see what came before.
// CHECK-LABEL: func.func @branches
func.func @branches(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[BEFORE:.*]] = edge.relu(%x)
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  "test.br"() [^a, ^b] : () -> ()
^a:
  // CHECK: ^a:
  // CHECK-NEXT: %[[A:.*]] = edge.exp(%[[BEFORE]])
  // CHECK-NEXT: "test.use"(%[[A]])
  %1 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.exp(%1) : (tensor<4xf32>) -> tensor<4xf32>
  "test.use"(%2) : (tensor<4xf32>) -> ()
  "test.br"() [^join] : () -> ()
^b:
  // CHECK: ^b:
  // CHECK-NEXT: edge.exp(%[[BEFORE]])
  %3 = edge.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  "test.use"(%3) : (tensor<4xf32>) -> ()
  "test.br"() [^join] : () -> ()
^join:
  // CHECK: ^join:
  // CHECK-NEXT: edge.exp(%[[BEFORE]])
  %4 = edge.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %4 : tensor<4xf32>
}

// A delegate's graph is left alone if that is asked for, what stands beside it is not.
// CHECK-LABEL: func.func @delegate
// OUTSIDE-LABEL: func.func @delegate
func.func @delegate(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK:     edge.relu
  // CHECK-NOT: edge.relu
  // OUTSIDE:     edge.relu
  // OUTSIDE-NOT: edge.relu
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = xnnpack.subgraph(%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // CHECK:     xnnpack.unary abs
    // CHECK-NOT: xnnpack.unary abs
    // OUTSIDE:      xnnpack.unary abs
    // OUTSIDE-NEXT: xnnpack.unary abs
    %b = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    %c = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    %d = xnnpack.binary add %b, %c : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %d : tensor<4xf32>
  }
  func.return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
