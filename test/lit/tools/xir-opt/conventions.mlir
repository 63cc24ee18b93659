// Flags that mlir-opt has too, and what a slip in one says.
// RUN: xir-opt %s --cse --dump-pass-pipeline --verify-roundtrip 2>&1 | filecheck %s
// RUN: xir-opt --version | filecheck %s --check-prefix=VERSION
// RUN: not xir-opt %s --no-implicit-module 2>&1 | filecheck %s --check-prefix=MODULE
// RUN: not xir-opt %s --partition-xnpack 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not xir-opt %s --list-pases 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not xir-opt %s --mlir-print-ir-after=cze 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK: Pass Manager with 1 passes:
// CHECK-NEXT: builtin.module(cse)
// CHECK: func.func @f
// VERSION: xir-opt {{[0-9]+}}.{{[0-9]+}}.{{[0-9]+}}
// MODULE: conventions.mlir:1:1: error: expected a builtin.module around the operations
// PASS: error: unrecognized arguments: --partition-xnpack; did you mean '--partition-xnnpack'?
// FLAG: error: unrecognized arguments: --list-pases; did you mean '--list-passes'?
// UNKNOWN: error: there is no pass 'cze' to print the module around
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
