// RUN: xir-opt %s --split-input-file --avoid-xnnpack-faults | filecheck %s

// Of one transposed value both operands are: a reshape in place comes between, and no second transpose.
// CHECK-LABEL: func.func @product(
// CHECK:           %[[Y:.*]] = xnnpack.static_transpose
// CHECK-NEXT:      %[[C:.*]] = xnnpack.static_reshape %[[Y]] {new_shape = array<i32: 2, 0, 2>}
// CHECK-NEXT:      xnnpack.batch_matrix_multiply %[[C]], %[[C]]
func.func @product(%x: tensor<?x2x2xf32>) -> tensor<2x?x2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<?x2x2xf32>) -> tensor<2x?x2xf32> {
  ^bb0(%a: tensor<?x2x2xf32>):
    %y = xnnpack.static_transpose %a {perm = array<i32: 1, 0, 2>} : tensor<?x2x2xf32> -> tensor<2x?x2xf32>
    %z = xnnpack.batch_matrix_multiply %y, %y : (tensor<2x?x2xf32>, tensor<2x?x2xf32>) -> tensor<2x?x2xf32>
    xnnpack.yield %z : tensor<2x?x2xf32>
  }
  func.return %0 : tensor<2x?x2xf32>
}

// -----

// A reshape infers one size; with two open ones it is a slice of everything.
// CHECK-LABEL: func.func @open(
// CHECK:           %[[Y:.*]] = xnnpack.static_transpose
// CHECK-NEXT:      %[[C:.*]] = xnnpack.static_slice %[[Y]] {offsets = array<i32: 0, 0, 0>, sizes = array<i32: 2, 0, 0>}
// CHECK-NEXT:      xnnpack.batch_matrix_multiply %[[C]], %[[C]]
func.func @open(%x: tensor<?x2x?xf32>) -> tensor<2x?x?xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<?x2x?xf32>) -> tensor<2x?x?xf32> {
  ^bb0(%a: tensor<?x2x?xf32>):
    %y = xnnpack.static_transpose %a {perm = array<i32: 1, 0, 2>} : tensor<?x2x?xf32> -> tensor<2x?x?xf32>
    %z = xnnpack.batch_matrix_multiply %y, %y : (tensor<2x?x?xf32>, tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
    xnnpack.yield %z : tensor<2x?x?xf32>
  }
  func.return %0 : tensor<2x?x?xf32>
}

// -----

// Behind a transpose of the last two dimensions, which XNNPACK leaves out, it finds the value that the product reads.
// CHECK-LABEL: func.func @behind(
// CHECK:           %[[U:.*]] = xnnpack.static_transpose
// CHECK-NEXT:      %[[Y:.*]] = xnnpack.static_transpose %[[U]]
// CHECK-NEXT:      %[[C:.*]] = xnnpack.static_reshape %[[Y]]
// CHECK-NEXT:      xnnpack.batch_matrix_multiply %[[U]], %[[C]]
func.func @behind(%x: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
  ^bb0(%a: tensor<2x2x2xf32>):
    %u = xnnpack.static_transpose %a {perm = array<i32: 1, 0, 2>} : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
    %y = xnnpack.static_transpose %u {perm = array<i32: 0, 2, 1>} : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
    %z = xnnpack.batch_matrix_multiply %u, %y {transpose_b} : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    xnnpack.yield %z : tensor<2x2x2xf32>
  }
  func.return %0 : tensor<2x2x2xf32>
}

// -----

// Where the condition does not hold, nothing changes: the value has another reader, the last two dimensions alone are
// transposed, or the operands are transposes of their own.
// CHECK-LABEL: func.func @right(
// CHECK-NOT:       xnnpack.static_reshape
func.func @right(%x: tensor<2x2x2xf32>) -> (tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>) {
  %0:4 = xnnpack.subgraph(%x)
      : (tensor<2x2x2xf32>) -> (tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>) {
  ^bb0(%a: tensor<2x2x2xf32>):
    %y = xnnpack.static_transpose %a {perm = array<i32: 1, 0, 2>} : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
    %z = xnnpack.batch_matrix_multiply %y, %y : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    %l = xnnpack.static_transpose %a {perm = array<i32: 0, 2, 1>} : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
    %m = xnnpack.batch_matrix_multiply %l, %l : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    %p = xnnpack.static_transpose %a {perm = array<i32: 2, 1, 0>} : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
    %q = xnnpack.batch_matrix_multiply %a, %p : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    xnnpack.yield %y, %z, %m, %q : tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>
  }
  func.return %0#0, %0#1, %0#2, %0#3 : tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>
}

// -----

// A product with 0 is 0 to XNNPACK, and so is what it makes of that; it knows nothing of a padding's result.
// CHECK-LABEL: func.func @number(
// CHECK:           %[[D:.*]] = xnnpack.binary multiply
// CHECK-NEXT:      %[[P:.*]] = xnnpack.static_constant_pad %[[D]]
// CHECK-NEXT:      xnnpack.binary maximum %[[P]], %b
// CHECK:           %[[E:.*]] = xnnpack.binary multiply
// CHECK-NEXT:      xnnpack.binary maximum %[[E]], %b
func.func @number(%x: tensor<3x2xf32>, %y: tensor<1x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %0:2 = xnnpack.subgraph(%x, %y) : (tensor<3x2xf32>, tensor<1x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  ^bb0(%a: tensor<3x2xf32>, %b: tensor<1x2xf32>):
    %c = xnnpack.constant dense<0.0> : tensor<1xf32>
    %d = xnnpack.binary multiply %a, %c : tensor<3x2xf32>, tensor<1xf32> -> tensor<3x2xf32>
    %z = xnnpack.binary maximum %d, %b : tensor<3x2xf32>, tensor<1x2xf32> -> tensor<3x2xf32>
    %k = xnnpack.constant dense<2.0> : tensor<1xf32>
    %e = xnnpack.binary multiply %a, %k : tensor<3x2xf32>, tensor<1xf32> -> tensor<3x2xf32>
    %w = xnnpack.binary maximum %e, %b : tensor<3x2xf32>, tensor<1x2xf32> -> tensor<3x2xf32>
    xnnpack.yield %z, %w : tensor<3x2xf32>, tensor<3x2xf32>
  }
  func.return %0#0, %0#1 : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// Halves behind a node are padded in fp32; with zeros they may stay, as may what comes from outside.
// CHECK-LABEL: func.func @padding(
// CHECK:           %[[W:.*]] = xnnpack.convert
// CHECK-NEXT:      %[[C:.*]] = xnnpack.static_slice %[[W]]
// CHECK-NEXT:      %[[P:.*]] = xnnpack.static_constant_pad %[[C]]
// CHECK-SAME:        tensor<2xf32> -> tensor<3xf32>
// CHECK-NEXT:      xnnpack.convert %[[P]]
// CHECK-NEXT:      xnnpack.static_constant_pad
// CHECK-NEXT:      xnnpack.static_constant_pad %a
// CHECK-NEXT:      xnnpack.yield
func.func @padding(%x: tensor<2xf16>) -> (tensor<3xf16>, tensor<3xf16>, tensor<3xf16>) {
  %0:3 = xnnpack.subgraph(%x) : (tensor<2xf16>) -> (tensor<3xf16>, tensor<3xf16>, tensor<3xf16>) {
  ^bb0(%a: tensor<2xf16>):
    %b = xnnpack.unary abs %a : tensor<2xf16> -> tensor<2xf16>
    %p = xnnpack.static_constant_pad %b {pre_paddings = array<i32: 1>, post_paddings = array<i32: 0>, padding_value = 1.5 : f32}
       : tensor<2xf16> -> tensor<3xf16>
    %q = xnnpack.static_constant_pad %b {pre_paddings = array<i32: 1>, post_paddings = array<i32: 0>, padding_value = 0.0 : f32}
       : tensor<2xf16> -> tensor<3xf16>
    %r = xnnpack.static_constant_pad %a {pre_paddings = array<i32: 1>, post_paddings = array<i32: 0>, padding_value = 1.5 : f32}
       : tensor<2xf16> -> tensor<3xf16>
    xnnpack.yield %p, %q, %r : tensor<3xf16>, tensor<3xf16>, tensor<3xf16>
  }
  func.return %0#0, %0#1, %0#2 : tensor<3xf16>, tensor<3xf16>, tensor<3xf16>
}
