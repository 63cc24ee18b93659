// Names survive, also those that end in a number; regions isolated from above start anew.
// RUN: xir-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: xir-opt %s --allow-unregistered-dialect | xir-opt --allow-unregistered-dialect | filecheck %s

// CHECK-LABEL: func.func @names(%x_1: i32)
func.func @names(%x_1: i32) -> i32 {
  // CHECK-NEXT: %conv_2 = "test.op"(%x_1)
  %conv_2 = "test.op"(%x_1) : (i32) -> i32
  // CHECK-NEXT: %conv = "test.op"(%conv_2)
  %conv = "test.op"(%conv_2) : (i32) -> i32
  // CHECK-NEXT: %conv_1 = "test.op"(%conv)
  %conv_1 = "test.op"(%conv) : (i32) -> i32
  // CHECK-NEXT: %pair, %pair_0 = "test.op"() : () -> (i32, i32)
  %pair:2 = "test.op"() : () -> (i32, i32)
  // CHECK-NEXT: %0 = "test.op"(%pair_0)
  %0 = "test.op"(%pair#1) : (i32) -> i32
  // CHECK-NEXT: func.return %conv_1
  func.return %conv_1 : i32
}

// CHECK-LABEL: func.func @outer(%x: tensor<4xf32>)
func.func @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %y = xnnpack.subgraph(%x)
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    %y = xnnpack.unary abs %x : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %y : tensor<4xf32>
  }
  // CHECK: func.return %y
  func.return %y : tensor<4xf32>
}
