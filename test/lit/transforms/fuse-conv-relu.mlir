// RUN: xir-opt %s --split-input-file --fuse-conv-relu | filecheck %s

// CHECK-LABEL: func.func @conv_relu(
// CHECK:         %[[R:.*]] = xnnpack.conv2d %a, %w {output_min = 0.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.yield %[[R]]
func.func @conv_relu(%x: tensor<1x8x8x3xf32>) -> tensor<1x8x8x4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x4xf32> {
  ^bb0(%a: tensor<1x8x8x3xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<4x1x1x3xf32>
    %0 = xnnpack.conv2d %a, %w : (tensor<1x8x8x3xf32>, tensor<4x1x1x3xf32>) -> tensor<1x8x8x4xf32>
    %1 = xnnpack.clamp %0 {output_min = 0.0 : f32} : tensor<1x8x8x4xf32> -> tensor<1x8x8x4xf32>
    xnnpack.yield %1 : tensor<1x8x8x4xf32>
  }
  func.return %y : tensor<1x8x8x4xf32>
}

// -----

// Every kind of node that has output bounds.
// CHECK-LABEL: func.func @bounded(
// CHECK-NOT:     xnnpack.clamp
// CHECK:         xnnpack.fully_connected %a, %w {output_max = 6.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.binary add %{{.*}}, %{{.*}} {output_max = 6.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 2, 2>, output_max = 6.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.global_average_pooling2d %{{.*}} {output_max = 6.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.yield
func.func @bounded(%x: tensor<1x4x4x3xf32>) -> tensor<1x4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x4x4x3xf32>) -> tensor<1x4xf32> {
  ^bb0(%a: tensor<1x4x4x3xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<4x3xf32>
    %0 = xnnpack.fully_connected %a, %w : (tensor<1x4x4x3xf32>, tensor<4x3xf32>) -> tensor<1x4x4x4xf32>
    %1 = xnnpack.clamp %0 {output_max = 6.0 : f32} : tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
    %2 = xnnpack.binary add %1, %1 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
    %3 = xnnpack.clamp %2 {output_max = 6.0 : f32} : tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
    %4 = xnnpack.max_pooling2d %3 {kernel = array<i32: 2, 2>} : tensor<1x4x4x4xf32> -> tensor<1x3x3x4xf32>
    %5 = xnnpack.clamp %4 {output_max = 6.0 : f32} : tensor<1x3x3x4xf32> -> tensor<1x3x3x4xf32>
    %6 = xnnpack.global_average_pooling2d %5 : tensor<1x3x3x4xf32> -> tensor<1x4xf32>
    %7 = xnnpack.clamp %6 {output_max = 6.0 : f32} : tensor<1x4xf32> -> tensor<1x4xf32>
    xnnpack.yield %7 : tensor<1x4xf32>
  }
  func.return %y : tensor<1x4xf32>
}

// -----

// Nodes that only move elements are no obstacle.
// CHECK-LABEL: func.func @through_moves(
// CHECK:         xnnpack.binary multiply %a, %a {output_max = 1.000000e+00 : f32, output_min = -1.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.static_transpose
// CHECK-NEXT:    xnnpack.static_reshape
// CHECK-NEXT:    %[[R:.*]] = xnnpack.static_slice
// CHECK-NEXT:    xnnpack.yield %[[R]]
func.func @through_moves(%x: tensor<2x3xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = xnnpack.binary multiply %a, %a : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
    %2 = xnnpack.static_reshape %1 {new_shape = array<i32: 6>} : tensor<3x2xf32> -> tensor<6xf32>
    %3 = xnnpack.static_slice %2 {offsets = array<i32: 1>, sizes = array<i32: 4>} : tensor<6xf32> -> tensor<4xf32>
    %4 = xnnpack.clamp %3 {output_min = -1.0 : f32, output_max = 1.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %4 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// Padding adds elements that the clamp would change.
// CHECK-LABEL: func.func @not_through_padding(
// CHECK:         xnnpack.binary multiply %a, %a :
// CHECK-NEXT:    xnnpack.static_constant_pad
// CHECK-NEXT:    xnnpack.clamp
func.func @not_through_padding(%x: tensor<4xf32>) -> tensor<5xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.binary multiply %a, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.static_constant_pad %0 {pre_paddings = array<i32: 1>, post_paddings = array<i32: 0>, padding_value = -1.0 : f32} : tensor<4xf32> -> tensor<5xf32>
    %2 = xnnpack.clamp %1 {output_min = 0.0 : f32} : tensor<5xf32> -> tensor<5xf32>
    xnnpack.yield %2 : tensor<5xf32>
  }
  func.return %y : tensor<5xf32>
}

// -----

// Somebody else reads the values before the clamp.
// CHECK-LABEL: func.func @two_users(
// CHECK:         xnnpack.binary multiply %a, %a :
// CHECK-NEXT:    xnnpack.clamp
func.func @two_users(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.binary multiply %a, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.clamp %0 {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Or on the way to it.
// CHECK-LABEL: func.func @two_users_of_a_move(
// CHECK:         xnnpack.binary multiply %a, %a :
// CHECK-NEXT:    xnnpack.static_reshape
// CHECK-NEXT:    xnnpack.clamp
func.func @two_users_of_a_move(%x: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.binary multiply %a, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 2, 2>} : tensor<4xf32> -> tensor<2x2xf32>
    %2 = xnnpack.clamp %1 {output_min = 0.0 : f32} : tensor<2x2xf32> -> tensor<2x2xf32>
    xnnpack.yield %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>
  }
  func.return %y#0, %y#1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// XNNPACK's maximum has no output bounds, nor has a unary node; a subgraph's input has no node.
// CHECK-LABEL: func.func @no_bounds(
// CHECK:         xnnpack.clamp %a
// CHECK-NEXT:    xnnpack.binary maximum %{{.*}}, %a :
// CHECK-NEXT:    xnnpack.clamp
// CHECK-NEXT:    xnnpack.unary abs %{{.*}} :
// CHECK-NEXT:    xnnpack.clamp
func.func @no_bounds(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.clamp %a {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.binary maximum %0, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.clamp %1 {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.unary abs %2 : tensor<4xf32> -> tensor<4xf32>
    %4 = xnnpack.clamp %3 {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %4 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// Of several clamps in a row the intersection is left.
// CHECK-LABEL: func.func @chain(
// CHECK:         %[[R:.*]] = xnnpack.binary add %a, %a {output_max = 2.000000e+00 : f32, output_min = 1.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.yield %[[R]]
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.binary add %a, %a {output_min = 0.0 : f32, output_max = 3.0 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.clamp %0 {output_min = 1.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.clamp %1 {output_min = -1.0 : f32, output_max = 2.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %2 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// A clamp without a node before it takes the next one.
// CHECK-LABEL: func.func @clamp_of_clamp(
// CHECK:         %[[R:.*]] = xnnpack.clamp %a {output_max = 6.000000e+00 : f32, output_min = 0.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.yield %[[R]]
func.func @clamp_of_clamp(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.clamp %a {output_max = 6.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.clamp %0 {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %1 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// Bounds that leave no interval between them are no bounds of one node: both stay.
// CHECK-LABEL: func.func @disjoint(
// CHECK:         xnnpack.binary add %a, %a {output_max = 0.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.clamp %{{.*}} {output_min = 1.000000e+00 : f32}
// CHECK-LABEL: func.func @touching(
// CHECK:         xnnpack.binary add %a, %a {output_max = 1.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.clamp %{{.*}} {output_min = 1.000000e+00 : f32}
func.func @disjoint(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.binary add %a, %a {output_max = 0.0 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.clamp %0 {output_min = 1.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %1 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
func.func @touching(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.binary add %a, %a {output_max = 1.0 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.clamp %0 {output_min = 1.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %1 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// The scale of the clamp's result is the one that readers expect, and the finer one.

// CHECK-LABEL: func.func @other_scale(
// CHECK:         xnnpack.conv2d {{.*}}output_min = 0.000000e+00{{.*}}-> tensor<1x4x8x8x!quant.uniform<i8:f32, 1.250000e-02:-128>>
// CHECK-NEXT:    xnnpack.yield
func.func @other_scale(%x: tensor<1x4x8x3xi8>) -> tensor<1x4x8x8xi8> {
  %y = xnnpack.subgraph(%x) : (tensor<1x4x8x3xi8>) -> tensor<1x4x8x8xi8> {
  ^bb0(%i: tensor<1x4x8x3x!quant.uniform<i8:f32, 0.03:14>>):
    %w = xnnpack.constant dense<1> : tensor<8x1x1x3xi8> -> tensor<8x1x1x3x!quant.uniform<i8:f32, 0.5>>
    %0 = xnnpack.conv2d %i, %w
           : (tensor<1x4x8x3x!quant.uniform<i8:f32, 0.03:14>>, tensor<8x1x1x3x!quant.uniform<i8:f32, 0.5>>)
           -> tensor<1x4x8x8x!quant.uniform<i8:f32, 0.03:14>>
    %1 = xnnpack.clamp %0 {output_min = 0.0 : f32}
           : tensor<1x4x8x8x!quant.uniform<i8:f32, 0.03:14>> -> tensor<1x4x8x8x!quant.uniform<i8:f32, 0.0125:-128>>
    xnnpack.yield %1 : tensor<1x4x8x8x!quant.uniform<i8:f32, 0.0125:-128>>
  }
  func.return %y : tensor<1x4x8x8xi8>
}

// The convolution ends at 3.164, which the clamp's integers go beyond: 3.1875 would come out of it.

// CHECK-LABEL: func.func @cut_off(
// CHECK:         xnnpack.conv2d {{.*}}-> tensor<1x4x8x8x!quant.uniform<i8:f32, 2.800000e-02:14>>
// CHECK-NEXT:    xnnpack.clamp
// CHECK-NEXT:    xnnpack.yield
func.func @cut_off(%x: tensor<1x4x8x3xi8>) -> tensor<1x4x8x8xi8> {
  %y = xnnpack.subgraph(%x) : (tensor<1x4x8x3xi8>) -> tensor<1x4x8x8xi8> {
  ^bb0(%i: tensor<1x4x8x3x!quant.uniform<i8:f32, 0.028:14>>):
    %w = xnnpack.constant dense<1> : tensor<8x1x1x3xi8> -> tensor<8x1x1x3x!quant.uniform<i8:f32, 0.5>>
    %0 = xnnpack.conv2d %i, %w
           : (tensor<1x4x8x3x!quant.uniform<i8:f32, 0.028:14>>, tensor<8x1x1x3x!quant.uniform<i8:f32, 0.5>>)
           -> tensor<1x4x8x8x!quant.uniform<i8:f32, 0.028:14>>
    %1 = xnnpack.clamp %0 {output_min = 0.0 : f32}
           : tensor<1x4x8x8x!quant.uniform<i8:f32, 0.028:14>> -> tensor<1x4x8x8x!quant.uniform<i8:f32, 0.0125:-128>>
    xnnpack.yield %1 : tensor<1x4x8x8x!quant.uniform<i8:f32, 0.0125:-128>>
  }
  func.return %y : tensor<1x4x8x8xi8>
}

// The sum's integers begin at 0, so no interval of them lies within the bounds: a sum cannot end there, a clamp can.

// CHECK-LABEL: func.func @beyond_the_integers(
// CHECK:         xnnpack.binary add
// CHECK-NEXT:    xnnpack.clamp
// CHECK-NEXT:    xnnpack.yield
func.func @beyond_the_integers(%x: tensor<4xi8>) -> tensor<4xi8> {
  %y = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%i: tensor<4x!quant.uniform<i8:f32, 0.125:-5>>):
    %0 = xnnpack.binary add %i, %i
           : tensor<4x!quant.uniform<i8:f32, 0.125:-5>>, tensor<4x!quant.uniform<i8:f32, 0.125:-5>>
           -> tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
    %1 = xnnpack.clamp %0 {output_min = -2.0 : f32, output_max = -1.5 : f32}
           : tensor<4x!quant.uniform<i8:f32, 0.25:-128>> -> tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
    xnnpack.yield %1 : tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
  }
  func.return %y : tensor<4xi8>
}
