// RUN: xir-opt %s --partition-xnnpack --verify-diagnostics | filecheck %s
// RUN: xir-opt %s --partition-xnnpack=target=xir | filecheck %s --check-prefix=XIR

// A node that stock ExecuTorch lacks needs xir's own runtime.
// CHECK-LABEL:   func.func @round(
// CHECK:           edge.round(%x) {xir.reason = "stock ExecuTorch has no node for it"}
// XIR-LABEL:     func.func @round(
// XIR:             xnnpack.subgraph(%x) {target = "xir"}
// XIR:               xnnpack.unary bankers_rounding
func.func @round(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{edge.round not delegated: stock ExecuTorch has no node for it (compile for target "xir")}}
  %0 = edge.round(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
