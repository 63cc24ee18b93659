// RUN: xir-opt %s --partition-xnnpack='ops=edge.abs,add' --verify-diagnostics=only-expected | filecheck %s
// RUN: xir-opt %s --partition-xnnpack='exclude=exp,add.Scalar' | filecheck %s --check-prefix=EXCLUDE
// RUN: not xir-opt %s --partition-xnnpack='ops=edge.conv' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not xir-opt %s --partition-xnnpack='exclude=add.Tensr' 2>&1 | filecheck %s --check-prefix=OVERLOAD
// RUN: not xir-opt %s --partition-xnnpack='exclude=aten::erfinv' 2>&1 | filecheck %s --check-prefix=TORCH
// RUN: xir-opt %s --partition-xnnpack='ops=relu.default' | filecheck %s --check-prefix=DEFAULT

// An op is named as the text has it; `edge.` may be left out, and a name without overload stands for all overloads.

// UNKNOWN: error: there is no op 'edge.conv', did you mean 'edge.conv{{[12]}}d
// OVERLOAD: error: there is no op 'add.Tensr', did you mean 'edge.add.Tensor'?
// TORCH: error: there is no op 'aten::erfinv' in the program

// CHECK:      xnnpack.subgraph
// CHECK:        xnnpack.unary abs
// CHECK-NEXT:   xnnpack.constant
// CHECK-NEXT:   xnnpack.binary add
// CHECK:      edge.exp
// CHECK-SAME: xir.reason = "the option ops does not name it"

// EXCLUDE:      edge.add.Scalar
// EXCLUDE-SAME: xir.reason = "the option exclude names it"
// EXCLUDE-NEXT: edge.exp

// DEFAULT-NOT: xnnpack
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.add.Scalar(%0) {other = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{edge.exp not delegated: the option ops does not name it}}
  %2 = edge.exp(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
