// RUN: xir-opt %s --split-input-file --canonicalize | filecheck %s

// CHECK-LABEL: func.func @identity_transpose(
// CHECK:         ^bb0(%a: tensor<2x3xf32>):
// CHECK-NEXT:      %[[R:.*]] = xnnpack.unary abs %a : tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:      xnnpack.yield %[[R]] : tensor<2x3xf32>
func.func @identity_transpose(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 0, 1>} : tensor<2x3xf32> -> tensor<2x3xf32>
    %1 = xnnpack.unary abs %0 : tensor<2x3xf32> -> tensor<2x3xf32>
    xnnpack.yield %1 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @composed_transposes(
// CHECK:         ^bb0(%a: tensor<2x3x4xf32>):
// CHECK-NEXT:      %[[R:.*]] = xnnpack.static_transpose %a {perm = array<i32: 2, 0, 1>} : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT:      xnnpack.yield %[[R]] : tensor<4x2x3xf32>
func.func @composed_transposes(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  ^bb0(%a: tensor<2x3x4xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0, 2>} : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 2, 1, 0>} : tensor<3x2x4xf32> -> tensor<4x2x3xf32>
    xnnpack.yield %1 : tensor<4x2x3xf32>
  }
  func.return %y : tensor<4x2x3xf32>
}

// -----

// Two transposes that cancel go away both.
// CHECK-LABEL: func.func @cancelling_transposes(
// CHECK-NOT:     static_transpose
// CHECK:         xnnpack.unary abs %a : tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    xnnpack.yield
func.func @cancelling_transposes(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 1, 0>} : tensor<3x2xf32> -> tensor<2x3xf32>
    %2 = xnnpack.unary abs %1 : tensor<2x3xf32> -> tensor<2x3xf32>
    xnnpack.yield %2 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}

// -----

// The first of two transposes stays for its other user.
// CHECK-LABEL: func.func @shared_transpose(
// CHECK:         %[[A:.*]] = xnnpack.static_transpose %a {perm = array<i32: 1, 0, 2>}
// CHECK-NEXT:    %[[B:.*]] = xnnpack.static_transpose %a {perm = array<i32: 2, 0, 1>}
// CHECK-NEXT:    xnnpack.yield %[[A]], %[[B]]
func.func @shared_transpose(%x: tensor<2x3x4xf32>) -> (tensor<3x2x4xf32>, tensor<4x2x3xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<2x3x4xf32>) -> (tensor<3x2x4xf32>, tensor<4x2x3xf32>) {
  ^bb0(%a: tensor<2x3x4xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0, 2>} : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 2, 1, 0>} : tensor<3x2x4xf32> -> tensor<4x2x3xf32>
    xnnpack.yield %0, %1 : tensor<3x2x4xf32>, tensor<4x2x3xf32>
  }
  func.return %y#0, %y#1 : tensor<3x2x4xf32>, tensor<4x2x3xf32>
}

// -----

// Without its node the output would be an argument, which no subgraph may yield.
// CHECK-LABEL: func.func @yielded_identity(
// CHECK:         %[[R:.*]] = xnnpack.static_transpose %a {perm = array<i32: 0, 1>}
// CHECK-NEXT:    xnnpack.yield %[[R]]
func.func @yielded_identity(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 0, 1>} : tensor<2x3xf32> -> tensor<2x3xf32>
    xnnpack.yield %0 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}

// -----

// Nor may it yield one value twice.
// CHECK-LABEL: func.func @yielded_twice(
// CHECK:         %[[A:.*]] = xnnpack.unary abs %a
// CHECK-NEXT:    %[[B:.*]] = xnnpack.static_reshape %[[A]]
// CHECK-NEXT:    xnnpack.yield %[[A]], %[[B]]
func.func @yielded_twice(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = xnnpack.unary abs %a : tensor<2x3xf32> -> tensor<2x3xf32>
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 2, 3>} : tensor<2x3xf32> -> tensor<2x3xf32>
    xnnpack.yield %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
  }
  func.return %y#0, %y#1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @yielded_once(
// CHECK:         %[[A:.*]] = xnnpack.unary abs %a
// CHECK-NEXT:    xnnpack.yield %[[A]]
func.func @yielded_once(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = xnnpack.unary abs %a : tensor<2x3xf32> -> tensor<2x3xf32>
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 2, 3>} : tensor<2x3xf32> -> tensor<2x3xf32>
    xnnpack.yield %1 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @composed_reshapes(
// CHECK:         ^bb0
// CHECK-NEXT:      %[[R:.*]] = xnnpack.static_reshape %a {new_shape = array<i32: 3, 0>} : tensor<2x3x4xf32> -> tensor<3x8xf32>
// CHECK-NEXT:      xnnpack.yield %[[R]]
func.func @composed_reshapes(%x: tensor<2x3x4xf32>) -> tensor<3x8xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<2x3x4xf32>) -> tensor<3x8xf32> {
  ^bb0(%a: tensor<2x3x4xf32>):
    %0 = xnnpack.static_reshape %a {new_shape = array<i32: 24>} : tensor<2x3x4xf32> -> tensor<24xf32>
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 3, 0>} : tensor<24xf32> -> tensor<3x8xf32>
    xnnpack.yield %1 : tensor<3x8xf32>
  }
  func.return %y : tensor<3x8xf32>
}

// -----

// Two dimensions of unknown size need not be the same, so this reshape may do something.
// CHECK-LABEL: func.func @dynamic_reshape(
// CHECK:         xnnpack.static_reshape %a {new_shape = array<i32: 0, 4>}
func.func @dynamic_reshape(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    %0 = xnnpack.static_reshape %a {new_shape = array<i32: 0, 4>} : tensor<?x4xf32> -> tensor<?x4xf32>
    %1 = xnnpack.unary abs %0 : tensor<?x4xf32> -> tensor<?x4xf32>
    xnnpack.yield %1 : tensor<?x4xf32>
  }
  func.return %y : tensor<?x4xf32>
}

// -----

// A clamp without bounds does nothing; one with a bound does.
// CHECK-LABEL: func.func @clamps(
// CHECK:         %[[A:.*]] = xnnpack.unary abs %a
// CHECK-NEXT:    %[[R:.*]] = xnnpack.clamp %[[A]] {output_max = 1.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.yield %[[R]]
func.func @clamps(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.clamp %a : tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.unary abs %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.clamp %1 {output_max = 1.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %2 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// A conversion to the same type goes away; one to another type stays.
// CHECK-LABEL: func.func @converts(
// CHECK:         ^bb0
// CHECK-NEXT:      %[[R:.*]] = xnnpack.convert %a : tensor<4xf32> -> tensor<4xf16>
// CHECK-NEXT:      xnnpack.yield %[[R]]
func.func @converts(%x: tensor<4xf32>) -> tensor<4xf16> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf16> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.convert %a : tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.convert %0 : tensor<4xf32> -> tensor<4xf16>
    xnnpack.yield %1 : tensor<4xf16>
  }
  func.return %y : tensor<4xf16>
}

// -----

// A node that nobody reads is erased, and the constant that only it read.
// CHECK-LABEL: func.func @dead(
// CHECK:         ^bb0
// CHECK-NEXT:      %[[R:.*]] = xnnpack.unary abs %a
// CHECK-NEXT:      xnnpack.yield %[[R]]
func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %c = xnnpack.constant dense<1.0> : tensor<4xf32>
    %0 = xnnpack.binary add %a, %c : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %1 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
