// RUN: xir-opt %s --partition-xnnpack | filecheck %s
// RUN: xir-opt %s --partition-xnnpack=target=xir | filecheck %s --check-prefix=XIR

// Stock ExecuTorch has no node that rounds: there a sum rounds that fp32 holds no fractions of.
// CHECK-LABEL:   func.func @round(
// CHECK:           xnnpack.subgraph(%x) : (
// CHECK:             xnnpack.constant dense<8.388608e+06> : tensor<f32>
// CHECK-NEXT:        xnnpack.binary add %{{.*}} {output_min = 8.388608e+06 : f32, output_max = 16777216.0 : f32}
// XIR-LABEL:     func.func @round(
// XIR:             xnnpack.subgraph(%x) {target = "xir"}
// XIR-NEXT:        ^bb0
// XIR-NEXT:          xnnpack.unary bankers_rounding
// XIR-NEXT:          xnnpack.yield
func.func @round(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.round(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
