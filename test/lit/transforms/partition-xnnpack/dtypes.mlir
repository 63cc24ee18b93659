// RUN: xir-opt %s --partition-xnnpack='dtypes=f16,bf16' --verify-diagnostics | filecheck %s
// RUN: not xir-opt %s --partition-xnnpack='dtypes=f64' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// UNKNOWN: option 'dtypes' of 'partition-xnnpack': expected f32 or f16 or bf16, got 'f64'
// CHECK-NOT: xnnpack
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.abs not delegated: the option dtypes leaves out f32}}
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
