// RUN: xir-opt %s --split-input-file --delegate --verify-diagnostics | filecheck %s

// XNNPACK sees a dynamic node as late as in check-xnnpack, at its largest shape. What it refuses then goes back outside,
// and the rest is delegated as if it had never been inside; each remark is given once.
// CHECK-LABEL: func.func @refused_late(
// CHECK:         xnnpack.subgraph
// CHECK:           xnnpack.unary abs
// CHECK-NOT:     xnnpack.static_resize_bilinear2d
// CHECK:         %{{.*}} = edge.upsample_bilinear2d.vec(
// CHECK-SAME:      xir.reason = "XNNPACK refuses to run at these shapes: unsupported parameter"
// CHECK-NOT:     xir.origins
// CHECK:         edge.cumsum
func.func @refused_late(
    %x: tensor<?x1x1x16777216xf32> {xir.max_shape = array<i64: 2, 1, 1, 16777216>}) -> tensor<?x1x1x4xf32> {
  %0 = edge.abs(%x) : (tensor<?x1x1x16777216xf32>) -> tensor<?x1x1x16777216xf32>
  // expected-remark @+1 {{check-xnnpack: edge.upsample_bilinear2d.vec not delegated: XNNPACK refuses to run at these shapes}}
  %1 = edge.upsample_bilinear2d.vec(%0) {output_size = array<i64: 1, 4>, align_corners = false}
       : (tensor<?x1x1x16777216xf32>) -> tensor<?x1x1x4xf32>
  // expected-remark @+1 {{edge.cumsum not delegated: no rule lowers it to XNNPACK}}
  %2 = edge.cumsum(%1) {dim = 0 : i64} : (tensor<?x1x1x4xf32>) -> tensor<?x1x1x4xf32>
  func.return %2 : tensor<?x1x1x4xf32>
}
