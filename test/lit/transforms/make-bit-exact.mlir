// RUN: xir-opt %s --split-input-file --make-bit-exact | filecheck %s

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25:3>
!c = !quant.uniform<i8:f32, 1.0:-1>

// CHECK-LABEL: func.func @product(
// CHECK:         %[[A:.*]] = xnnpack.convert %a : {{.*}} -> tensor<2x3xf32>
// CHECK-NEXT:    %[[B:.*]] = xnnpack.convert %b : {{.*}} -> tensor<3xf32>
// CHECK-NEXT:    %[[P:.*]] = xnnpack.binary multiply %[[A]], %[[B]] : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    %[[Q:.*]] = xnnpack.convert %[[P]] : tensor<2x3xf32> -> tensor<2x3x!quant.uniform<i8:f32, 1.000000e+00:-1>>
// CHECK-NEXT:    xnnpack.yield %[[Q]]
func.func @product(%x: tensor<2x3xi8>, %y: tensor<3xi8>) -> tensor<2x3xi8> {
  %0 = xnnpack.subgraph(%x, %y) : (tensor<2x3xi8>, tensor<3xi8>) -> tensor<2x3xi8> {
  ^bb0(%a: tensor<2x3x!a>, %b: tensor<3x!b>):
    %1 = xnnpack.binary multiply %a, %b : tensor<2x3x!a>, tensor<3x!b> -> tensor<2x3x!c>
    xnnpack.yield %1 : tensor<2x3x!c>
  }
  func.return %0 : tensor<2x3xi8>
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

// Bounds stay bounds of integers; a constant is dequantised now, and a value that is read twice once.
// CHECK-LABEL: func.func @bounded_square(
// CHECK:         %[[A:.*]] = xnnpack.convert %a : {{.*}} -> tensor<4xf32>
// CHECK-NEXT:    %[[P:.*]] = xnnpack.binary multiply %[[A]], %[[A]] : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %[[Q:.*]] = xnnpack.convert %[[P]]
// CHECK-NEXT:    %[[C:.*]] = xnnpack.clamp %[[Q]] {output_min = 0.000000e+00 : f32}
// CHECK:         %[[F:.*]] = xnnpack.constant dense<[5.000000e-01, 1.000000e+00, 1.500000e+00, -1.000000e+00]> : tensor<4xf32>
// CHECK:         xnnpack.binary multiply {{.*}}%[[F]]
func.func @bounded_square(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!a>):
    %1 = xnnpack.binary multiply %a, %a {output_min = 0.0 : f32} : tensor<4x!a>, tensor<4x!a> -> tensor<4x!a>
    %c = xnnpack.constant dense<[1, 2, 3, -2]> : tensor<4xi8> -> tensor<4x!a>
    %2 = xnnpack.binary multiply %1, %c : tensor<4x!a>, tensor<4x!a> -> tensor<4x!a>
    xnnpack.yield %2 : tensor<4x!a>
  }
  func.return %0 : tensor<4xi8>
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

// Sums of integers, and products of fp32 numbers, are the same everywhere as they are.
// CHECK-LABEL: func.func @stays(
// CHECK-NOT:     xnnpack.convert
// CHECK:         xnnpack.binary add %a, %a
// CHECK-NEXT:    xnnpack.binary multiply %b, %b
func.func @stays(%x: tensor<4xi8>, %y: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xf32>) {
  %0, %1 = xnnpack.subgraph(%x, %y) : (tensor<4xi8>, tensor<4xf32>) -> (tensor<4xi8>, tensor<4xf32>) {
  ^bb0(%a: tensor<4x!a>, %b: tensor<4xf32>):
    %2 = xnnpack.binary add %a, %a : tensor<4x!a>, tensor<4x!a> -> tensor<4x!a>
    %3 = xnnpack.binary multiply %b, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %2, %3 : tensor<4x!a>, tensor<4xf32>
  }
  func.return %0, %1 : tensor<4xi8>, tensor<4xf32>
}

// -----

!a = !quant.uniform<i8:f32, 0.5:3>
!b = !quant.uniform<i8:f32, 0.25>

// The mean is a convolution with ones.
// CHECK-LABEL: func.func @mean(
// CHECK:         %[[W:.*]] = xnnpack.constant dense<1> : tensor<1x5x4x8xi8> -> tensor<1x5x4x8x!quant.uniform<i8:f32, 5.000000e-02>>
// CHECK-NEXT:    %[[S:.*]] = xnnpack.depthwise_conv2d %a, %[[W]] {groups = 8 : i32} : {{.*}} -> tensor<2x1x1x8x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK-NEXT:    %[[R:.*]] = xnnpack.static_reshape %[[S]] {new_shape = array<i32: 2, 8>}
// CHECK-NEXT:    xnnpack.yield %[[R]]
func.func @mean(%x: tensor<2x5x4x8xi8>) -> tensor<2x8xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<2x5x4x8xi8>) -> tensor<2x8xi8> {
  ^bb0(%a: tensor<2x5x4x8x!a>):
    %1 = xnnpack.global_average_pooling2d %a : tensor<2x5x4x8x!a> -> tensor<2x8x!b>
    xnnpack.yield %1 : tensor<2x8x!b>
  }
  func.return %0 : tensor<2x8xi8>
}

// -----

!a = !quant.uniform<i8:f32, 0.5:3>

// There is no filter of an open size.
// CHECK-LABEL: func.func @open_mean(
// CHECK:         xnnpack.global_average_pooling2d
func.func @open_mean(%x: tensor<2x?x4x8xi8> {xir.max_shape = array<i64: 2, 5, 4, 8>}) -> tensor<2x8xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<2x?x4x8xi8>) -> tensor<2x8xi8> {
  ^bb0(%a: tensor<2x?x4x8x!a>):
    %1 = xnnpack.global_average_pooling2d %a : tensor<2x?x4x8x!a> -> tensor<2x8x!a>
    xnnpack.yield %1 : tensor<2x8x!a>
  }
  func.return %0 : tensor<2x8xi8>
}
