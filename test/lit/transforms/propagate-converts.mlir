// RUN: xir-opt --propagate-converts --split-input-file %s | filecheck %s

// A value that is rounded and widened again stays as it was, where no program asked for the rounding.
// CHECK-LABEL: func.func @meet(
// CHECK:         [[Y:%.+]] = xnnpack.unary abs
// CHECK-NEXT:    [[Z:%.+]] = xnnpack.unary tanh [[Y]] : tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    xnnpack.yield [[Z]]
func.func @meet(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    %1 = xnnpack.unary abs %a : tensor<2xf32> -> tensor<2xf32>
    %2 = xnnpack.convert %1 {xir.unasked} : tensor<2xf32> -> tensor<2xbf16>
    %3 = xnnpack.convert %2 : tensor<2xbf16> -> tensor<2xf32>
    %4 = xnnpack.unary tanh %3 : tensor<2xf32> -> tensor<2xf32>
    xnnpack.yield %4 : tensor<2xf32>
  }
  func.return %0 : tensor<2xf32>
}

// -----

// Also across nodes that move elements, with their constants.
// CHECK-LABEL: func.func @across_moves(
// CHECK:         [[T:%.+]] = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
// CHECK-NEXT:    [[W:%.+]] = xnnpack.constant dense<1.500000e+00> : tensor<3x1xf32>
// CHECK-NEXT:    [[J:%.+]] = xnnpack.concatenate [[T]], [[W]] {axis = 1 : i32} : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
// CHECK-NEXT:    [[Z:%.+]] = xnnpack.unary tanh [[J]]
// CHECK-NEXT:    xnnpack.yield [[Z]]
func.func @across_moves(%x: tensor<2x3xf32>) -> tensor<3x3xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> tensor<3x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %c = xnnpack.constant dense<1.5> : tensor<3x1xf16>
    %1 = xnnpack.convert %a {xir.unasked} : tensor<2x3xf32> -> tensor<2x3xf16>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 1, 0>} : tensor<2x3xf16> -> tensor<3x2xf16>
    %3 = xnnpack.concatenate %2, %c {axis = 1 : i32} : (tensor<3x2xf16>, tensor<3x1xf16>) -> tensor<3x3xf16>
    %4 = xnnpack.convert %3 : tensor<3x3xf16> -> tensor<3x3xf32>
    %5 = xnnpack.unary tanh %4 : tensor<3x3xf32> -> tensor<3x3xf32>
    xnnpack.yield %5 : tensor<3x3xf32>
  }
  func.return %0 : tensor<3x3xf32>
}

// -----

// Who wants the short type still gets it.
// CHECK-LABEL: func.func @both(
// CHECK:         [[S:%.+]] = xnnpack.convert %a {xir.unasked} : tensor<2xf32> -> tensor<2xbf16>
// CHECK-NEXT:    [[Z:%.+]] = xnnpack.unary tanh %a : tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    xnnpack.yield [[S]], [[Z]]
func.func @both(%x: tensor<2xf32>) -> (tensor<2xbf16>, tensor<2xf32>) {
  %0:2 = xnnpack.subgraph(%x) : (tensor<2xf32>) -> (tensor<2xbf16>, tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>):
    %1 = xnnpack.convert %a {xir.unasked} : tensor<2xf32> -> tensor<2xbf16>
    %2 = xnnpack.convert %1 : tensor<2xbf16> -> tensor<2xf32>
    %3 = xnnpack.unary tanh %2 : tensor<2xf32> -> tensor<2xf32>
    xnnpack.yield %1, %3 : tensor<2xbf16>, tensor<2xf32>
  }
  func.return %0#0, %0#1 : tensor<2xbf16>, tensor<2xf32>
}

// -----

// What computes on the short type keeps it, and a move for that alone does not change.
// CHECK-LABEL: func.func @short(
// CHECK:         [[S:%.+]] = xnnpack.convert %a {xir.unasked} : tensor<2x3xf32> -> tensor<2x3xf16>
// CHECK-NEXT:    [[T:%.+]] = xnnpack.static_transpose [[S]] {{.*}} : tensor<2x3xf16> -> tensor<3x2xf16>
// CHECK-NEXT:    [[Y:%.+]] = xnnpack.unary tanh [[T]] : tensor<3x2xf16> -> tensor<3x2xf16>
// CHECK-NEXT:    [[Z:%.+]] = xnnpack.convert [[Y]] : tensor<3x2xf16> -> tensor<3x2xf32>
// CHECK-NEXT:    xnnpack.yield [[Z]]
func.func @short(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %1 = xnnpack.convert %a {xir.unasked} : tensor<2x3xf32> -> tensor<2x3xf16>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 1, 0>} : tensor<2x3xf16> -> tensor<3x2xf16>
    %3 = xnnpack.unary tanh %2 : tensor<3x2xf16> -> tensor<3x2xf16>
    %4 = xnnpack.convert %3 : tensor<3x2xf16> -> tensor<3x2xf32>
    xnnpack.yield %4 : tensor<3x2xf32>
  }
  func.return %0 : tensor<3x2xf32>
}

// -----

// A conversion to integers rounds for good.
// CHECK-LABEL: func.func @integers(
// CHECK-COUNT-2: xnnpack.convert
func.func @integers(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    %1 = xnnpack.convert %a : tensor<2xf32> -> tensor<2xi32>
    %2 = xnnpack.convert %1 : tensor<2xi32> -> tensor<2xf32>
    xnnpack.yield %2 : tensor<2xf32>
  }
  func.return %0 : tensor<2xf32>
}

// -----

// What the program asks to be rounded, is.
// CHECK-LABEL: func.func @asked(
// CHECK:         [[S:%.+]] = xnnpack.convert %a : tensor<2x3xf32> -> tensor<2x3xf16>
// CHECK-NEXT:    [[T:%.+]] = xnnpack.static_transpose [[S]]
// CHECK-NEXT:    xnnpack.convert [[T]] : tensor<3x2xf16> -> tensor<3x2xf32>
func.func @asked(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %1 = xnnpack.convert %a : tensor<2x3xf32> -> tensor<2x3xf16>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 1, 0>} : tensor<2x3xf16> -> tensor<3x2xf16>
    %3 = xnnpack.convert %2 : tensor<3x2xf16> -> tensor<3x2xf32>
    %4 = xnnpack.unary tanh %3 : tensor<3x2xf32> -> tensor<3x2xf32>
    xnnpack.yield %4 : tensor<3x2xf32>
  }
  func.return %0 : tensor<3x2xf32>
}

// -----

// What is left of an output is an operand of the subgraph, or another output: it is copied.
// CHECK-LABEL: func.func @outputs(
// CHECK:         [[Y:%.+]] = xnnpack.unary abs %a
// CHECK-NEXT:    [[C:%.+]] = xnnpack.copy %a
// CHECK-NEXT:    [[D:%.+]] = xnnpack.copy [[Y]]
// CHECK-NEXT:    xnnpack.yield [[C]], [[Y]], [[D]]
func.func @outputs(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0:3 = xnnpack.subgraph(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>):
    %1 = xnnpack.convert %a {xir.unasked} : tensor<2xf32> -> tensor<2xf16>
    %2 = xnnpack.convert %1 : tensor<2xf16> -> tensor<2xf32>
    %3 = xnnpack.unary abs %2 : tensor<2xf32> -> tensor<2xf32>
    %4 = xnnpack.convert %3 {xir.unasked} : tensor<2xf32> -> tensor<2xf16>
    %5 = xnnpack.convert %4 : tensor<2xf16> -> tensor<2xf32>
    xnnpack.yield %2, %3, %5 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  func.return %0#0, %0#1, %0#2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
