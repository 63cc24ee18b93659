// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics
// RUN: xir-opt %s --split-input-file --partition-xnnpack='check=false' | filecheck %s

// XNNPACK itself is asked about each node, and what it refuses stays outside with its status as the reason. Here the
// verifier sees nothing wrong: the output is larger by `output_padding`, which torch wants below the stride or the
// dilation, and XNNPACK below the stride.

// CHECK-LABEL: func.func @output_padding(
// CHECK:         xnnpack.deconv2d
func.func @output_padding(%x: tensor<1x2x4x4xf32>, %y: tensor<1x2x10x10xf32>) -> tensor<1x2x10x10xf32> {
  %w = edge.constant dense<0.5> : tensor<2x2x3x3xf32>
  // expected-remark @+1 {{edge.convolution not delegated: xnnpack.deconv2d: XNNPACK refuses to run at these shapes: invalid parameter}}
  %0 = edge.convolution(%x, %w, none) {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>,
         dilation = array<i64: 2, 2>, transposed = true, output_padding = array<i64: 1, 1>, groups = 1 : i64}
       : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x9x9xf32>
  %1 = edge.constant_pad_nd(%0) {pad = array<i64: 0, 1, 0, 1>} : (tensor<1x2x9x9xf32>) -> tensor<1x2x10x10xf32>
  %2 = edge.add.Tensor(%1, %y) : (tensor<1x2x10x10xf32>, tensor<1x2x10x10xf32>) -> tensor<1x2x10x10xf32>
  func.return %2 : tensor<1x2x10x10xf32>
}
