// RUN: xir-opt %s --delegate-masks --verify-diagnostics | filecheck %s
// RUN: xir-opt %s --delegate-masks --delegate --emit | filecheck %s --check-prefix=PTE

// The chain is one graph; what reads floats stays outside, and XNNPACK may have it.
// CHECK-LABEL: func.func @forward
// CHECK:         masks.graph(%ids)
// CHECK:           masks.compute not_equal
// CHECK:           masks.reshape
// CHECK:           masks.compute and
// CHECK:           masks.compute select
// CHECK:           masks.yield
// CHECK:         edge.add.Tensor
// PTE:           pte.delegate @forward_0 "XirMasksBackend"
// PTE:           pte.delegate @forward_1 "XnnpackBackend"
// PTE-NOT:       pte.kernel_call
func.func @forward(%ids: tensor<2x4xi64>, %scores: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
  %causal = edge.constant dense<[[true, false, false, false], [true, true, false, false],
                                 [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %low = edge.constant dense<-1.0e4> : tensor<f32>
  %zero = edge.constant dense<0.0> : tensor<f32>
  %0 = edge.ne.Scalar(%ids) {other = 1 : i64} : (tensor<2x4xi64>) -> tensor<2x4xi1>
  %1 = edge.unsqueeze(%0) {dim = 1 : i64} : (tensor<2x4xi1>) -> tensor<2x1x4xi1>
  %2 = edge.bitwise_and.Tensor(%1, %causal) : (tensor<2x1x4xi1>, tensor<4x4xi1>) -> tensor<2x4x4xi1>
  %3 = edge.where.self(%2, %zero, %low) : (tensor<2x4x4xi1>, tensor<f32>, tensor<f32>) -> tensor<2x4x4xf32>
  // expected-remark @+1 {{edge.add.Tensor not delegated: it computes with floats (masks are of integers and bools)}}
  %4 = edge.add.Tensor(%scores, %3) : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  func.return %4 : tensor<2x4x4xf32>
}
