// RUN: xir-opt %s --verify-diagnostics --mark-delegates="backend=xnnpack target=xir" --form-delegates \
// RUN:   --legalize-to-xnnpack | filecheck %s

// What a backend refuses after it was asked, here since it is asked for another runtime, goes back outside, and the
// delegates are formed once more.
// CHECK-LABEL: func.func @refused_in_region(
// CHECK-NEXT:    xnnpack.subgraph
// CHECK:           xnnpack.unary abs
// CHECK-NOT:       xnnpack.binary
// CHECK:         edge.atan2(%{{.*}}) {xir.reason = "stock ExecuTorch has no node for it"}
// CHECK-NEXT:    xnnpack.subgraph
// CHECK:           xnnpack.unary exp
// CHECK-NOT:     xir.
func.func @refused_in_region(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{edge.atan2 not delegated: stock ExecuTorch has no node for it}}
  %1 = edge.atan2(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.exp(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
