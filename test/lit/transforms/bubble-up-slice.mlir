// RUN: xir-opt --bubble-up-slice --split-input-file %s | filecheck %s

// A transformer's tail for one token: the slice moves above the elementwise op, the projection and the moves.
// CHECK-LABEL: func.func @tail
func.func @tail(%x: tensor<5x4xf32>) -> tensor<1x1x6xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<5x4xf32>) -> tensor<1x1x6xf32> {
  ^bb0(%a: tensor<5x4xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<6x4xf32>
    %1 = xnnpack.fully_connected %a, %w : (tensor<5x4xf32>, tensor<6x4xf32>) -> tensor<5x6xf32>
    %2 = xnnpack.unary gelu %1 : tensor<5x6xf32> -> tensor<5x6xf32>
    %3 = xnnpack.static_reshape %2 {new_shape = array<i32: 5, 1, 2, 3>} : tensor<5x6xf32> -> tensor<5x1x2x3xf32>
    %4 = xnnpack.static_transpose %3 {perm = array<i32: 1, 0, 2, 3>} : tensor<5x1x2x3xf32> -> tensor<1x5x2x3xf32>
    %5 = xnnpack.static_reshape %4 {new_shape = array<i32: 1, 5, 6>} : tensor<1x5x2x3xf32> -> tensor<1x5x6xf32>
    %6 = xnnpack.static_slice %5 {offsets = array<i32: 0, 2, 0>, sizes = array<i32: 1, 1, 6>}
         : tensor<1x5x6xf32> -> tensor<1x1x6xf32>
    xnnpack.yield %6 : tensor<1x1x6xf32>
  }
  func.return %0 : tensor<1x1x6xf32>
}
// CHECK:      [[S:%.+]] = xnnpack.static_slice %a {offsets = array<i32: 2, 0>, sizes = array<i32: 1, 4>} : tensor<5x4xf32> -> tensor<1x4xf32>
// CHECK-NEXT: [[F:%.+]] = xnnpack.fully_connected [[S]], %w : (tensor<1x4xf32>, tensor<6x4xf32>) -> tensor<1x6xf32>
// CHECK-NEXT: [[G:%.+]] = xnnpack.unary gelu [[F]]
// CHECK-NEXT: [[R:%.+]] = xnnpack.static_reshape [[G]] {new_shape = array<i32: 1, 1, 2, 3>}
// CHECK-NEXT: [[T:%.+]] = xnnpack.static_transpose [[R]] {perm = array<i32: 1, 0, 2, 3>} : tensor<1x1x2x3xf32> -> tensor<1x1x2x3xf32>
// CHECK-NEXT: [[Y:%.+]] = xnnpack.static_reshape [[T]] {new_shape = array<i32: 1, 1, 6>}
// CHECK-NEXT: xnnpack.yield [[Y]]

// -----

// Attention for one of the queries: rows of the left matrices, the right ones whole; a broadcast batch stays.
// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x5x4xf32>, %k: tensor<1x7x4xf32>, %v: tensor<2x7x3xf32>) -> tensor<2x1x3xf32> {
  %0 = xnnpack.subgraph(%q, %k, %v) : (tensor<2x5x4xf32>, tensor<1x7x4xf32>, tensor<2x7x3xf32>) -> tensor<2x1x3xf32> {
  ^bb0(%a: tensor<2x5x4xf32>, %b: tensor<1x7x4xf32>, %c: tensor<2x7x3xf32>):
    %1 = xnnpack.batch_matrix_multiply %a, %b {transpose_b} : (tensor<2x5x4xf32>, tensor<1x7x4xf32>) -> tensor<2x5x7xf32>
    %2 = xnnpack.softmax %1 : tensor<2x5x7xf32> -> tensor<2x5x7xf32>
    %3 = xnnpack.batch_matrix_multiply %2, %c : (tensor<2x5x7xf32>, tensor<2x7x3xf32>) -> tensor<2x5x3xf32>
    %4 = xnnpack.static_slice %3 {offsets = array<i32: 0, 4, 0>, sizes = array<i32: 2, 1, 3>}
         : tensor<2x5x3xf32> -> tensor<2x1x3xf32>
    xnnpack.yield %4 : tensor<2x1x3xf32>
  }
  func.return %0 : tensor<2x1x3xf32>
}
// CHECK:      [[S:%.+]] = xnnpack.static_slice %a {offsets = array<i32: 0, 4, 0>, sizes = array<i32: 2, 1, 4>}
// CHECK-NEXT: [[M:%.+]] = xnnpack.batch_matrix_multiply [[S]], %b {transpose_b} : (tensor<2x1x4xf32>, tensor<1x7x4xf32>) -> tensor<2x1x7xf32>
// CHECK-NEXT: [[P:%.+]] = xnnpack.softmax [[M]] : tensor<2x1x7xf32> -> tensor<2x1x7xf32>
// CHECK-NEXT: [[Y:%.+]] = xnnpack.batch_matrix_multiply [[P]], %c : (tensor<2x1x7xf32>, tensor<2x7x3xf32>) -> tensor<2x1x3xf32>
// CHECK-NEXT: xnnpack.yield [[Y]]

// -----

// Both operands are cut, a constant at once; what is broadcast stays as it is. Equal slices are one to what they use.
// CHECK-LABEL: func.func @operands
func.func @operands(%x: tensor<4x3xf32>, %y: tensor<4x1xf32>) -> tensor<1x3xf32> {
  %0 = xnnpack.subgraph(%x, %y) : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<1x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x1xf32>):
    %c = xnnpack.constant dense<[[1., 2., 3.], [4., 5., 6.], [7., 8., 9.], [10., 11., 12.]]> : tensor<4x3xf32>
    %d = xnnpack.constant dense<[1., 2., 3.]> : tensor<3xf32>
    %1 = xnnpack.binary add %a, %b : tensor<4x3xf32>, tensor<4x1xf32> -> tensor<4x3xf32>
    %2 = xnnpack.binary multiply %1, %c : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
    %3 = xnnpack.binary subtract %2, %d : tensor<4x3xf32>, tensor<3xf32> -> tensor<4x3xf32>
    %4 = xnnpack.static_slice %3 {offsets = array<i32: 1, 0>, sizes = array<i32: 1, 3>} : tensor<4x3xf32> -> tensor<1x3xf32>
    %5 = xnnpack.static_slice %3 {offsets = array<i32: 1, 0>, sizes = array<i32: 1, 3>} : tensor<4x3xf32> -> tensor<1x3xf32>
    %6 = xnnpack.binary divide %4, %5 : tensor<1x3xf32>, tensor<1x3xf32> -> tensor<1x3xf32>
    xnnpack.yield %6 : tensor<1x3xf32>
  }
  func.return %0 : tensor<1x3xf32>
}
// CHECK:      [[A:%.+]] = xnnpack.static_slice %a {offsets = array<i32: 1, 0>, sizes = array<i32: 1, 3>}
// CHECK-NEXT: [[B:%.+]] = xnnpack.static_slice %b {offsets = array<i32: 1, 0>, sizes = array<i32: 1, 1>}
// CHECK-NEXT: [[S:%.+]] = xnnpack.binary add [[A]], [[B]] : tensor<1x3xf32>, tensor<1x1xf32> -> tensor<1x3xf32>
// CHECK-NEXT: [[C:%.+]] = xnnpack.constant dense<{{\[\[}}4.000000e+00, 5.000000e+00, 6.000000e+00]]> : tensor<1x3xf32>
// CHECK:      [[P:%.+]] = xnnpack.binary multiply [[S]], [[C]] : tensor<1x3xf32>, tensor<1x3xf32> -> tensor<1x3xf32>
// CHECK:      [[D:%.+]] = xnnpack.binary subtract [[P]], %d : tensor<1x3xf32>, tensor<3xf32> -> tensor<1x3xf32>
// CHECK-NEXT: xnnpack.binary divide [[D]], [[D]]

// -----

// What the slice cannot pass: a normalised row, a projection's columns, dimensions that a reshape cuts across.
// CHECK-LABEL: func.func @mixed
func.func @mixed(%x: tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<2x2xf32>) {
  %0:3 = xnnpack.subgraph(%x) : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<2x2xf32>) {
  ^bb0(%a: tensor<4x6xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<3x6xf32>
    %1 = xnnpack.softmax %a : tensor<4x6xf32> -> tensor<4x6xf32>
    %2 = xnnpack.static_slice %1 {offsets = array<i32: 0, 0>, sizes = array<i32: 4, 2>} : tensor<4x6xf32> -> tensor<4x2xf32>
    %3 = xnnpack.fully_connected %a, %w : (tensor<4x6xf32>, tensor<3x6xf32>) -> tensor<4x3xf32>
    %4 = xnnpack.static_slice %3 {offsets = array<i32: 0, 0>, sizes = array<i32: 4, 2>} : tensor<4x3xf32> -> tensor<4x2xf32>
    %5 = xnnpack.static_reshape %a {new_shape = array<i32: 12, 2>} : tensor<4x6xf32> -> tensor<12x2xf32>
    %6 = xnnpack.static_slice %5 {offsets = array<i32: 0, 0>, sizes = array<i32: 2, 2>} : tensor<12x2xf32> -> tensor<2x2xf32>
    xnnpack.yield %2, %4, %6 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<2x2xf32>
  }
  func.return %0#0, %0#1, %0#2 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<2x2xf32>
}
// CHECK:      xnnpack.softmax
// CHECK-NEXT: xnnpack.static_slice
// CHECK-NEXT: xnnpack.fully_connected
// CHECK-NEXT: xnnpack.static_slice
// CHECK-NEXT: xnnpack.static_reshape
// CHECK-NEXT: xnnpack.static_slice

// -----

// Another use, different slices, and two copies of more than half where there was one.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>)
    -> (tensor<4x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<3x3xf32>) {
  %0:5 = xnnpack.subgraph(%x, %y) : (tensor<4x3xf32>, tensor<4x3xf32>)
      -> (tensor<4x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<3x3xf32>) {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>):
    %1 = xnnpack.unary abs %a : tensor<4x3xf32> -> tensor<4x3xf32>
    %2 = xnnpack.static_slice %1 {offsets = array<i32: 0, 0>, sizes = array<i32: 1, 3>} : tensor<4x3xf32> -> tensor<1x3xf32>
    %3 = xnnpack.unary negate %a : tensor<4x3xf32> -> tensor<4x3xf32>
    %4 = xnnpack.static_slice %3 {offsets = array<i32: 0, 0>, sizes = array<i32: 1, 3>} : tensor<4x3xf32> -> tensor<1x3xf32>
    %5 = xnnpack.static_slice %3 {offsets = array<i32: 1, 0>, sizes = array<i32: 1, 3>} : tensor<4x3xf32> -> tensor<1x3xf32>
    %6 = xnnpack.binary add %a, %b : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
    %7 = xnnpack.static_slice %6 {offsets = array<i32: 0, 0>, sizes = array<i32: 3, 3>} : tensor<4x3xf32> -> tensor<3x3xf32>
    xnnpack.yield %1, %2, %4, %5, %7 : tensor<4x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<3x3xf32>
  }
  func.return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<4x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<3x3xf32>
}
// CHECK:      xnnpack.unary abs
// CHECK-NEXT: xnnpack.static_slice
// CHECK-NEXT: xnnpack.unary negate
// CHECK-NEXT: xnnpack.static_slice
// CHECK-NEXT: xnnpack.static_slice
// CHECK-NEXT: xnnpack.binary add
// CHECK-NEXT: xnnpack.static_slice

// -----

// Rows are quantised at run time each by itself: what others need too is quantised apart.
// CHECK-LABEL: func.func @quantized_at_run_time
func.func @quantized_at_run_time(%x: tensor<4x8xf32>) -> (tensor<1x2xf32>, tensor<4x2xf32>) {
  %0:2 = xnnpack.subgraph(%x) : (tensor<4x8xf32>) -> (tensor<1x2xf32>, tensor<4x2xf32>) {
  ^bb0(%a: tensor<4x8xf32>):
    %w = xnnpack.constant dense<1> : tensor<2x8xi8> -> tensor<2x8x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
    %q = xnnpack.convert %a : tensor<4x8xf32> -> tensor<4x8x!xnnpack.qd<i8, 1>>
    %1 = xnnpack.fully_connected %q, %w
         : (tensor<4x8x!xnnpack.qd<i8, 1>>, tensor<2x8x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<4x2xf32>
    %2 = xnnpack.static_slice %1 {offsets = array<i32: 3, 0>, sizes = array<i32: 1, 2>} : tensor<4x2xf32> -> tensor<1x2xf32>
    %3 = xnnpack.fully_connected %q, %w
         : (tensor<4x8x!xnnpack.qd<i8, 1>>, tensor<2x8x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<4x2xf32>
    xnnpack.yield %2, %3 : tensor<1x2xf32>, tensor<4x2xf32>
  }
  func.return %0#0, %0#1 : tensor<1x2xf32>, tensor<4x2xf32>
}
// CHECK:      [[Q:%.+]] = xnnpack.convert %a : tensor<4x8xf32> -> tensor<4x8x!xnnpack.qd<i8, 1>>
// CHECK:      [[S:%.+]] = xnnpack.static_slice %a {offsets = array<i32: 3, 0>, sizes = array<i32: 1, 8>}
// CHECK-NEXT: [[R:%.+]] = xnnpack.convert [[S]] : tensor<1x8xf32> -> tensor<1x8x!xnnpack.qd<i8, 1>>
// CHECK-NEXT: [[Y:%.+]] = xnnpack.fully_connected [[R]]
// CHECK-NEXT: [[Z:%.+]] = xnnpack.fully_connected [[Q]]
// CHECK-NEXT: xnnpack.yield [[Y]], [[Z]]

// -----

// A constant is cut with its scale.
// CHECK-LABEL: func.func @quantized_constant
func.func @quantized_constant(%x: tensor<2x3xi8>) -> tensor<1x3xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<2x3xi8>) -> tensor<1x3xi8> {
  ^bb0(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>):
    %c = xnnpack.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8> -> tensor<2x3x!quant.uniform<i8:f32, 0.25>>
    %1 = xnnpack.binary add %a, %c
         : tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<2x3x!quant.uniform<i8:f32, 0.25>> -> tensor<2x3x!quant.uniform<i8:f32, 1.0>>
    %2 = xnnpack.static_slice %1 {offsets = array<i32: 1, 0>, sizes = array<i32: 1, 3>}
         : tensor<2x3x!quant.uniform<i8:f32, 1.0>> -> tensor<1x3x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %2 : tensor<1x3x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %0 : tensor<1x3xi8>
}
// CHECK-DAG:  [[C:%.+]] = xnnpack.constant dense<[{{\[}}4, 5, 6]]> : tensor<1x3xi8> -> tensor<1x3x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK-DAG:  [[S:%.+]] = xnnpack.static_slice %a
// CHECK:      xnnpack.binary add [[S]], [[C]]
