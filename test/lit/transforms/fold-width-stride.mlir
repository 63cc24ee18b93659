// RUN: xir-opt %s --split-input-file --fold-width-stride | filecheck %s
// RUN: xir-opt %s --split-input-file --fold-width-stride=channel-group=4 | filecheck %s --check-prefix FOUR

// Two pixels of three channels become one of six; what is left of the image is now one pixel of padding, of which the
// filter takes the right half.
// CHECK-LABEL: func.func @stem(
// CHECK:         ^bb0(%[[X:.*]]: tensor<1x4x8x3x!quant.uniform<i8:f32, 5.000000e-01:3>>):
// CHECK-DAG:       %[[R:.*]] = xnnpack.static_reshape %[[X]] {new_shape = array<i32: 1, 4, 4, 6>} : tensor<1x4x8x3x{{.*}}> -> tensor<1x4x4x6x!quant.uniform<i8:f32, 5.000000e-01:3>>
// CHECK-DAG:       %[[W:.*]] = xnnpack.constant dense<{{\[\[\[\[}}0, 0, 0, 1, 2, 3], [4, 5, 6, 7, 8, 9]]]]> : tensor<1x1x2x6xi8> -> tensor<1x1x2x6x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK-NEXT:      %[[Y:.*]] = xnnpack.conv2d %[[R]], %[[W]] {padding = array<i32: 0, 0, 0, 1>, stride = array<i32: 2, 1>} : {{.*}} -> tensor<1x2x4x1x
// CHECK-NEXT:      xnnpack.yield %[[Y]]
// In groups of four it would multiply 2 x 8 numbers instead of 3 x 4.
// FOUR-LABEL: func.func @stem(
// FOUR-NOT:     static_reshape
// FOUR:         xnnpack.conv2d {{.*}} stride = array<i32: 2, 2>
func.func @stem(%x: tensor<1x4x8x3xi8>) -> tensor<1x2x4x1xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<1x4x8x3xi8>) -> tensor<1x2x4x1xi8> {
  ^bb0(%a: tensor<1x4x8x3x!quant.uniform<i8:f32, 0.5:3>>):
    %w = xnnpack.constant dense<[[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]> : tensor<1x1x3x3xi8> -> tensor<1x1x3x3x!quant.uniform<i8:f32, 0.25>>
    %0 = xnnpack.conv2d %a, %w {padding = array<i32: 0, 1, 0, 1>, stride = array<i32: 2, 2>}
         : (tensor<1x4x8x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<1x1x3x3x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x2x4x1x!quant.uniform<i8:f32, 4.0>>
    xnnpack.yield %0 : tensor<1x2x4x1x!quant.uniform<i8:f32, 4.0>>
  }
  func.return %z : tensor<1x2x4x1xi8>
}

// -----

// Patches that do not overlap: nothing is added, and a batch of unknown size stays as it is.
// CHECK-LABEL: func.func @patches(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 0, 4, 2, 6>} : {{.*}} -> tensor<?x4x2x6x
// CHECK:         xnnpack.constant dense<{{\[\[\[\[}}1, 2, 3, 4, 5, 6]]]]> : tensor<1x1x1x6xi8>
// CHECK-NEXT:    xnnpack.conv2d %{{[^ ]+}}, %{{[^ ]+}} : {{.*}} -> tensor<?x4x2x1x
func.func @patches(%x: tensor<?x4x4x3xi8>) -> tensor<?x4x2x1xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<?x4x4x3xi8>) -> tensor<?x4x2x1xi8> {
  ^bb0(%a: tensor<?x4x4x3x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<[[[[1, 2, 3], [4, 5, 6]]]]> : tensor<1x1x2x3xi8> -> tensor<1x1x2x3x!quant.uniform<i8:f32, 0.25>>
    %0 = xnnpack.conv2d %a, %w {stride = array<i32: 1, 2>}
         : (tensor<?x4x4x3x!quant.uniform<i8:f32, 0.5>>, tensor<1x1x2x3x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<?x4x2x1x!quant.uniform<i8:f32, 4.0>>
    xnnpack.yield %0 : tensor<?x4x2x1x!quant.uniform<i8:f32, 4.0>>
  }
  func.return %z : tensor<?x4x2x1xi8>
}

// -----

// Rows that do not divide into groups stay.
// CHECK-LABEL: func.func @odd_width(
// CHECK-NOT:     static_reshape
func.func @odd_width(%x: tensor<1x1x7x3xi8>) -> tensor<1x1x3x1xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<1x1x7x3xi8>) -> tensor<1x1x3x1xi8> {
  ^bb0(%a: tensor<1x1x7x3x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<1> : tensor<1x1x2x3xi8> -> tensor<1x1x2x3x!quant.uniform<i8:f32, 0.25>>
    %0 = xnnpack.conv2d %a, %w {stride = array<i32: 1, 2>}
         : (tensor<1x1x7x3x!quant.uniform<i8:f32, 0.5>>, tensor<1x1x2x3x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x1x3x1x!quant.uniform<i8:f32, 4.0>>
    xnnpack.yield %0 : tensor<1x1x3x1x!quant.uniform<i8:f32, 4.0>>
  }
  func.return %z : tensor<1x1x3x1xi8>
}

// -----

// So do channels that fill their group, and those of fp32, which come one at a time.
// CHECK-LABEL: func.func @full(
// CHECK-NOT:     static_reshape
func.func @full(%x: tensor<1x1x8x8xi8>, %y: tensor<1x1x8x3xf32>) -> (tensor<1x1x3x1xi8>, tensor<1x1x3x1xf32>) {
  %z:2 = xnnpack.subgraph(%x, %y) : (tensor<1x1x8x8xi8>, tensor<1x1x8x3xf32>) -> (tensor<1x1x3x1xi8>, tensor<1x1x3x1xf32>) {
  ^bb0(%a: tensor<1x1x8x8x!quant.uniform<i8:f32, 0.5>>, %b: tensor<1x1x8x3xf32>):
    %w = xnnpack.constant dense<1> : tensor<1x1x3x8xi8> -> tensor<1x1x3x8x!quant.uniform<i8:f32, 0.25>>
    %v = xnnpack.constant dense<1.0> : tensor<1x1x3x3xf32>
    %0 = xnnpack.conv2d %a, %w {stride = array<i32: 1, 2>}
         : (tensor<1x1x8x8x!quant.uniform<i8:f32, 0.5>>, tensor<1x1x3x8x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x1x3x1x!quant.uniform<i8:f32, 4.0>>
    %1 = xnnpack.conv2d %b, %v {stride = array<i32: 1, 2>}
         : (tensor<1x1x8x3xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x3x1xf32>
    xnnpack.yield %0, %1 : tensor<1x1x3x1x!quant.uniform<i8:f32, 4.0>>, tensor<1x1x3x1xf32>
  }
  func.return %z#0, %z#1 : tensor<1x1x3x1xi8>, tensor<1x1x3x1xf32>
}

// -----

// An image that is quantised at run time gets its other shape before.
// CHECK-LABEL: func.func @run_time(
// CHECK:           %[[R:.*]] = xnnpack.static_reshape %a {new_shape = array<i32: 1, 4, 4, 6>} : tensor<1x4x8x3xf32> -> tensor<1x4x4x6xf32>
// CHECK-NEXT:      %[[Q:.*]] = xnnpack.convert %[[R]] : tensor<1x4x4x6xf32> -> tensor<1x4x4x6x!xnnpack.qd<i8, 3>>
// CHECK:           xnnpack.conv2d %[[Q]],
func.func @run_time(%x: tensor<1x4x8x3xf32>) -> tensor<1x2x4x1xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<1x4x8x3xf32>) -> tensor<1x2x4x1xf32> {
  ^bb0(%a: tensor<1x4x8x3xf32>):
    %w = xnnpack.constant dense<[[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]> : tensor<1x1x3x3xi8> -> tensor<1x1x3x3x!quant.uniform<i8:f32:0, {0.25}>>
    %q = xnnpack.convert %a : tensor<1x4x8x3xf32> -> tensor<1x4x8x3x!xnnpack.qd<i8, 3>>
    %0 = xnnpack.conv2d %q, %w {padding = array<i32: 0, 1, 0, 1>, stride = array<i32: 2, 2>}
         : (tensor<1x4x8x3x!xnnpack.qd<i8, 3>>, tensor<1x1x3x3x!quant.uniform<i8:f32:0, {0.25}>>) -> tensor<1x2x4x1xf32>
    xnnpack.yield %0 : tensor<1x2x4x1xf32>
  }
  func.return %z : tensor<1x2x4x1xf32>
}

// -----

// XNNPACK would make a fully connected node of it, and quantise the image by pixels.
// CHECK-LABEL: func.func @run_time_pointwise(
// CHECK-NOT:       xnnpack.static_reshape
// CHECK:           xnnpack.conv2d {{.*}}stride = array<i32: 1, 2>
func.func @run_time_pointwise(%x: tensor<1x4x8x3xf32>) -> tensor<1x4x4x1xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<1x4x8x3xf32>) -> tensor<1x4x4x1xf32> {
  ^bb0(%a: tensor<1x4x8x3xf32>):
    %w = xnnpack.constant dense<[[[[1, 2, 3], [4, 5, 6]]]]> : tensor<1x1x2x3xi8> -> tensor<1x1x2x3x!quant.uniform<i8:f32:0, {0.25}>>
    %q = xnnpack.convert %a : tensor<1x4x8x3xf32> -> tensor<1x4x8x3x!xnnpack.qd<i8, 3>>
    %0 = xnnpack.conv2d %q, %w {stride = array<i32: 1, 2>}
         : (tensor<1x4x8x3x!xnnpack.qd<i8, 3>>, tensor<1x1x2x3x!quant.uniform<i8:f32:0, {0.25}>>) -> tensor<1x4x4x1xf32>
    xnnpack.yield %0 : tensor<1x4x4x1xf32>
  }
  func.return %z : tensor<1x4x4x1xf32>
}
