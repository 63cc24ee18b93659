// RUN: xir-opt %s --split-input-file | filecheck %s
// RUN: xir-opt %s --split-input-file --mlir-print-op-generic | xir-opt --split-input-file | filecheck %s

// CHECK-LABEL: func.func @unary(
// CHECK-SAME:    %{{.*}}: tensor<2x3xf32>
// CHECK-NEXT:    %{{.*}} = xnnpack.subgraph(%{{.*}}) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:    ^bb0(%a: tensor<2x3xf32>):
// CHECK-NEXT:      %{{.*}} = xnnpack.unary abs %a : tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:      %{{.*}} = xnnpack.unary ceiling
// CHECK-NEXT:      %{{.*}} = xnnpack.unary cosine
// CHECK-NEXT:      %{{.*}} = xnnpack.unary exp
// CHECK-NEXT:      %{{.*}} = xnnpack.unary floor
// CHECK-NEXT:      %{{.*}} = xnnpack.unary gelu
// CHECK-NEXT:      %{{.*}} = xnnpack.unary hardswish
// CHECK-NEXT:      %{{.*}} = xnnpack.unary log
// CHECK-NEXT:      %{{.*}} = xnnpack.unary negate
// CHECK-NEXT:      %{{.*}} = xnnpack.unary reciprocal_square_root
// CHECK-NEXT:      %{{.*}} = xnnpack.unary sigmoid
// CHECK-NEXT:      %{{.*}} = xnnpack.unary sine
// CHECK-NEXT:      %{{.*}} = xnnpack.unary square
// CHECK-NEXT:      %{{.*}} = xnnpack.unary square_root
// CHECK-NEXT:      %[[LAST:.*]] = xnnpack.unary tanh
// CHECK-NEXT:      xnnpack.yield %[[LAST]] : tensor<2x3xf32>
func.func @unary(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %0 = xnnpack.unary abs %a : tensor<2x3xf32> -> tensor<2x3xf32>
    %1 = xnnpack.unary ceiling %0 : tensor<2x3xf32> -> tensor<2x3xf32>
    %2 = xnnpack.unary cosine %1 : tensor<2x3xf32> -> tensor<2x3xf32>
    %3 = xnnpack.unary exp %2 : tensor<2x3xf32> -> tensor<2x3xf32>
    %4 = xnnpack.unary floor %3 : tensor<2x3xf32> -> tensor<2x3xf32>
    %5 = xnnpack.unary gelu %4 : tensor<2x3xf32> -> tensor<2x3xf32>
    %6 = xnnpack.unary hardswish %5 : tensor<2x3xf32> -> tensor<2x3xf32>
    %7 = xnnpack.unary log %6 : tensor<2x3xf32> -> tensor<2x3xf32>
    %8 = xnnpack.unary negate %7 : tensor<2x3xf32> -> tensor<2x3xf32>
    %9 = xnnpack.unary reciprocal_square_root %8 : tensor<2x3xf32> -> tensor<2x3xf32>
    %10 = xnnpack.unary sigmoid %9 : tensor<2x3xf32> -> tensor<2x3xf32>
    %11 = xnnpack.unary sine %10 : tensor<2x3xf32> -> tensor<2x3xf32>
    %12 = xnnpack.unary square %11 : tensor<2x3xf32> -> tensor<2x3xf32>
    %13 = xnnpack.unary square_root %12 : tensor<2x3xf32> -> tensor<2x3xf32>
    %14 = xnnpack.unary tanh %13 : tensor<2x3xf32> -> tensor<2x3xf32>
    xnnpack.yield %14 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @binary(
// CHECK:         %{{.*}} = xnnpack.binary add %{{.*}}, %{{.*}} {output_max = 6.000000e+00 : f32, output_min = 0.000000e+00 : f32} : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    %{{.*}} = xnnpack.binary divide %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    %{{.*}} = xnnpack.binary maximum
// CHECK-NEXT:    %{{.*}} = xnnpack.binary minimum
// CHECK-NEXT:    %{{.*}} = xnnpack.binary multiply
// CHECK-NEXT:    %{{.*}} = xnnpack.binary prelu
// CHECK-NEXT:    %{{.*}} = xnnpack.binary subtract
func.func @binary(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %r = xnnpack.subgraph(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3xf32>):
    %0 = xnnpack.binary add %a, %b {output_min = 0.0 : f32, output_max = 6.0 : f32} : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    %1 = xnnpack.binary divide %0, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    %2 = xnnpack.binary maximum %1, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    %3 = xnnpack.binary minimum %2, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    %4 = xnnpack.binary multiply %3, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    %5 = xnnpack.binary prelu %4, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    %6 = xnnpack.binary subtract %5, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    xnnpack.yield %6 : tensor<2x3xf32>
  }
  func.return %r : tensor<2x3xf32>
}

// -----

// A dimension of size 1 and a missing one both spread; an unknown one meets any.
// CHECK-LABEL: func.func @broadcast(
// CHECK:         xnnpack.binary add %{{.*}}, %{{.*}} : tensor<4x1xf32>, tensor<?xf32> -> tensor<4x?xf32>
func.func @broadcast(%x: tensor<4x1xf32>, %y: tensor<?xf32>) -> tensor<4x?xf32> {
  %r = xnnpack.subgraph(%x, %y) : (tensor<4x1xf32>, tensor<?xf32>) -> tensor<4x?xf32> {
  ^bb0(%a: tensor<4x1xf32>, %b: tensor<?xf32>):
    %0 = xnnpack.binary add %a, %b : tensor<4x1xf32>, tensor<?xf32> -> tensor<4x?xf32>
    xnnpack.yield %0 : tensor<4x?xf32>
  }
  func.return %r : tensor<4x?xf32>
}

// -----

// CHECK-LABEL: func.func @elementwise(
// CHECK:         %{{.*}} = xnnpack.clamp %{{.*}} {output_min = 0.000000e+00 : f32} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %{{.*}} = xnnpack.clamp %{{.*}} {output_max = 1.000000e+00 : f32, output_min = -1.000000e+00 : f32} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %{{.*}} = xnnpack.elu %{{.*}} {alpha = 5.000000e-01 : f32} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %{{.*}} = xnnpack.leaky_relu %{{.*}} {negative_slope = 2.500000e-01 : f32} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %{{.*}} = xnnpack.copy %{{.*}} {debug_handle = 7 : i32} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %{{.*}} = xnnpack.convert %{{.*}} : tensor<4xf32> -> tensor<4xf16>
func.func @elementwise(%x: tensor<4xf32>) -> tensor<4xf16> {
  %r = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf16> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.clamp %a {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %1 = xnnpack.clamp %0 {output_min = -1.0 : f32, output_max = 1.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.elu %1 {alpha = 0.5 : f32} : tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.leaky_relu %2 {negative_slope = 0.25 : f32} : tensor<4xf32> -> tensor<4xf32>
    %4 = xnnpack.copy %3 {debug_handle = 7 : i32} : tensor<4xf32> -> tensor<4xf32>
    %5 = xnnpack.convert %4 : tensor<4xf32> -> tensor<4xf16>
    xnnpack.yield %5 : tensor<4xf16>
  }
  func.return %r : tensor<4xf16>
}

// -----

// CHECK-LABEL: func.func @convolutions(
// CHECK:         %[[W:.*]] = xnnpack.constant dense_resource<w> : tensor<8x3x3x3xf32>
// CHECK-NEXT:    %[[B:.*]] = xnnpack.constant dense<[1.000000e+00, {{.*}}]> : tensor<8xf32>
// CHECK-NEXT:    %[[C:.*]] = xnnpack.conv2d %{{.*}}, %[[W]], %[[B]] {output_min = 0.000000e+00 : f32, padding = array<i32: 1, 1, 1, 1>, stride = array<i32: 2, 2>} : (tensor<1x8x8x3xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:    %[[D:.*]] = xnnpack.constant dense_resource<d> : tensor<1x3x3x16xf32>
// CHECK-NEXT:    %{{.*}} = xnnpack.depthwise_conv2d %[[C]], %[[D]] {dilation = array<i32: 2, 1>, groups = 8 : i32, padding = array<i32: 2, 1, 2, 1>} : (tensor<1x4x4x8xf32>, tensor<1x3x3x16xf32>) -> tensor<1x4x4x16xf32>
// CHECK-NEXT:    %[[T:.*]] = xnnpack.constant dense_resource<t> : tensor<6x2x2x8xf32>
// CHECK-NEXT:    %{{.*}} = xnnpack.deconv2d %{{.*}}, %[[T]] {adjustment = array<i32: 1, 0>, groups = 2 : i32, stride = array<i32: 2, 2>} : (tensor<1x4x4x16xf32>, tensor<6x2x2x8xf32>) -> tensor<1x9x8x6xf32>
func.func @convolutions(%x: tensor<1x8x8x3xf32>) -> tensor<1x9x8x6xf32> {
  %r = xnnpack.subgraph(%x) : (tensor<1x8x8x3xf32>) -> tensor<1x9x8x6xf32> {
  ^bb0(%a: tensor<1x8x8x3xf32>):
    %w = xnnpack.constant dense_resource<w> : tensor<8x3x3x3xf32>
    %b = xnnpack.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
    %c = xnnpack.conv2d %a, %w, %b {padding = array<i32: 1, 1, 1, 1>, stride = array<i32: 2, 2>, output_min = 0.0 : f32}
         : (tensor<1x8x8x3xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<1x4x4x8xf32>
    %d = xnnpack.constant dense_resource<d> : tensor<1x3x3x16xf32>
    %e = xnnpack.depthwise_conv2d %c, %d {groups = 8 : i32, dilation = array<i32: 2, 1>, padding = array<i32: 2, 1, 2, 1>}
         : (tensor<1x4x4x8xf32>, tensor<1x3x3x16xf32>) -> tensor<1x4x4x16xf32>
    %t = xnnpack.constant dense_resource<t> : tensor<6x2x2x8xf32>
    %f = xnnpack.deconv2d %e, %t {groups = 2 : i32, stride = array<i32: 2, 2>, adjustment = array<i32: 1, 0>}
         : (tensor<1x4x4x16xf32>, tensor<6x2x2x8xf32>) -> tensor<1x9x8x6xf32>
    xnnpack.yield %f : tensor<1x9x8x6xf32>
  }
  func.return %r : tensor<1x9x8x6xf32>
}

// -----

// CHECK-LABEL: func.func @matrices(
// CHECK:         xnnpack.fully_connected %{{.*}}, %{{.*}}, %{{.*}} {output_max = 1.000000e+00 : f32} : (tensor<2x2x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<2x2x8xf32>
// CHECK:         xnnpack.fully_connected %{{.*}}, %{{.*}} {transpose_weights} : (tensor<2x2x8xf32>, tensor<8x4xf32>) -> tensor<2x2x4xf32>
// CHECK-NEXT:    xnnpack.batch_matrix_multiply %{{.*}}, %{{.*}} {transpose_b} : (tensor<2x2x4xf32>, tensor<2x2x4xf32>) -> tensor<2x2x2xf32>
// CHECK-NEXT:    xnnpack.batch_matrix_multiply %{{.*}}, %{{.*}} : (tensor<2x2x2xf32>, tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
// CHECK-NEXT:    xnnpack.softmax %{{.*}} : tensor<2x2x4xf32> -> tensor<2x2x4xf32>
func.func @matrices(%x: tensor<2x2x4xf32>) -> tensor<2x2x4xf32> {
  %r = xnnpack.subgraph(%x) : (tensor<2x2x4xf32>) -> tensor<2x2x4xf32> {
  ^bb0(%a: tensor<2x2x4xf32>):
    %w = xnnpack.constant dense_resource<w> : tensor<8x4xf32>
    %b = xnnpack.constant dense<0.0> : tensor<8xf32>
    %0 = xnnpack.fully_connected %a, %w, %b {output_max = 1.0 : f32} : (tensor<2x2x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<2x2x8xf32>
    %1 = xnnpack.fully_connected %0, %w {transpose_weights} : (tensor<2x2x8xf32>, tensor<8x4xf32>) -> tensor<2x2x4xf32>
    %2 = xnnpack.batch_matrix_multiply %a, %1 {transpose_b} : (tensor<2x2x4xf32>, tensor<2x2x4xf32>) -> tensor<2x2x2xf32>
    %3 = xnnpack.batch_matrix_multiply %2, %1 : (tensor<2x2x2xf32>, tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
    %4 = xnnpack.softmax %3 : tensor<2x2x4xf32> -> tensor<2x2x4xf32>
    xnnpack.yield %4 : tensor<2x2x4xf32>
  }
  func.return %r : tensor<2x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @poolings(
// CHECK:         xnnpack.max_pooling2d %{{.*}} {kernel = array<i32: 3, 3>, output_min = 0.000000e+00 : f32, padding = array<i32: 1, 1, 1, 1>, stride = array<i32: 2, 2>} : tensor<1x8x8x4xf32> -> tensor<1x4x4x4xf32>
// CHECK-NEXT:    xnnpack.max_pooling2d %{{.*}} {dilation = array<i32: 2, 1>, keep_dims, kernel = array<i32: 2, 1>} : tensor<1x4x4x4xf32> -> tensor<1x2x4x4xf32>
// CHECK-NEXT:    xnnpack.average_pooling2d %{{.*}} {kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>} : tensor<1x8x8x4xf32> -> tensor<1x4x4x4xf32>
// CHECK-NEXT:    xnnpack.argmax_pooling2d %{{.*}} {kernel = array<i32: 2, 2>} : (tensor<1x8x8x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi32>)
// CHECK-NEXT:    xnnpack.global_average_pooling2d %{{.*}} : tensor<1x8x8x4xf32> -> tensor<1x4xf32>
// CHECK-NEXT:    xnnpack.global_average_pooling2d %{{.*}} {keep_dims} : tensor<1x8x8x4xf32> -> tensor<1x1x1x4xf32>
func.func @poolings(%x: tensor<1x8x8x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xi32>, tensor<1x4xf32>, tensor<1x1x1x4xf32>) {
  %r:5 = xnnpack.subgraph(%x) : (tensor<1x8x8x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xi32>, tensor<1x4xf32>, tensor<1x1x1x4xf32>) {
  ^bb0(%a: tensor<1x8x8x4xf32>):
    %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 1, 1>, output_min = 0.0 : f32}
         : tensor<1x8x8x4xf32> -> tensor<1x4x4x4xf32>
    %1 = xnnpack.max_pooling2d %0 {kernel = array<i32: 2, 1>, dilation = array<i32: 2, 1>, keep_dims}
         : tensor<1x4x4x4xf32> -> tensor<1x2x4x4xf32>
    %2 = xnnpack.average_pooling2d %a {kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>} : tensor<1x8x8x4xf32> -> tensor<1x4x4x4xf32>
    %3:2 = xnnpack.argmax_pooling2d %a {kernel = array<i32: 2, 2>} : (tensor<1x8x8x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi32>)
    %4 = xnnpack.global_average_pooling2d %a : tensor<1x8x8x4xf32> -> tensor<1x4xf32>
    %5 = xnnpack.global_average_pooling2d %a {keep_dims} : tensor<1x8x8x4xf32> -> tensor<1x1x1x4xf32>
    xnnpack.yield %1, %2, %3#1, %4, %5 : tensor<1x2x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xi32>, tensor<1x4xf32>, tensor<1x1x1x4xf32>
  }
  func.return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<1x2x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xi32>, tensor<1x4xf32>, tensor<1x1x1x4xf32>
}

// -----

// CHECK-LABEL: func.func @moves(
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 2, 3, 1>} : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
// CHECK-NEXT:    xnnpack.static_resize_bilinear2d %{{.*}} {align_corners, new_height = 4 : i32, new_width = 16 : i32} : tensor<1x8x8x3xf32> -> tensor<1x4x16x3xf32>
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 1, 2, 0>, sizes = array<i32: 1, 2, 4, 3>} : tensor<1x4x16x3xf32> -> tensor<1x2x4x3xf32>
// CHECK-NEXT:    xnnpack.static_constant_pad %{{.*}} {padding_value = 5.000000e-01 : f32, post_paddings = array<i32: 0, 0, 1, 0>, pre_paddings = array<i32: 0, 1, 0, 0>} : tensor<1x2x4x3xf32> -> tensor<1x3x5x3xf32>
// CHECK-NEXT:    xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 0>} : tensor<1x3x5x3xf32> -> tensor<1x45xf32>
// CHECK-NEXT:    xnnpack.concatenate %{{.*}}, %{{.*}} {axis = 1 : i32} : (tensor<1x45xf32>, tensor<1x45xf32>) -> tensor<1x90xf32>
// CHECK-NEXT:    xnnpack.concatenate %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i32} : (tensor<1x90xf32>, tensor<1x90xf32>, tensor<1x90xf32>, tensor<1x90xf32>, tensor<1x90xf32>) -> tensor<5x90xf32>
func.func @moves(%x: tensor<1x3x8x8xf32>) -> tensor<5x90xf32> {
  %r = xnnpack.subgraph(%x) : (tensor<1x3x8x8xf32>) -> tensor<5x90xf32> {
  ^bb0(%a: tensor<1x3x8x8xf32>):
    %0 = xnnpack.static_transpose %a {perm = array<i32: 0, 2, 3, 1>} : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
    %1 = xnnpack.static_resize_bilinear2d %0 {new_height = 4 : i32, new_width = 16 : i32, align_corners} : tensor<1x8x8x3xf32> -> tensor<1x4x16x3xf32>
    %2 = xnnpack.static_slice %1 {offsets = array<i32: 0, 1, 2, 0>, sizes = array<i32: 1, 2, 4, 3>} : tensor<1x4x16x3xf32> -> tensor<1x2x4x3xf32>
    %3 = xnnpack.static_constant_pad %2 {pre_paddings = array<i32: 0, 1, 0, 0>, post_paddings = array<i32: 0, 0, 1, 0>, padding_value = 0.5 : f32}
         : tensor<1x2x4x3xf32> -> tensor<1x3x5x3xf32>
    %4 = xnnpack.static_reshape %3 {new_shape = array<i32: 1, 0>} : tensor<1x3x5x3xf32> -> tensor<1x45xf32>
    %5 = xnnpack.concatenate %4, %4 {axis = 1 : i32} : (tensor<1x45xf32>, tensor<1x45xf32>) -> tensor<1x90xf32>
    %6 = xnnpack.concatenate %5, %5, %5, %5, %5 {axis = 0 : i32} : (tensor<1x90xf32>, tensor<1x90xf32>, tensor<1x90xf32>, tensor<1x90xf32>, tensor<1x90xf32>) -> tensor<5x90xf32>
    xnnpack.yield %6 : tensor<5x90xf32>
  }
  func.return %r : tensor<5x90xf32>
}

// -----

// A target other than the default is printed, and has nodes of its own; several outputs, and inputs of unknown size.
// CHECK-LABEL: func.func @subgraph(
// CHECK:         %{{.*}}, %{{.*}} = xnnpack.subgraph(%{{.*}}, %{{.*}}) {target = "xir"} : (tensor<?xf32>, tensor<4xf32>) -> (tensor<?xf32>, tensor<4xf32>) {
// CHECK-NEXT:    ^bb0(%a: tensor<?xf32>, %b: tensor<4xf32>):
// CHECK:           xnnpack.unary bankers_rounding %b
// CHECK-NEXT:      xnnpack.yield %{{.*}}, %{{.*}} : tensor<?xf32>, tensor<4xf32>
func.func @subgraph(%x: tensor<?xf32>, %y: tensor<4xf32>) -> (tensor<?xf32>, tensor<4xf32>) {
  %r:2 = xnnpack.subgraph(%x, %y) {target = "xir"} : (tensor<?xf32>, tensor<4xf32>) -> (tensor<?xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<?xf32>, %b: tensor<4xf32>):
    %0 = xnnpack.unary abs %a : tensor<?xf32> -> tensor<?xf32>
    %1 = xnnpack.unary bankers_rounding %b : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %0, %1 : tensor<?xf32>, tensor<4xf32>
  }
  func.return %r#0, %r#1 : tensor<?xf32>, tensor<4xf32>
}

// -----

// A constant's own type follows an arrow where it differs from the stored one.
// CHECK-LABEL: func.func @constants(
// CHECK:         xnnpack.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    xnnpack.constant dense<[1, 2]> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>
// CHECK-NEXT:    xnnpack.constant {note = "kept"} dense<3.000000e+00> : tensor<f32>
func.func @constants() {
  xnnpack.subgraph() : () -> () {
    %0 = xnnpack.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = xnnpack.constant dense<[1, 2]> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32, 0.5>>
    %2 = xnnpack.constant {note = "kept"} dense<3.0> : tensor<f32>
    xnnpack.yield
  }
  func.return
}

// In dynamic dimensions a size of 0 is inferred by a reshape, and the whole rest to a slice.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 1>, sizes = array<i32: 0, 2>} : tensor<?x4xf32> -> tensor<?x2xf32>
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} {offsets = array<i32: 1, 0>, sizes = array<i32: 5, 2>} : tensor<?x2xf32> -> tensor<?x2xf32>
// CHECK-NEXT:    xnnpack.concatenate %{{.*}}, %{{.*}} {axis = 0 : i32} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
// CHECK-NEXT:    xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 0>} : tensor<?x2xf32> -> tensor<?xf32>
func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<?xf32> {
  %r = xnnpack.subgraph(%x) : (tensor<?x4xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    %0 = xnnpack.static_slice %a {offsets = array<i32: 0, 1>, sizes = array<i32: 0, 2>} : tensor<?x4xf32> -> tensor<?x2xf32>
    %1 = xnnpack.static_slice %0 {offsets = array<i32: 1, 0>, sizes = array<i32: 5, 2>} : tensor<?x2xf32> -> tensor<?x2xf32>
    %2 = xnnpack.concatenate %0, %1 {axis = 0 : i32} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
    %3 = xnnpack.static_reshape %2 {new_shape = array<i32: 0>} : tensor<?x2xf32> -> tensor<?xf32>
    xnnpack.yield %3 : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
