// RUN: xir-opt %s --verify-diagnostics --mark-delegates="backend=xnnpack target=xir" --fold-constants \
// RUN:   --drop-dead-resources --form-delegates --legalize-to-xnnpack | filecheck %s

// What passes drop that nothing refers to any longer is there again where the program goes back to what it was.
// CHECK-LABEL: func.func @refused_after_resources(
// CHECK:         xnnpack.constant dense<[3.000000e+00, 5.000000e+00]>
// CHECK:         edge.atan2
func.func @refused_after_resources(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = edge.constant dense_resource<w> : tensor<2xf32>
  %0 = edge.add.Scalar(%w) {other = 1.0 : f64, alpha = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = edge.mul.Tensor(%0, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // expected-remark @+1 {{edge.atan2 not delegated: stock ExecuTorch has no node for it}}
  %2 = edge.atan2(%1, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000004000008040"
    }
  }
#-}
