// RUN: xir-opt --fold-affine --split-input-file %s | filecheck %s

// A factor and an offset behind a node, through moves, with the bounds moved along.
// CHECK-LABEL: func.func @behind
// CHECK-DAG:     [[W:%.+]] = xnnpack.constant dense<2.000000e+00> : tensor<2x3xf32>
// CHECK-DAG:     [[B:%.+]] = xnnpack.constant dense<[3.000000e+00, 5.000000e+00]> : tensor<2xf32>
// CHECK:         [[Y:%.+]] = xnnpack.fully_connected {{%.+}}, [[W]], [[B]] {output_max = 7.000000e+00 : f32, output_min = 1.000000e+00 : f32}
// CHECK-NEXT:    [[T:%.+]] = xnnpack.static_transpose [[Y]]
// CHECK-NEXT:    xnnpack.yield [[T]]
func.func @behind(%x: tensor<5x3xf32>) -> tensor<2x5xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<5x3xf32>) -> tensor<2x5xf32> {
  ^bb0(%a: tensor<5x3xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<2x3xf32>
    %b = xnnpack.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %two = xnnpack.constant dense<2.0> : tensor<1xf32>
    %one = xnnpack.constant dense<1.0> : tensor<1xf32>
    %1 = xnnpack.fully_connected %a, %w, %b {output_min = 0.0 : f32, output_max = 6.0 : f32}
         : (tensor<5x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<5x2xf32>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 1, 0>} : tensor<5x2xf32> -> tensor<2x5xf32>
    %3 = xnnpack.binary multiply %2, %two : tensor<2x5xf32>, tensor<1xf32> -> tensor<2x5xf32>
    %4 = xnnpack.binary add %one, %3 {output_max = 7.0 : f32} : tensor<1xf32>, tensor<2x5xf32> -> tensor<2x5xf32>
    xnnpack.yield %4 : tensor<2x5xf32>
  }
  func.return %0 : tensor<2x5xf32>
}

// -----

// By output channel, for each kind of linear node; a node without a bias gets one.
// CHECK-LABEL: func.func @by_channel
// CHECK-DAG:     xnnpack.constant dense<{{\[\[\[\[}}1.000000e+00], [1.000000e+00]]], {{\[\[\[}}2.000000e+00], [2.000000e+00]]]]> : tensor<2x1x2x1xf32>
// CHECK-DAG:     xnnpack.constant dense<{{\[\[\[\[}}1.000000e+00, 2.000000e+00], [1.000000e+00, 2.000000e+00]]]]> : tensor<1x1x2x2xf32>
// CHECK-DAG:     xnnpack.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [1.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG:     xnnpack.constant dense<[-1.000000e+00, -2.000000e+00]> : tensor<2xf32>
// CHECK-NOT:     xnnpack.binary
func.func @by_channel(%x: tensor<1x1x3x1xf32>) -> tensor<1x1x1x2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<1x1x3x1xf32>) -> tensor<1x1x1x2xf32> {
  ^bb0(%a: tensor<1x1x3x1xf32>):
    %c = xnnpack.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %w = xnnpack.constant dense<1.0> : tensor<2x1x2x1xf32>
    %d = xnnpack.constant dense<1.0> : tensor<1x1x2x2xf32>
    %f = xnnpack.constant dense<1.0> : tensor<2x2xf32>
    %1 = xnnpack.conv2d %a, %w : (tensor<1x1x3x1xf32>, tensor<2x1x2x1xf32>) -> tensor<1x1x2x2xf32>
    %2 = xnnpack.binary multiply %1, %c : tensor<1x1x2x2xf32>, tensor<2xf32> -> tensor<1x1x2x2xf32>
    %3 = xnnpack.depthwise_conv2d %2, %d {groups = 2 : i32}
         : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x1x2xf32>
    %4 = xnnpack.binary multiply %3, %c : tensor<1x1x1x2xf32>, tensor<2xf32> -> tensor<1x1x1x2xf32>
    %5 = xnnpack.fully_connected %4, %f {transpose_weights}
         : (tensor<1x1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x1x1x2xf32>
    %6 = xnnpack.binary multiply %5, %c : tensor<1x1x1x2xf32>, tensor<2xf32> -> tensor<1x1x1x2xf32>
    %7 = xnnpack.binary subtract %6, %c : tensor<1x1x1x2xf32>, tensor<2xf32> -> tensor<1x1x1x2xf32>
    xnnpack.yield %7 : tensor<1x1x1x2xf32>
  }
  func.return %0 : tensor<1x1x1x2xf32>
}

// -----

// The scale and shift of a norm, in front of all the projections that use it.
// CHECK-LABEL: func.func @in_front
// CHECK-DAG:     [[W:%.+]] = xnnpack.constant dense<{{\[\[}}2.000000e+00, 3.000000e+00]]> : tensor<1x2xf32>
// CHECK-DAG:     [[B:%.+]] = xnnpack.constant dense<1.100000e+01> : tensor<1xf32>
// CHECK:         xnnpack.fully_connected %a, [[W]], [[B]]
// CHECK-NOT:     xnnpack.binary
func.func @in_front(%x: tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<1x5x1xf32>) {
  %0:2 = xnnpack.subgraph(%x) : (tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<1x5x1xf32>) {
  ^bb0(%a: tensor<5x2xf32>):
    %g = xnnpack.constant dense<[2.0, 3.0]> : tensor<2xf32>
    %h = xnnpack.constant dense<[5.0, 6.0]> : tensor<2xf32>
    %w = xnnpack.constant dense<1.0> : tensor<1x2xf32>
    %1 = xnnpack.binary multiply %a, %g : tensor<5x2xf32>, tensor<2xf32> -> tensor<5x2xf32>
    %2 = xnnpack.binary add %1, %h : tensor<5x2xf32>, tensor<2xf32> -> tensor<5x2xf32>
    %3 = xnnpack.fully_connected %2, %w : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x1xf32>
    %4 = xnnpack.static_reshape %2 {new_shape = array<i32: 1, 5, 2>} : tensor<5x2xf32> -> tensor<1x5x2xf32>
    %5 = xnnpack.fully_connected %4, %w : (tensor<1x5x2xf32>, tensor<1x2xf32>) -> tensor<1x5x1xf32>
    xnnpack.yield %3, %5 : tensor<5x1xf32>, tensor<1x5x1xf32>
  }
  func.return %0#0, %0#1 : tensor<5x1xf32>, tensor<1x5x1xf32>
}

// -----

// Not: a negative factor on a bounded node, values that somebody else sees, a factor that is not by channel.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-3: xnnpack.binary multiply
func.func @kept(%x: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>) {
  %0:4 = xnnpack.subgraph(%x)
         : (tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>) {
  ^bb0(%a: tensor<5x2xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<2x2xf32>
    %negative = xnnpack.constant dense<-1.0> : tensor<1xf32>
    %rows = xnnpack.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0]]> : tensor<5x1xf32>
    %1 = xnnpack.fully_connected %a, %w {output_min = 0.0 : f32} : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    %2 = xnnpack.binary multiply %1, %negative : tensor<5x2xf32>, tensor<1xf32> -> tensor<5x2xf32>
    %3 = xnnpack.fully_connected %a, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    %4 = xnnpack.binary multiply %3, %negative : tensor<5x2xf32>, tensor<1xf32> -> tensor<5x2xf32>
    %5 = xnnpack.fully_connected %a, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    %6 = xnnpack.binary multiply %5, %rows : tensor<5x2xf32>, tensor<5x1xf32> -> tensor<5x2xf32>
    xnnpack.yield %2, %3, %4, %6 : tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>
  }
  func.return %0#0, %0#1, %0#2, %0#3 : tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>
}

// -----

// A splat that would be written out to 16 GB stays one number.
// CHECK-LABEL: func.func @large_splat
// CHECK: xnnpack.constant dense<1.000000e+00> : tensor<2x2147483647xf32>
// CHECK: xnnpack.binary multiply
func.func @large_splat(%x: tensor<5x2147483647xf32>) -> tensor<5x2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<5x2147483647xf32>) -> tensor<5x2xf32> {
  ^bb0(%a: tensor<5x2147483647xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<2x2147483647xf32>
    %half = xnnpack.constant dense<0.5> : tensor<1xf32>
    %1 = xnnpack.fully_connected %a, %w : (tensor<5x2147483647xf32>, tensor<2x2147483647xf32>) -> tensor<5x2xf32>
    %2 = xnnpack.binary multiply %1, %half : tensor<5x2xf32>, tensor<1xf32> -> tensor<5x2xf32>
    xnnpack.yield %2 : tensor<5x2xf32>
  }
  func.return %0 : tensor<5x2xf32>
}
