// RUN: xir-opt %s --split-input-file --fold-qdq | filecheck %s

// A node between conversions computes on integers.
// CHECK-LABEL: func.func @add(
// CHECK:         ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>, %b: tensor<4x!quant.uniform<i8:f32, 2.500000e-01:3>>):
// CHECK-NEXT:      %[[R:.*]] = xnnpack.binary add %a, %b : tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>, tensor<4x!quant.uniform<i8:f32, 2.500000e-01:3>> -> tensor<4x!quant.uniform<i8:f32, 1.000000e+00:-5>>
// CHECK-NEXT:      xnnpack.yield %[[R]]
func.func @add(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x, %y) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<i8:f32, 0.25:3>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.convert %b : tensor<4x!quant.uniform<i8:f32, 0.25:3>> -> tensor<4xf32>
    %2 = xnnpack.binary add %0, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 1.0:-5>>
    xnnpack.yield %3 : tensor<4x!quant.uniform<i8:f32, 1.0:-5>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// The kernel of an addition is made for a ratio of scales from 2^-10 to 2^8.
// CHECK-LABEL: func.func @too_different(
// CHECK:         xnnpack.binary add %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
func.func @too_different(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x, %y) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<i8:f32, 256.0>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.convert %b : tensor<4x!quant.uniform<i8:f32, 256.0>> -> tensor<4xf32>
    %2 = xnnpack.binary add %0, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %3 : tensor<4x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// Conversions move over nodes that only move data; a clamp that the integers imply goes away.
// CHECK-LABEL: func.func @linear(
// CHECK:         ^bb0(%a: tensor<2x2x!quant.uniform<i8:f32, 5.000000e-01>>):
// CHECK-NEXT:      %[[W:.*]] = xnnpack.constant dense<{{.*}}> : tensor<2x4xi8> -> tensor<2x4x!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>>
// CHECK-NEXT:      %[[X:.*]] = xnnpack.static_reshape %a {new_shape = array<i32: 1, 4>}
// CHECK-NEXT:      %[[B:.*]] = xnnpack.constant dense<[4, -16]> : tensor<2xi32> -> tensor<2x!quant.uniform<i32:f32:0, {2.500000e-01, 1.250000e-01}>>
// CHECK-NEXT:      %[[R:.*]] = xnnpack.fully_connected %[[X]], %[[W]], %[[B]] :
// CHECK-SAME:        -> tensor<1x2x!quant.uniform<i8:f32, 1.000000e+00:-128>>
// CHECK-NEXT:      %[[Y:.*]] = xnnpack.static_reshape %[[R]] {new_shape = array<i32: 2>}
// CHECK-NEXT:      xnnpack.yield %[[Y]]
func.func @linear(%x: tensor<2x2xi8>) -> tensor<2xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<2x2xi8>) -> tensor<2xi8> {
  ^bb0(%a: tensor<2x2x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8> -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
    %b = xnnpack.constant dense<[1.0, -2.0]> : tensor<2xf32>
    %0 = xnnpack.convert %a : tensor<2x2x!quant.uniform<i8:f32, 0.5>> -> tensor<2x2xf32>
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 1, 4>} : tensor<2x2xf32> -> tensor<1x4xf32>
    %2 = xnnpack.convert %w : tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>> -> tensor<2x4xf32>
    %3 = xnnpack.fully_connected %1, %2, %b : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32>
    %4 = xnnpack.clamp %3 {output_min = 0.0 : f32} : tensor<1x2xf32> -> tensor<1x2xf32>
    %5 = xnnpack.static_reshape %4 {new_shape = array<i32: 2>} : tensor<1x2xf32> -> tensor<2xf32>
    %6 = xnnpack.convert %5 : tensor<2xf32> -> tensor<2x!quant.uniform<i8:f32, 1.0:-128>>
    xnnpack.yield %6 : tensor<2x!quant.uniform<i8:f32, 1.0:-128>>
  }
  func.return %z : tensor<2xi8>
}

// -----

// A clamp that leaves integers out stays, on integers.
// CHECK-LABEL: func.func @clamp(
// CHECK:           xnnpack.binary multiply %a, %a : {{.*}} -> tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>
// CHECK-NEXT:      xnnpack.clamp %{{.*}} {output_min = 0.000000e+00 : f32} : tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>
func.func @clamp(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.binary multiply %0, %0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.clamp %1 {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %3 : tensor<4x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// A function of one number is a table; a chain of them with static numbers is left for XNNPACK to make one of.
// CHECK-LABEL: func.func @tables(
// CHECK:           %[[T:.*]] = xnnpack.unary hardswish %a : tensor<4x!quant.uniform<i8:f32, 5.000000e-01>> -> tensor<4x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK-NEXT:      %[[F:.*]] = xnnpack.convert %[[T]] : tensor<4x!quant.uniform<i8:f32, 2.500000e-01>> -> tensor<4xf32>
// CHECK-NEXT:      %[[G:.*]] = xnnpack.binary add %[[F]], %{{.*}} : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
// CHECK-NEXT:      %[[E:.*]] = xnnpack.unary exp %[[G]] : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:      xnnpack.convert %[[E]] : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>
func.func @tables(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %three = xnnpack.constant dense<3.0> : tensor<f32>
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.unary hardswish %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.convert %1 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.25>>
    %3 = xnnpack.convert %2 : tensor<4x!quant.uniform<i8:f32, 0.25>> -> tensor<4xf32>
    %4 = xnnpack.binary add %3, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    %5 = xnnpack.unary exp %4 : tensor<4xf32> -> tensor<4xf32>
    %6 = xnnpack.convert %5 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %6 : tensor<4x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// x · sigmoid(x) reads x twice; the sigmoid's range is known, so it needs no conversions of its own.
// CHECK-LABEL: func.func @silu(
// CHECK:           %[[S:.*]] = xnnpack.unary sigmoid %a : tensor<4x!quant.uniform<i8:f32, 5.000000e-01>> -> tensor<4x!quant.uniform<i8:f32, 3.906250e-03:-128>>
// CHECK-NEXT:      xnnpack.binary multiply %a, %[[S]] :
func.func @silu(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.unary sigmoid %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.binary multiply %0, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.25>>
    xnnpack.yield %3 : tensor<4x!quant.uniform<i8:f32, 0.25>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// XNNPACK's softmax is in floating point, in the same subgraph.
// CHECK-LABEL: func.func @softmax(
// CHECK:           xnnpack.convert
// CHECK-NEXT:      xnnpack.softmax %{{.*}} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:      xnnpack.convert
func.func @softmax(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.softmax %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.convert %1 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.25>>
    xnnpack.yield %2 : tensor<4x!quant.uniform<i8:f32, 0.25>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// Numbers that are dequantised only to be quantised alike are the integers that they were.
// CHECK-LABEL: func.func @there_and_back(
// CHECK:           ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>):
// CHECK-NEXT:      xnnpack.unary abs %a
func.func @there_and_back(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.convert %0 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    %2 = xnnpack.unary abs %1 : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    xnnpack.yield %2 : tensor<4x!quant.uniform<i8:f32, 0.5>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// An input quantised at run time: the filter stays in integers, the conversion meets the node.
// CHECK-LABEL: func.func @dynamic(
// CHECK:           %[[W:.*]] = xnnpack.constant dense<1> : tensor<2x4xi8> -> tensor<2x4x!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>>
// CHECK-NEXT:      %[[X:.*]] = xnnpack.static_reshape %a {new_shape = array<i32: 1, 4>} : tensor<2x2xf32> -> tensor<1x4xf32>
// CHECK-NEXT:      %[[Q:.*]] = xnnpack.convert %[[X]] : tensor<1x4xf32> -> tensor<1x4x!xnnpack.qd<i8, 1>>
// CHECK-NEXT:      %[[R:.*]] = xnnpack.fully_connected %[[Q]], %[[W]] : ({{.*}}) -> tensor<1x2xf32>
// CHECK-NEXT:      xnnpack.yield %[[R]]
func.func @dynamic(%x: tensor<2x2xf32>) -> tensor<1x2xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<2x2xf32>) -> tensor<1x2xf32> {
  ^bb0(%a: tensor<2x2xf32>):
    %w = xnnpack.constant dense<1> : tensor<2x4xi8> -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
    %0 = xnnpack.convert %a : tensor<2x2xf32> -> tensor<2x2x!xnnpack.qd<i8, 1>>
    %1 = xnnpack.convert %0 : tensor<2x2x!xnnpack.qd<i8, 1>> -> tensor<2x2xf32>
    %2 = xnnpack.static_reshape %1 {new_shape = array<i32: 1, 4>} : tensor<2x2xf32> -> tensor<1x4xf32>
    %3 = xnnpack.convert %w : tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>> -> tensor<2x4xf32>
    %4 = xnnpack.fully_connected %2, %3 : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
    xnnpack.yield %4 : tensor<1x2xf32>
  }
  func.return %z : tensor<1x2xf32>
}

// -----

// What no node takes as integers is dequantised now; quantising at run time for nobody is dropped.
// CHECK-LABEL: func.func @leftover(
// CHECK:           %[[W:.*]] = xnnpack.constant dense<{{.*}}> : tensor<2x2xf32>
// CHECK-NEXT:      %[[R:.*]] = xnnpack.binary maximum %a, %[[W]]
// CHECK-NEXT:      xnnpack.yield %[[R]]
func.func @leftover(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x2xf32>):
    %w = xnnpack.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
    %0 = xnnpack.convert %a : tensor<2x2xf32> -> tensor<2x2x!xnnpack.qd<i8, 1>>
    %1 = xnnpack.convert %0 : tensor<2x2x!xnnpack.qd<i8, 1>> -> tensor<2x2xf32>
    %2 = xnnpack.convert %w : tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> -> tensor<2x2xf32>
    %3 = xnnpack.binary maximum %1, %2 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
    xnnpack.yield %3 : tensor<2x2xf32>
  }
  func.return %z : tensor<2x2xf32>
}

// -----

// One scale for the whole filter becomes one for each channel: XNNPACK has no other form for such an input.
// CHECK-LABEL: func.func @dynamic_by_tensor(
// CHECK:           %[[W:.*]] = xnnpack.constant dense<1> : tensor<2x4xi8> -> tensor<2x4x!quant.uniform<i8:f32:0, {5.000000e-01, 5.000000e-01}>>
// CHECK:           xnnpack.fully_connected %{{.*}}, %[[W]] :
func.func @dynamic_by_tensor(%x: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<1x4xf32>) -> tensor<1x2xf32> {
  ^bb0(%a: tensor<1x4xf32>):
    %w = xnnpack.constant dense<1> : tensor<2x4xi8> -> tensor<2x4x!quant.uniform<i8:f32, 0.5>>
    %0 = xnnpack.convert %a : tensor<1x4xf32> -> tensor<1x4x!xnnpack.qd<i8, 1>>
    %1 = xnnpack.convert %0 : tensor<1x4x!xnnpack.qd<i8, 1>> -> tensor<1x4xf32>
    %2 = xnnpack.convert %w : tensor<2x4x!quant.uniform<i8:f32, 0.5>> -> tensor<2x4xf32>
    %3 = xnnpack.fully_connected %1, %2 : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
    xnnpack.yield %3 : tensor<1x2xf32>
  }
  func.return %z : tensor<1x2xf32>
}

// -----

// A pointwise convolution is a product for each pixel, with a scale for each: XNNPACK would take the scales of pixels
// from all that reads the same integers.
// CHECK-LABEL: func.func @dynamic_pointwise(
// CHECK-DAG:       %[[W:.*]] = xnnpack.constant dense<{{.*}}> : tensor<2x4xi8> -> tensor<2x4x!quant.uniform<i8:f32:0,
// CHECK-DAG:       %[[P:.*]] = xnnpack.convert %a : tensor<1x2x2x4xf32> -> tensor<1x2x2x4x!xnnpack.qd<i8, 1>>
// CHECK-DAG:       xnnpack.fully_connected %[[P]], %[[W]], %{{.*}} {output_min = 0.000000e+00 : f32} :
// CHECK-DAG:       %[[Q:.*]] = xnnpack.convert %a : tensor<1x2x2x4xf32> -> tensor<1x2x2x4x!xnnpack.qd<i8, 3>>
// CHECK:           xnnpack.conv2d %[[Q]], %{{.*}} {stride = array<i32: 2, 2>} :
func.func @dynamic_pointwise(%x: tensor<1x2x2x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x1x1x2xf32>) {
  %z:2 = xnnpack.subgraph(%x) : (tensor<1x2x2x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x1x1x2xf32>) {
  ^bb0(%a: tensor<1x2x2x4xf32>):
    %w = xnnpack.constant dense<[[[[1, 2, 3, 4]]], [[[5, 6, 7, 8]]]]> : tensor<2x1x1x4xi8> -> tensor<2x1x1x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
    %b = xnnpack.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = xnnpack.convert %w : tensor<2x1x1x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>> -> tensor<2x1x1x4xf32>
    %1 = xnnpack.convert %a : tensor<1x2x2x4xf32> -> tensor<1x2x2x4x!xnnpack.qd<i8, 1>>
    %2 = xnnpack.convert %1 : tensor<1x2x2x4x!xnnpack.qd<i8, 1>> -> tensor<1x2x2x4xf32>
    %3 = xnnpack.conv2d %2, %0, %b {output_min = 0.0 : f32}
         : (tensor<1x2x2x4xf32>, tensor<2x1x1x4xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
    %4 = xnnpack.conv2d %2, %0 {stride = array<i32: 2, 2>} : (tensor<1x2x2x4xf32>, tensor<2x1x1x4xf32>) -> tensor<1x1x1x2xf32>
    xnnpack.yield %3, %4 : tensor<1x2x2x2xf32>, tensor<1x1x1x2xf32>
  }
  func.return %z#0, %z#1 : tensor<1x2x2x2xf32>, tensor<1x1x1x2xf32>
}

// -----

// Weights alone in integers: XNNPACK would scale a bias as it does the products, so that is added behind.
// CHECK-LABEL: func.func @weights_alone(
// CHECK-DAG:       %[[W:.*]] = xnnpack.constant dense<1> : tensor<2x4xi8> -> tensor<2x4x!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>>
// CHECK-DAG:       %[[B:.*]] = xnnpack.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK:           %[[P:.*]] = xnnpack.fully_connected %a, %[[W]] : ({{.*}}) -> tensor<1x2xf32>
// CHECK-NEXT:      %[[R:.*]] = xnnpack.binary add %[[P]], %[[B]] : tensor<1x2xf32>, tensor<2xf32> -> tensor<1x2xf32>
// CHECK-NEXT:      xnnpack.yield %[[R]]
func.func @weights_alone(%x: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<1x4xf32>) -> tensor<1x2xf32> {
  ^bb0(%a: tensor<1x4xf32>):
    %w = xnnpack.constant dense<1> : tensor<2x4xi8> -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
    %b = xnnpack.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = xnnpack.convert %w : tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>> -> tensor<2x4xf32>
    %1 = xnnpack.fully_connected %a, %0, %b : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32>
    xnnpack.yield %1 : tensor<1x2xf32>
  }
  func.return %z : tensor<1x2xf32>
}

// -----

// XNNPACK has 16 bits for the scale of a block, and blocks where inputs are quantised at run time only.
// CHECK-LABEL: func.func @by_block(
// CHECK-DAG:       %[[F:.*]] = xnnpack.constant {{.*}} : tensor<1x32xf32>
// CHECK-DAG:       %[[W:.*]] = xnnpack.constant {{.*}} : tensor<1x32xi4> -> tensor<1x32x!quant.uniform<i4:f32:{0:1, 1:32}, {{.*}}0.10009765625}
// CHECK:           xnnpack.fully_connected %{{.*}}, %[[W]] : (tensor<1x32x!xnnpack.qd<i8, 1>>
// CHECK-NEXT:      xnnpack.fully_connected %a, %[[F]] : (tensor<1x32xf32>, tensor<1x32xf32>)
func.func @by_block(%x: tensor<1x32xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %z:2 = xnnpack.subgraph(%x) : (tensor<1x32xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  ^bb0(%a: tensor<1x32xf32>):
    %w = xnnpack.constant dense<1> : tensor<1x32xi4> -> tensor<1x32x!quant.uniform<i4:f32:{0:1, 1:32}, {{0.1}}>>
    %0 = xnnpack.convert %w : tensor<1x32x!quant.uniform<i4:f32:{0:1, 1:32}, {{0.1}}>> -> tensor<1x32xf32>
    %1 = xnnpack.convert %a : tensor<1x32xf32> -> tensor<1x32x!xnnpack.qd<i8, 1>>
    %2 = xnnpack.convert %1 : tensor<1x32x!xnnpack.qd<i8, 1>> -> tensor<1x32xf32>
    %3 = xnnpack.fully_connected %2, %0 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x1xf32>
    %4 = xnnpack.fully_connected %a, %0 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x1xf32>
    xnnpack.yield %3, %4 : tensor<1x1xf32>, tensor<1x1xf32>
  }
  func.return %z#0, %z#1 : tensor<1x1xf32>, tensor<1x1xf32>
}

// -----

// The last block of a dimension may be smaller than the others.
// CHECK-LABEL: func.func @cut_block(
// CHECK:         xnnpack.constant dense<{{\[\[}}5.000000e-01, 1.000000e+00, 6.000000e+00]]> : tensor<1x3xf32>
func.func @cut_block(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<1x3xf32>) -> tensor<1x3xf32> {
  ^bb0(%a: tensor<1x3xf32>):
    %w = xnnpack.constant dense<[[1, 2, 3]]> : tensor<1x3xi8> -> tensor<1x3x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5, 2.0}}>>
    %0 = xnnpack.convert %w : tensor<1x3x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5, 2.0}}>> -> tensor<1x3xf32>
    %1 = xnnpack.binary maximum %a, %0 : tensor<1x3xf32>, tensor<1x3xf32> -> tensor<1x3xf32>
    xnnpack.yield %1 : tensor<1x3xf32>
  }
  func.return %z : tensor<1x3xf32>
}
