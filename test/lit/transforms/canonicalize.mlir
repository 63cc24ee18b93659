// The driver; the rules themselves are tested with their dialects.
// RUN: xir-opt %s --canonicalize --allow-unregistered-dialect | filecheck %s
// RUN: xir-opt %s --canonicalize --allow-unregistered-dialect --mlir-print-debuginfo | filecheck %s --check-prefix=LOC

// A chain of dead ops goes from its end.
// CHECK-LABEL: func.func @dead
// CHECK-NEXT: func.return %x
func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.mul.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}

// CHECK-LABEL: func.func @effects
// CHECK-NEXT: "test.op"
func.func @effects(%x: i32) {
  %0 = "test.op"(%x) : (i32) -> i32
  func.return
}

// Rules apply until nothing changes, inside regions as well, and what they build is where the matched op was.
// CHECK-LABEL: func.func @rules
// CHECK: ^bb0(%a: tensor<4x6xf32>):
// CHECK-NEXT: %[[R:.*]] = xnnpack.static_reshape %a {new_shape = array<i32: 3, 8>}
// CHECK-NEXT: xnnpack.yield %[[R]]
// LOC: xnnpack.static_reshape %a {{.*}} loc("second")
func.func @rules(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4x6xf32>) -> tensor<3x8xf32> {
  ^bb0(%a: tensor<4x6xf32>):
    %dead = xnnpack.unary exp %a : tensor<4x6xf32> -> tensor<4x6xf32>
    %0 = xnnpack.static_reshape %a {new_shape = array<i32: 24>} : tensor<4x6xf32> -> tensor<24xf32> loc("first")
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 3, 8>} : tensor<24xf32> -> tensor<3x8xf32> loc("second")
    xnnpack.yield %1 : tensor<3x8xf32>
  }
  func.return %y : tensor<3x8xf32>
}
