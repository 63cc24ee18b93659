// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics
// RUN: xir-opt %s --split-input-file --partition-xnnpack='check=false' | filecheck %s

// XNNPACK itself is asked about each node, and what it refuses stays outside with its status as the reason. Here the
// verifier sees nothing wrong: XNNPACK interpolates in images of less than 2^24 pixels in a row.

// CHECK-LABEL: func.func @long_image(
// CHECK:         xnnpack.static_resize_bilinear2d
func.func @long_image(%x: tensor<1x1x1x16777216xf32>) -> tensor<1x1x2x4xf32> {
  // expected-remark @+1 {{edge.upsample_bilinear2d.vec not delegated: xnnpack.static_resize_bilinear2d: XNNPACK refuses to run at these shapes: unsupported parameter}}
  %0 = edge.upsample_bilinear2d.vec(%x) {output_size = array<i64: 2, 4>, align_corners = false} : (tensor<1x1x1x16777216xf32>) -> tensor<1x1x2x4xf32>
  %1 = edge.exp(%0) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  func.return %1 : tensor<1x1x2x4xf32>
}
