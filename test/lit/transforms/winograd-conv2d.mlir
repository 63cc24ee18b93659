// RUN: xir-opt %s --split-input-file --winograd-conv2d=form=1,2 --verify-diagnostics | filecheck %s
// RUN: xir-opt %s --split-input-file --winograd-conv2d='form=1,1 by-gemm=true' | filecheck %s --check-prefix GATHER
// RUN: xir-opt %s --split-input-file --winograd-conv2d=cpu=zen4 | filecheck %s --check-prefix SMALL
// RUN: xir-opt %s --split-input-file --winograd-conv2d='cpu=zen4 max-arena=1700000' | filecheck %s --check-prefix LITTLE
// RUN: xir-opt %s --split-input-file --winograd-conv2d='cpu=zen4 max-growth=0' | filecheck %s --check-prefix NONE
// RUN: xir-opt %s --split-input-file --winograd-conv2d='cpu=generic-arm max-growth=3' 2>&1 | filecheck %s --check-prefix ARM
// RUN: xir-opt %s --split-input-file --winograd-conv2d='cpu=zen3' 2>&1 | filecheck %s --check-prefix ONE
// RUN: xir-opt %s --split-input-file --winograd-conv2d='cpu=generic-x86 max-growth=3' 2>&1 | filecheck %s --check-prefix BOTH
// RUN: xir-opt %s --split-input-file --winograd-conv2d='cpu=zen3 threads=2' 2>&1 | filecheck %s --check-prefix TWO
// RUN: xir-opt %s --split-input-file --winograd-conv2d='cpu=zen4 threads=64' | filecheck %s --check-prefix NONE
// RUN: xir-opt %s --split-input-file --winograd-conv2d | filecheck %s --check-prefix NONE
// RUN: xir-opt %s --split-input-file --winograd-conv2d='form=1,2 max-error=0.5' | filecheck %s --check-prefix NONE

// F(1x2): four transformed images, each of every second pixel, and four products, whose sums are two pixels side by side.
// The image has an odd width, so the last pixel that is computed is cut off. The bias is
// added to one product, which counts once in every pixel; bounds hold for the sums.
// CHECK-LABEL: func.func @row(
// CHECK:       ^bb0(%[[X:.*]]: tensor<?x1x5x2xf32>):
// CHECK-DAG:     %[[B0:.*]] = xnnpack.constant dense<{{\[\[\[\[}}-1.000000e+00, -1.000000e+00], [1.000000e+00, 1.000000e+00]]]]> : tensor<1x1x2x2xf32>
// CHECK:         %[[V0:.*]] = xnnpack.depthwise_conv2d %[[X]], %[[B0]] {dilation = array<i32: 1, 2>, groups = 2 : i32, padding = array<i32: 0, 1, 0, 1>, stride = array<i32: 1, 2>, xir.composed = "conv2d as F(1x2)"} : (tensor<?x1x5x2xf32>, tensor<1x1x2x2xf32>) -> tensor<?x1x3x2xf32>
// The filter is 1, 2, 4: G makes it -1 for the pixel itself.
// CHECK:         %[[U0:.*]] = xnnpack.constant dense<-1.000000e+00> : tensor<1x1x1x2xf32>
// CHECK:         %[[M0:.*]] = xnnpack.conv2d %[[V0]], %[[U0]] {xir.composed = "conv2d as F(1x2)"} : (tensor<?x1x3x2xf32>, tensor<1x1x1x2xf32>) -> tensor<?x1x3x1xf32>
// CHECK:         %[[V1:.*]] = xnnpack.depthwise_conv2d %[[X]], {{.*}}padding = array<i32: 0, 1, 0, 0>
// CHECK:         %[[U1:.*]] = xnnpack.constant dense<3.500000e+00> : tensor<1x1x1x2xf32>
// CHECK:         %[[B:.*]] = xnnpack.constant dense<8.000000e+00> : tensor<1xf32>
// CHECK:         %[[M1:.*]] = xnnpack.conv2d %[[V1]], %[[U1]], %[[B]]
// CHECK:         %[[U2:.*]] = xnnpack.constant dense<1.500000e+00> : tensor<1x1x1x2xf32>
// CHECK:         %[[M2:.*]] = xnnpack.conv2d %{{.*}}, %[[U2]]
// CHECK:         %[[U3:.*]] = xnnpack.constant dense<4.000000e+00> : tensor<1x1x1x2xf32>
// CHECK:         %[[M3:.*]] = xnnpack.conv2d %{{.*}}, %[[U3]]
// CHECK:         %[[S:.*]] = xnnpack.binary add %[[M1]], %[[M2]]
// CHECK:         %[[D:.*]] = xnnpack.binary subtract %[[M1]], %[[M2]]
// CHECK:         %[[Y0:.*]] = xnnpack.binary add %[[S]], %[[M0]]
// CHECK:         %[[Y1:.*]] = xnnpack.binary add %[[D]], %[[M3]]
// CHECK:         %[[C0:.*]] = xnnpack.clamp %[[Y0]] {output_min = 0.000000e+00 : f32, xir.composed
// CHECK:         %[[C1:.*]] = xnnpack.clamp %[[Y1]] {output_min = 0.000000e+00 : f32, xir.composed
// CHECK:         %[[J:.*]] = xnnpack.concatenate %[[C0]], %[[C1]] {axis = 3 : i32, {{.*}} -> tensor<?x1x3x2xf32>
// CHECK:         %[[R:.*]] = xnnpack.static_reshape %[[J]] {new_shape = array<i32: 0, 1, 6, 1>, {{.*}} -> tensor<?x1x6x1xf32>
// CHECK:         %[[Y:.*]] = xnnpack.static_slice %[[R]] {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 0, 1, 5, 1>, {{.*}} -> tensor<?x1x5x1xf32>
// CHECK:         xnnpack.yield %[[Y]]
// So few channels are not worth it by any profile.
// SMALL-LABEL: func.func @row(
// SMALL-NOT:     xir.composed
// NONE-NOT:   xir.composed
func.func @row(%x: tensor<?x1x5x2xf32>) -> tensor<?x1x5x1xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<?x1x5x2xf32>) -> tensor<?x1x5x1xf32> {
  ^bb0(%a: tensor<?x1x5x2xf32>):
    %w = xnnpack.constant dense<[[[[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]]]]> : tensor<1x1x3x2xf32>
    %b = xnnpack.constant dense<8.0> : tensor<1xf32>
    // expected-remark @+1 {{winograd-conv2d: xnnpack.conv2d is computed as F(1x2)}}
    %0 = xnnpack.conv2d %a, %w, %b {padding = array<i32: 0, 1, 0, 1>, output_min = 0.0 : f32}
         : (tensor<?x1x5x2xf32>, tensor<1x1x3x2xf32>, tensor<1xf32>) -> tensor<?x1x5x1xf32>
    xnnpack.yield %0 : tensor<?x1x5x1xf32>
  }
  func.return %y : tensor<?x1x5x1xf32>
}

// -----

// By a profile the fastest form is chosen.
// SMALL-LABEL: func.func @large(
// SMALL:         xir.composed = "conv2d as F(4x4)"
// The image and the result are 1.6 MB. What F(4x4) computes meanwhile would be above the limit.
// LITTLE-LABEL: func.func @large(
// LITTLE-NOT:     xir.composed
// Profiles that nobody measured say so.
// ARM:           remark: winograd-conv2d: xnnpack.conv2d is computed as F(4x1), {{[0-9]+}} µs for {{[0-9]+}} µs, modelled, not measured
// ARM-NOT:       remark: winograd-conv2d
// The fastest form on one thread has 187 nodes. Two threads would wait for each other at the end of each, so several
// processors' profiles choose one of 103.
// ONE:           remark: winograd-conv2d: xnnpack.conv2d is computed as F(4x4) by GEMM
// BOTH:          remark: winograd-conv2d: xnnpack.conv2d is computed as F(4x2) by GEMM
// So does one profile for two threads; on many, waiting takes longer than the convolution.
// TWO:           remark: winograd-conv2d: xnnpack.conv2d is computed as F(4x2) by GEMM
func.func @large(%x: tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32> {
  ^bb0(%a: tensor<1x56x56x64xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<64x3x3x64xf32>
    // expected-remark @+1 {{winograd-conv2d: xnnpack.conv2d is computed as F(1x2)}}
    %0 = xnnpack.conv2d %a, %w {padding = array<i32: 1, 1, 1, 1>}
         : (tensor<1x56x56x64xf32>, tensor<64x3x3x64xf32>) -> tensor<1x56x56x64xf32>
    xnnpack.yield %0 : tensor<1x56x56x64xf32>
  }
  func.return %y : tensor<1x56x56x64xf32>
}

// -----

// Strides, dilations, groups, filters of other sizes and filters that are computed stay.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     xir.composed
func.func @others(%x: tensor<1x8x8x4xf32>, %f: tensor<4x3x3x4xf32>) -> (tensor<1x3x3x4xf32>, tensor<1x4x4x4xf32>, tensor<1x6x6x4xf32>, tensor<1x7x7x4xf32>, tensor<1x6x6x4xf32>) {
  %y:5 = xnnpack.subgraph(%x, %f) : (tensor<1x8x8x4xf32>, tensor<4x3x3x4xf32>) -> (tensor<1x3x3x4xf32>, tensor<1x4x4x4xf32>, tensor<1x6x6x4xf32>, tensor<1x7x7x4xf32>, tensor<1x6x6x4xf32>) {
  ^bb0(%a: tensor<1x8x8x4xf32>, %c: tensor<4x3x3x4xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<4x3x3x4xf32>
    %g = xnnpack.constant dense<1.0> : tensor<4x3x3x2xf32>
    %t = xnnpack.constant dense<1.0> : tensor<4x2x2x4xf32>
    %0 = xnnpack.conv2d %a, %w {stride = array<i32: 2, 2>} : (tensor<1x8x8x4xf32>, tensor<4x3x3x4xf32>) -> tensor<1x3x3x4xf32>
    %1 = xnnpack.conv2d %a, %w {dilation = array<i32: 2, 2>} : (tensor<1x8x8x4xf32>, tensor<4x3x3x4xf32>) -> tensor<1x4x4x4xf32>
    %2 = xnnpack.conv2d %a, %g {groups = 2 : i32} : (tensor<1x8x8x4xf32>, tensor<4x3x3x2xf32>) -> tensor<1x6x6x4xf32>
    %3 = xnnpack.conv2d %a, %t : (tensor<1x8x8x4xf32>, tensor<4x2x2x4xf32>) -> tensor<1x7x7x4xf32>
    %4 = xnnpack.conv2d %a, %c : (tensor<1x8x8x4xf32>, tensor<4x3x3x4xf32>) -> tensor<1x6x6x4xf32>
    xnnpack.yield %0, %1, %2, %3, %4 : tensor<1x3x3x4xf32>, tensor<1x4x4x4xf32>, tensor<1x6x6x4xf32>, tensor<1x7x7x4xf32>, tensor<1x6x6x4xf32>
  }
  func.return %y#0, %y#1, %y#2, %y#3, %y#4 : tensor<1x3x3x4xf32>, tensor<1x4x4x4xf32>, tensor<1x6x6x4xf32>, tensor<1x7x7x4xf32>, tensor<1x6x6x4xf32>
}

// -----

// What two convolutions of one image are made of is there once, and their own filters are gone.
// CHECK-LABEL: func.func @siblings(
// CHECK-NOT:     tensor<4x1x3x2xf32>
// CHECK-COUNT-4: xnnpack.depthwise_conv2d
// CHECK-NOT:     xnnpack.depthwise_conv2d
// CHECK:         func.return
// NONE-LABEL: func.func @siblings(
// NONE-COUNT-2:  xnnpack.constant {{.*}} : tensor<4x1x3x2xf32>
func.func @siblings(%x: tensor<1x1x8x2xf32>) -> (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<1x1x8x2xf32>) -> (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) {
  ^bb0(%a: tensor<1x1x8x2xf32>):
    %v = xnnpack.constant dense<1.0> : tensor<4x1x3x2xf32>
    %w = xnnpack.constant dense<2.0> : tensor<4x1x3x2xf32>
    // expected-remark @+1 {{winograd-conv2d: xnnpack.conv2d is computed as F(1x2)}}
    %0 = xnnpack.conv2d %a, %v : (tensor<1x1x8x2xf32>, tensor<4x1x3x2xf32>) -> tensor<1x1x6x4xf32>
    // expected-remark @+1 {{winograd-conv2d: xnnpack.conv2d is computed as F(1x2)}}
    %1 = xnnpack.conv2d %a, %w : (tensor<1x1x8x2xf32>, tensor<4x1x3x2xf32>) -> tensor<1x1x6x4xf32>
    xnnpack.yield %0, %1 : tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>
  }
  func.return %y#0, %y#1 : tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>
}

// -----

// By GEMM the pixels under the filter become channels: a frame of zeros in whole strides, every second column and then
// every second row of it, which are the first or the second part of two neighbours.
// GATHER-LABEL: func.func @strided(
// GATHER:       ^bb0(%[[X:.*]]: tensor<?x4x5x3xf32>):
// GATHER:         %[[P:.*]] = xnnpack.static_constant_pad %[[X]] {post_paddings = array<i32: 0, 1, 0, 0>, pre_paddings = array<i32: 0, 1, 1, 0>, xir.composed = "conv2d as im2col"} : tensor<?x4x5x3xf32> -> tensor<?x6x6x3xf32>
// GATHER:         %[[C0:.*]] = xnnpack.static_reshape %[[P]] {new_shape = array<i32: 0, 6, 3, 6>, {{.*}} -> tensor<?x6x3x6xf32>
// GATHER:         %[[T0:.*]] = xnnpack.static_slice %[[C0]] {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 0, 6, 3, 3>, {{.*}} -> tensor<?x6x3x3xf32>
// GATHER:         %[[T1:.*]] = xnnpack.static_slice %[[C0]] {offsets = array<i32: 0, 0, 0, 3>, sizes = array<i32: 0, 6, 3, 3>, {{.*}} -> tensor<?x6x3x3xf32>
// GATHER:         %[[W:.*]] = xnnpack.concatenate %[[T0]], %[[T1]] {axis = 3 : i32, {{.*}} -> tensor<?x6x3x6xf32>
// GATHER:         %[[R0:.*]] = xnnpack.static_reshape %[[W]] {new_shape = array<i32: 0, 3, 6, 6>, {{.*}} -> tensor<?x3x6x6xf32>
// GATHER:         %[[U0:.*]] = xnnpack.static_slice %[[R0]] {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 0, 2, 3, 6>, {{.*}} -> tensor<?x2x3x6xf32>
// GATHER:         %[[U1:.*]] = xnnpack.static_slice %[[R0]] {offsets = array<i32: 0, 0, 3, 0>, sizes = array<i32: 0, 2, 3, 6>
// GATHER:         %[[U2:.*]] = xnnpack.static_slice %[[R0]] {offsets = array<i32: 0, 1, 0, 0>, sizes = array<i32: 0, 2, 3, 6>
// GATHER:         %[[G:.*]] = xnnpack.concatenate %[[U0]], %[[U1]], %[[U2]] {axis = 3 : i32, {{.*}} -> tensor<?x2x3x18xf32>
// GATHER:         xnnpack.conv2d %[[G]], %{{[^,]*}} {output_max = 6.000000e+00 : f32, xir.composed = "conv2d as im2col"} : (tensor<?x2x3x18xf32>, tensor<8x1x1x18xf32>) -> tensor<?x2x3x8xf32>
func.func @strided(%x: tensor<?x4x5x3xf32>) -> tensor<?x2x3x8xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<?x4x5x3xf32>) -> tensor<?x2x3x8xf32> {
  ^bb0(%a: tensor<?x4x5x3xf32>):
    %w = xnnpack.constant dense<0.5> : tensor<8x3x2x3xf32>
    %0 = xnnpack.conv2d %a, %w {padding = array<i32: 1, 0, 0, 1>, stride = array<i32: 2, 2>, output_max = 6.0 : f32}
         : (tensor<?x4x5x3xf32>, tensor<8x3x2x3xf32>) -> tensor<?x2x3x8xf32>
    xnnpack.yield %0 : tensor<?x2x3x8xf32>
  }
  func.return %y : tensor<?x2x3x8xf32>
}

// -----

// With fewer channels in the result than under a row of the filter, the rows' products are summed. The bias is added to the
// first one, and bounds hold for the sum.
// GATHER-LABEL: func.func @summed(
// GATHER:         %[[W:.*]] = xnnpack.concatenate {{.*}} -> tensor<?x3x3x6xf32>
// GATHER:         %[[R0:.*]] = xnnpack.static_slice %[[W]] {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 0, 2, 3, 6>
// GATHER:         %[[F0:.*]] = xnnpack.constant dense<1.000000e+00> : tensor<1x1x1x6xf32>
// GATHER:         %[[B:.*]] = xnnpack.constant dense<8.000000e+00> : tensor<1xf32>
// GATHER:         %[[P0:.*]] = xnnpack.conv2d %[[R0]], %[[F0]], %[[B]] {xir.composed = "conv2d as im2col"}
// GATHER:         %[[R1:.*]] = xnnpack.static_slice %[[W]] {offsets = array<i32: 0, 1, 0, 0>, sizes = array<i32: 0, 2, 3, 6>
// GATHER:         %[[F1:.*]] = xnnpack.constant dense<2.000000e+00> : tensor<1x1x1x6xf32>
// GATHER:         %[[P1:.*]] = xnnpack.conv2d %[[R1]], %[[F1]] {xir.composed = "conv2d as im2col"}
// GATHER:         %[[S:.*]] = xnnpack.binary add %[[P0]], %[[P1]]
// GATHER:         xnnpack.clamp %[[S]] {output_max = 6.000000e+00 : f32, xir.composed = "conv2d as im2col"}
func.func @summed(%x: tensor<?x3x4x3xf32>) -> tensor<?x2x3x1xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<?x3x4x3xf32>) -> tensor<?x2x3x1xf32> {
  ^bb0(%a: tensor<?x3x4x3xf32>):
    %w = xnnpack.constant dense<[[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]]]> : tensor<1x2x2x3xf32>
    %b = xnnpack.constant dense<8.0> : tensor<1xf32>
    %0 = xnnpack.conv2d %a, %w, %b {output_max = 6.0 : f32}
         : (tensor<?x3x4x3xf32>, tensor<1x2x2x3xf32>, tensor<1xf32>) -> tensor<?x2x3x1xf32>
    xnnpack.yield %0 : tensor<?x2x3x1xf32>
  }
  func.return %y : tensor<?x2x3x1xf32>
}

// -----

// A product that GEMM computes as it is, and one of several groups, stay.
// GATHER-LABEL: func.func @plain(
// GATHER-NOT:     xir.composed
func.func @plain(%x: tensor<1x8x8x4xf32>) -> (tensor<1x8x8x4xf32>, tensor<1x6x6x4xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<1x8x8x4xf32>) -> (tensor<1x8x8x4xf32>, tensor<1x6x6x4xf32>) {
  ^bb0(%a: tensor<1x8x8x4xf32>):
    %p = xnnpack.constant dense<1.0> : tensor<4x1x1x4xf32>
    %g = xnnpack.constant dense<1.0> : tensor<4x3x3x2xf32>
    %0 = xnnpack.conv2d %a, %p : (tensor<1x8x8x4xf32>, tensor<4x1x1x4xf32>) -> tensor<1x8x8x4xf32>
    %1 = xnnpack.conv2d %a, %g {groups = 2 : i32} : (tensor<1x8x8x4xf32>, tensor<4x3x3x2xf32>) -> tensor<1x6x6x4xf32>
    xnnpack.yield %0, %1 : tensor<1x8x8x4xf32>, tensor<1x6x6x4xf32>
  }
  func.return %y#0, %y#1 : tensor<1x8x8x4xf32>, tensor<1x6x6x4xf32>
}
