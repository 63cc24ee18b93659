// RUN: xir-opt %s --split-input-file --propagate-layout | filecheck %s

// An elementwise node between two transposes that undo each other takes the layout around it.
// CHECK-LABEL: func.func @sandwich(
// CHECK:         ^bb0
// CHECK-NEXT:      %[[R:.*]] = xnnpack.unary hardswish %a : tensor<1x8x8x4xf32> -> tensor<1x8x8x4xf32>
// CHECK-NEXT:      %[[S:.*]] = xnnpack.softmax %[[R]]
// CHECK-NEXT:      xnnpack.yield %[[S]]
func.func @sandwich(%x: tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32> {
  ^bb0(%a: tensor<1x8x8x4xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 0, 3, 1, 2>} : tensor<1x8x8x4xf32> -> tensor<1x4x8x8xf32>
    %1 = xnnpack.unary hardswish %0 : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 0, 2, 3, 1>} : tensor<1x4x8x8xf32> -> tensor<1x8x8x4xf32>
    %3 = xnnpack.softmax %2 : tensor<1x8x8x4xf32> -> tensor<1x8x8x4xf32>
    xnnpack.yield %3 : tensor<1x8x8x4xf32>
  }
  func.return %y : tensor<1x8x8x4xf32>
}

// -----

// A node that is bound to its layout keeps both transposes.
// CHECK-LABEL: func.func @bound(
// CHECK:         xnnpack.static_transpose
// CHECK-NEXT:    xnnpack.softmax
// CHECK-NEXT:    xnnpack.static_transpose
func.func @bound(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
    %1 = xnnpack.softmax %0 : tensor<3x2xf32> -> tensor<3x2xf32>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 1, 0>} : tensor<3x2xf32> -> tensor<2x3xf32>
    xnnpack.yield %2 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}

// -----

// A residual addition and what follows it are one island: the function's layout reaches its two ends only.
// CHECK-LABEL: func.func @residual(
// CHECK:         %[[W:.*]] = xnnpack.constant
// CHECK-NEXT:    %[[P:.*]] = xnnpack.static_transpose %a {perm = array<i32: 0, 2, 3, 1>}
// CHECK-NEXT:    %[[C:.*]] = xnnpack.conv2d %[[P]], %[[W]]
// CHECK-NEXT:    %[[S:.*]] = xnnpack.binary add %[[C]], %[[P]]
// CHECK-NEXT:    %[[D:.*]] = xnnpack.conv2d %[[S]], %[[W]]
// CHECK-NEXT:    %[[T:.*]] = xnnpack.binary add %[[D]], %[[S]]
// CHECK-NEXT:    %[[Q:.*]] = xnnpack.static_transpose %[[T]] {perm = array<i32: 0, 3, 1, 2>}
// CHECK-NEXT:    xnnpack.yield %[[Q]]
func.func @residual(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  ^bb0(%a: tensor<1x4x8x8xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<4x1x1x4xf32>
    %0 = xnnpack.static_transpose %a {perm = array<i32: 0, 2, 3, 1>} : tensor<1x4x8x8xf32> -> tensor<1x8x8x4xf32>
    %1 = xnnpack.conv2d %0, %w : (tensor<1x8x8x4xf32>, tensor<4x1x1x4xf32>) -> tensor<1x8x8x4xf32>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 0, 3, 1, 2>} : tensor<1x8x8x4xf32> -> tensor<1x4x8x8xf32>
    %3 = xnnpack.binary add %2, %a : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    %4 = xnnpack.static_transpose %3 {perm = array<i32: 0, 2, 3, 1>} : tensor<1x4x8x8xf32> -> tensor<1x8x8x4xf32>
    %5 = xnnpack.conv2d %4, %w : (tensor<1x8x8x4xf32>, tensor<4x1x1x4xf32>) -> tensor<1x8x8x4xf32>
    %6 = xnnpack.static_transpose %5 {perm = array<i32: 0, 3, 1, 2>} : tensor<1x8x8x4xf32> -> tensor<1x4x8x8xf32>
    %7 = xnnpack.binary add %6, %3 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    xnnpack.yield %7 : tensor<1x4x8x8xf32>
  }
  func.return %y : tensor<1x4x8x8xf32>
}

// -----

// Properties that name dimensions are permuted along: axis, offsets and sizes, paddings.
// CHECK-LABEL: func.func @by_dimension(
// CHECK:         ^bb0
// CHECK-NEXT:      %[[C:.*]] = xnnpack.concatenate %a, %a {axis = 3 : i32} : (tensor<1x6x8x4xf32>, tensor<1x6x8x4xf32>) -> tensor<1x6x8x8xf32>
// CHECK-NEXT:      %[[S:.*]] = xnnpack.static_slice %[[C]] {offsets = array<i32: 0, 2, 3, 1>, sizes = array<i32: 1, 4, 5, 2>} : tensor<1x6x8x8xf32> -> tensor<1x4x5x2xf32>
// CHECK-NEXT:      %[[P:.*]] = xnnpack.static_constant_pad %[[S]] {post_paddings = array<i32: 0, 4, 5, 6>, pre_paddings = array<i32: 0, 1, 2, 3>} : tensor<1x4x5x2xf32> -> tensor<1x9x12x11xf32>
// CHECK-NEXT:      %[[M:.*]] = xnnpack.softmax %[[P]]
// CHECK-NEXT:      xnnpack.yield %[[M]]
func.func @by_dimension(%x: tensor<1x6x8x4xf32>) -> tensor<1x9x12x11xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x6x8x4xf32>) -> tensor<1x9x12x11xf32> {
  ^bb0(%a: tensor<1x6x8x4xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 0, 3, 1, 2>} : tensor<1x6x8x4xf32> -> tensor<1x4x6x8xf32>
    %1 = xnnpack.concatenate %0, %0 {axis = 1 : i32} : (tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>) -> tensor<1x8x6x8xf32>
    %2 = xnnpack.static_slice %1 {offsets = array<i32: 0, 1, 2, 3>, sizes = array<i32: 1, 2, 4, 5>} : tensor<1x8x6x8xf32> -> tensor<1x2x4x5xf32>
    %3 = xnnpack.static_constant_pad %2 {pre_paddings = array<i32: 0, 3, 1, 2>, post_paddings = array<i32: 0, 6, 4, 5>} : tensor<1x2x4x5xf32> -> tensor<1x11x9x12xf32>
    %4 = xnnpack.static_transpose %3 {perm = array<i32: 0, 2, 3, 1>} : tensor<1x11x9x12xf32> -> tensor<1x9x12x11xf32>
    %5 = xnnpack.softmax %4 : tensor<1x9x12x11xf32> -> tensor<1x9x12x11xf32>
    xnnpack.yield %5 : tensor<1x9x12x11xf32>
  }
  func.return %y : tensor<1x9x12x11xf32>
}

// -----

// A constant fits into any layout, also one that broadcasts: [2, 1, 1] by channel becomes [1, 1, 1, 2]. One element needs no shape.
// CHECK-LABEL: func.func @constants(
// CHECK:         ^bb0
// CHECK-NEXT:      %[[B:.*]] = xnnpack.constant dense<{{\[\[\[\[}}1.000000e+00, 2.000000e+00]]]]> : tensor<1x1x1x2xf32>
// CHECK-NEXT:      %[[M:.*]] = xnnpack.binary multiply %a, %[[B]] : tensor<1x3x4x2xf32>, tensor<1x1x1x2xf32> -> tensor<1x3x4x2xf32>
// CHECK-NEXT:      %[[S:.*]] = xnnpack.constant dense<3.000000e+00> : tensor<1xf32>
// CHECK-NEXT:      %[[A:.*]] = xnnpack.binary add %[[M]], %[[S]] : tensor<1x3x4x2xf32>, tensor<1xf32> -> tensor<1x3x4x2xf32>
// CHECK-NEXT:      xnnpack.yield %[[A]]
func.func @constants(%x: tensor<1x3x4x2xf32>) -> tensor<1x3x4x2xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x3x4x2xf32>) -> tensor<1x3x4x2xf32> {
  ^bb0(%a: tensor<1x3x4x2xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 0, 3, 1, 2>} : tensor<1x3x4x2xf32> -> tensor<1x2x3x4xf32>
    %b = xnnpack.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
    %1 = xnnpack.binary multiply %0, %b : tensor<1x2x3x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x3x4xf32>
    %s = xnnpack.constant dense<[3.0]> : tensor<1xf32>
    %2 = xnnpack.binary add %1, %s : tensor<1x2x3x4xf32>, tensor<1xf32> -> tensor<1x2x3x4xf32>
    %3 = xnnpack.static_transpose %2 {perm = array<i32: 0, 2, 3, 1>} : tensor<1x2x3x4xf32> -> tensor<1x3x4x2xf32>
    xnnpack.yield %3 : tensor<1x3x4x2xf32>
  }
  func.return %y : tensor<1x3x4x2xf32>
}

// -----

// In the layout that they have, constants stay as they are.
// CHECK-LABEL: func.func @untouched_constant(
// CHECK:         %[[B:.*]] = xnnpack.constant dense<{{.*}}> : tensor<3xf32>
// CHECK:         xnnpack.binary multiply %a, %[[B]] : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
// CHECK:         xnnpack.static_transpose
func.func @untouched_constant(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>) {
  ^bb0(%a: tensor<2x3xf32>):
    %b = xnnpack.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %0 = xnnpack.binary multiply %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
    xnnpack.yield %0, %1 : tensor<2x3xf32>, tensor<3x2xf32>
  }
  func.return %y#0, %y#1 : tensor<2x3xf32>, tensor<3x2xf32>
}

// -----

// A transposed constant is another constant.
// CHECK-LABEL: func.func @transposed_constant(
// CHECK:         %[[W:.*]] = xnnpack.constant dense<{{\[\[}}1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT:    xnnpack.fully_connected %a, %[[W]]
func.func @transposed_constant(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32> {
  ^bb0(%a: tensor<1x2xf32>):
    %w = xnnpack.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %0 = xnnpack.static_transpose %w {perm = array<i32: 1, 0>} : tensor<2x2xf32> -> tensor<2x2xf32>
    %1 = xnnpack.fully_connected %a, %0 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    xnnpack.yield %1 : tensor<1x2xf32>
  }
  func.return %y : tensor<1x2xf32>
}

// -----

// A transpose that moves nothing but dimensions of size 1 is a reshape, which costs nothing.
// CHECK-LABEL: func.func @unit_dimensions(
// CHECK:         %[[R:.*]] = xnnpack.static_reshape %a {new_shape = array<i32: 1, 4, 1, 1>} : tensor<1x1x1x4xf32> -> tensor<1x4x1x1xf32>
// CHECK-NEXT:    xnnpack.global_average_pooling2d %[[R]]
func.func @unit_dimensions(%x: tensor<1x1x1x4xf32>) -> tensor<1x1xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x1x1x4xf32>) -> tensor<1x1xf32> {
  ^bb0(%a: tensor<1x1x1x4xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 0, 3, 1, 2>} : tensor<1x1x1x4xf32> -> tensor<1x4x1x1xf32>
    %1 = xnnpack.global_average_pooling2d %0 : tensor<1x4x1x1xf32> -> tensor<1x1xf32>
    xnnpack.yield %1 : tensor<1x1xf32>
  }
  func.return %y : tensor<1x1xf32>
}

// -----

// Users that want different layouts: one transpose is left, and where the data is smallest.
// CHECK-LABEL: func.func @two_users(
// CHECK:         %[[R:.*]] = xnnpack.unary abs %a : tensor<8x4xf32> -> tensor<8x4xf32>
// CHECK-NEXT:    %[[S:.*]] = xnnpack.softmax %[[R]] : tensor<8x4xf32>
// CHECK-NEXT:    %[[H:.*]] = xnnpack.static_slice %[[R]] {offsets = array<i32: 0, 0>, sizes = array<i32: 8, 1>} : tensor<8x4xf32> -> tensor<8x1xf32>
// CHECK-NEXT:    %[[V:.*]] = xnnpack.static_reshape %[[H]] {new_shape = array<i32: 1, 8>}
// CHECK-NEXT:    %[[T:.*]] = xnnpack.softmax %[[V]] : tensor<1x8xf32>
// CHECK-NEXT:    xnnpack.yield %[[S]], %[[T]]
func.func @two_users(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<1x8xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<1x8xf32>) {
  ^bb0(%a: tensor<8x4xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
    %1 = xnnpack.unary abs %0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
    %3 = xnnpack.softmax %2 : tensor<8x4xf32> -> tensor<8x4xf32>
    %4 = xnnpack.static_slice %1 {offsets = array<i32: 0, 0>, sizes = array<i32: 1, 8>} : tensor<4x8xf32> -> tensor<1x8xf32>
    %5 = xnnpack.softmax %4 : tensor<1x8xf32> -> tensor<1x8xf32>
    xnnpack.yield %3, %5 : tensor<8x4xf32>, tensor<1x8xf32>
  }
  func.return %y#0, %y#1 : tensor<8x4xf32>, tensor<1x8xf32>
}

// -----

// Equal transposes of one value are written once.
// CHECK-LABEL: func.func @shared(
// CHECK:         %[[T:.*]] = xnnpack.static_transpose %a
// CHECK-NEXT:    xnnpack.softmax %[[T]]
// CHECK-NEXT:    xnnpack.softmax %[[T]]
func.func @shared(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
    %1 = xnnpack.softmax %0 : tensor<3x2xf32> -> tensor<3x2xf32>
    %2 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
    %3 = xnnpack.softmax %2 : tensor<3x2xf32> -> tensor<3x2xf32>
    xnnpack.yield %1, %3 : tensor<3x2xf32>, tensor<3x2xf32>
  }
  func.return %y#0, %y#1 : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// An operand of lower rank that is no constant binds the node to its layout.
// CHECK-LABEL: func.func @lower_rank(
// CHECK:         %[[T:.*]] = xnnpack.static_transpose %a
// CHECK-NEXT:    %[[S:.*]] = xnnpack.binary add %[[T]], %b
// CHECK-NEXT:    xnnpack.static_transpose %[[S]]
func.func @lower_rank(%x: tensor<2x3xf32>, %z: tensor<2xf32>) -> tensor<2x3xf32> {
  %y = xnnpack.subgraph(%x, %z) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
    %1 = xnnpack.binary add %0, %b : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 1, 0>} : tensor<3x2xf32> -> tensor<2x3xf32>
    xnnpack.yield %2 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}

// -----

// What is yielded is in the function's layout again; one that is an argument after all, or a value yielded already,
// goes through a copy.
// CHECK-LABEL: func.func @yields(
// CHECK:         %[[R:.*]] = xnnpack.unary abs %a
// CHECK-NEXT:    %[[C:.*]] = xnnpack.copy %a
// CHECK-NEXT:    %[[D:.*]] = xnnpack.copy %[[R]]
// CHECK-NEXT:    xnnpack.yield %[[C]], %[[R]], %[[D]]
func.func @yields(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %y:3 = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 1, 0>} : tensor<3x2xf32> -> tensor<2x3xf32>
    %2 = xnnpack.unary abs %0 : tensor<3x2xf32> -> tensor<3x2xf32>
    %3 = xnnpack.static_transpose %2 {perm = array<i32: 1, 0>} : tensor<3x2xf32> -> tensor<2x3xf32>
    %4 = xnnpack.static_transpose %2 {perm = array<i32: 1, 0>} : tensor<3x2xf32> -> tensor<2x3xf32>
    xnnpack.yield %1, %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  }
  func.return %y#0, %y#1, %y#2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// Two islands read one transpose: a layout of the first that saves it would save nothing, since the second needs it.
// CHECK-LABEL: func.func @islands_share(
// CHECK:         %[[T:.*]] = xnnpack.static_transpose %a
// CHECK-NOT:     xnnpack.static_transpose
// CHECK:         xnnpack.yield
func.func @islands_share(%x: tensor<8x4xf32>) -> (tensor<2x8xf32>, tensor<4x8xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<8x4xf32>) -> (tensor<2x8xf32>, tensor<4x8xf32>) {
  ^bb0(%a: tensor<8x4xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
    %1 = xnnpack.static_slice %0 {offsets = array<i32: 0, 0>, sizes = array<i32: 2, 8>} : tensor<4x8xf32> -> tensor<2x8xf32>
    %2 = xnnpack.unary abs %0 : tensor<4x8xf32> -> tensor<4x8xf32>
    xnnpack.yield %1, %2 : tensor<2x8xf32>, tensor<4x8xf32>
  }
  func.return %y#0, %y#1 : tensor<2x8xf32>, tensor<4x8xf32>
}

// -----

// Unknown sizes are permuted like known ones.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         %[[R:.*]] = xnnpack.unary abs %a : tensor<?x3xf32> -> tensor<?x3xf32>
// CHECK-NEXT:    xnnpack.softmax %[[R]]
func.func @dynamic(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32> {
  ^bb0(%a: tensor<?x3xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<?x3xf32> -> tensor<3x?xf32>
    %1 = xnnpack.unary abs %0 : tensor<3x?xf32> -> tensor<3x?xf32>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 1, 0>} : tensor<3x?xf32> -> tensor<?x3xf32>
    %3 = xnnpack.softmax %2 : tensor<?x3xf32> -> tensor<?x3xf32>
    xnnpack.yield %3 : tensor<?x3xf32>
  }
  func.return %y : tensor<?x3xf32>
}

// -----

// Three channels of int8 fill a tenth of a tile, of fp32 a third: an image is transposed before it is quantised.
// CHECK-LABEL: func.func @image(
// CHECK:         %[[T:.*]] = xnnpack.static_transpose %a {perm = array<i32: 0, 2, 3, 1>} : tensor<1x3x64x64xf32>
// CHECK-NEXT:    %[[Q:.*]] = xnnpack.convert %[[T]] : tensor<1x64x64x3xf32>
// CHECK-NEXT:    xnnpack.static_resize_bilinear2d %[[Q]]
func.func @image(%x: tensor<1x3x64x64xf32>) -> tensor<1x64x64x3xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x3x64x64xf32>) -> tensor<1x64x64x3xf32> {
  ^bb0(%a: tensor<1x3x64x64xf32>):
    %0 = xnnpack.convert %a : tensor<1x3x64x64xf32> -> tensor<1x3x64x64x!quant.uniform<i8:f32, 0.5>>
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 0, 2, 3, 1>} : tensor<1x3x64x64x!quant.uniform<i8:f32, 0.5>> -> tensor<1x64x64x3x!quant.uniform<i8:f32, 0.5>>
    %r = xnnpack.static_resize_bilinear2d %1 {new_height = 64 : i32, new_width = 64 : i32} : tensor<1x64x64x3x!quant.uniform<i8:f32, 0.5>> -> tensor<1x64x64x3x!quant.uniform<i8:f32, 0.5>>
    %2 = xnnpack.convert %r : tensor<1x64x64x3x!quant.uniform<i8:f32, 0.5>> -> tensor<1x64x64x3xf32>
    %3 = xnnpack.softmax %2 : tensor<1x64x64x3xf32> -> tensor<1x64x64x3xf32>
    xnnpack.yield %3 : tensor<1x64x64x3xf32>
  }
  func.return %y : tensor<1x64x64x3xf32>
}

// -----

// 64 channels fill tiles of either type: what is written stays.
// CHECK-LABEL: func.func @features(
// CHECK:         %[[Q:.*]] = xnnpack.convert %a : tensor<1x64x64x64xf32>
// CHECK-NEXT:    xnnpack.static_transpose %[[Q]] {perm = array<i32: 0, 2, 3, 1>} : tensor<1x64x64x64x!quant
func.func @features(%x: tensor<1x64x64x64xf32>) -> tensor<1x64x64x64xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x64x64x64xf32>) -> tensor<1x64x64x64xf32> {
  ^bb0(%a: tensor<1x64x64x64xf32>):
    %0 = xnnpack.convert %a : tensor<1x64x64x64xf32> -> tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>>
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 0, 2, 3, 1>} : tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>> -> tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>>
    %2 = xnnpack.static_resize_bilinear2d %1 {new_height = 64 : i32, new_width = 64 : i32} : tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>> -> tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>>
    %3 = xnnpack.convert %2 : tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>> -> tensor<1x64x64x64xf32>
    %4 = xnnpack.softmax %3 : tensor<1x64x64x64xf32> -> tensor<1x64x64x64xf32>
    xnnpack.yield %4 : tensor<1x64x64x64xf32>
  }
  func.return %y : tensor<1x64x64x64xf32>
}

// -----

// Elements are as many on both sides of the conversion: those of 8 bits are moved.
// CHECK-LABEL: func.func @narrow_side(
// CHECK:         %[[Q:.*]] = xnnpack.convert %a : tensor<1x64x64x64xf32>
// CHECK-NEXT:    %[[T:.*]] = xnnpack.static_transpose %[[Q]] {perm = array<i32: 0, 2, 3, 1>} : tensor<1x64x64x64x!quant
// CHECK-NEXT:    %[[R:.*]] = xnnpack.static_resize_bilinear2d %[[T]]
// CHECK-NEXT:    %[[U:.*]] = xnnpack.static_transpose %[[R]] {perm = array<i32: 0, 3, 1, 2>} : tensor<1x64x64x64x!quant
// CHECK-NEXT:    xnnpack.convert %[[U]]
func.func @narrow_side(%x: tensor<1x64x64x64xf32>) -> tensor<1x64x64x64xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x64x64x64xf32>) -> tensor<1x64x64x64xf32> {
  ^bb0(%a: tensor<1x64x64x64xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 0, 2, 3, 1>} : tensor<1x64x64x64xf32> -> tensor<1x64x64x64xf32>
    %1 = xnnpack.convert %0 : tensor<1x64x64x64xf32> -> tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>>
    %2 = xnnpack.static_resize_bilinear2d %1 {new_height = 64 : i32, new_width = 64 : i32} : tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>> -> tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>>
    %3 = xnnpack.convert %2 : tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>> -> tensor<1x64x64x64xf32>
    %4 = xnnpack.static_transpose %3 {perm = array<i32: 0, 3, 1, 2>} : tensor<1x64x64x64xf32> -> tensor<1x64x64x64xf32>
    xnnpack.yield %4 : tensor<1x64x64x64xf32>
  }
  func.return %y : tensor<1x64x64x64xf32>
}
