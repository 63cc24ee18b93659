// RUN: xir-opt %s --band-spatial=max-arena=3700 | filecheck %s
// RUN: xir-opt %s --band-spatial | filecheck %s --check-prefix NONE
// RUN: not xir-opt %s --band-spatial=max-arena=1000 2>&1 | filecheck %s --check-prefix LITTLE

// Four rows of 1024 bytes are between the two, and no more than three in bands of one row of the result each: padding
// stays at the edges of the image, and the row that both bands need is computed twice.
// CHECK-LABEL: func.func @stem(
// CHECK:       ^bb0(%[[A:.*]]: tensor<1x4x8x2xf32>):
// CHECK-DAG:     %[[W:.*]] = xnnpack.constant {{.*}} : tensor<32x3x3x2xf32>
// CHECK-DAG:     %[[V:.*]] = xnnpack.constant {{.*}} : tensor<2x3x3x32xf32>
// CHECK:         %[[A0:.*]] = xnnpack.static_slice %[[A]] {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 3, 8, 2>, xir.composed = "conv2d in 2 bands"} : tensor<1x4x8x2xf32> -> tensor<1x3x8x2xf32>
// CHECK-NEXT:    %[[B0:.*]] = xnnpack.conv2d %[[A0]], %[[W]] {padding = array<i32: 1, 1, 0, 1>, {{.*}} -> tensor<1x2x8x32xf32>
// CHECK-NEXT:    %[[C0:.*]] = xnnpack.conv2d %[[B0]], %[[V]] {padding = array<i32: 1, 1, 0, 1>, stride = array<i32: 2, 2>, {{.*}} -> tensor<1x1x4x2xf32>
// CHECK-NEXT:    %[[B1:.*]] = xnnpack.conv2d %[[A]], %[[W]] {padding = array<i32: 0, 1, 1, 1>, {{.*}} -> tensor<1x3x8x32xf32>
// CHECK-NEXT:    %[[C1:.*]] = xnnpack.conv2d %[[B1]], %[[V]] {padding = array<i32: 0, 1, 0, 1>, stride = array<i32: 2, 2>, {{.*}} -> tensor<1x1x4x2xf32>
// CHECK-NEXT:    %[[C:.*]] = xnnpack.concatenate %[[C0]], %[[C1]] {axis = 1 : i32, {{.*}} -> tensor<1x2x4x2xf32>
// CHECK-NEXT:    xnnpack.yield %[[C]]
// NONE-NOT:   xir.composed
// LITTLE:     band-spatial.mlir:[[#]]:10: error: a delegate needs 4352 bytes for tensors when xnnpack.conv2d runs, 1000 are allowed: in bands it needs 3409
func.func @stem(%x: tensor<1x4x8x2xf32>) -> tensor<1x2x4x2xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<1x4x8x2xf32>) -> tensor<1x2x4x2xf32> {
  ^bb0(%a: tensor<1x4x8x2xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<32x3x3x2xf32>
    %v = xnnpack.constant dense<1.0> : tensor<2x3x3x32xf32>
    %0 = xnnpack.conv2d %a, %w {padding = array<i32: 1, 1, 1, 1>}
         : (tensor<1x4x8x2xf32>, tensor<32x3x3x2xf32>) -> tensor<1x4x8x32xf32>
    %1 = xnnpack.conv2d %0, %v {padding = array<i32: 1, 1, 1, 1>, stride = array<i32: 2, 2>}
         : (tensor<1x4x8x32xf32>, tensor<2x3x3x32xf32>) -> tensor<1x2x4x2xf32>
    xnnpack.yield %1 : tensor<1x2x4x2xf32>
  }
  func.return %z : tensor<1x2x4x2xf32>
}
