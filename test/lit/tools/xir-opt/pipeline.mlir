// Passes as flags and as text, in the order given.
// RUN: xir-opt %s --cse --canonicalize --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=FLAGS
// RUN: xir-opt %s --pass-pipeline='builtin.module(cse, canonicalize)' --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=FLAGS
// RUN: xir-opt --canonicalize %s -cse --mlir-print-ir-before-all 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: xir-opt %s --cleanup --mlir-print-ir-after=canonicalize,drop-dead-resources 2>&1 | filecheck %s --check-prefix=NAMED
// RUN: xir-opt --pass-pipeline 'cleanup,cse' %s --mlir-print-ir-before=drop-dead-resources 2>&1 | filecheck %s --check-prefix=ONE
// RUN: xir-opt %s --cse --mlir-timing 2>&1 | filecheck %s --check-prefix=TIMING
// RUN: xir-opt %s --cse --verify-each=false --mlir-timing 2>&1 | filecheck %s --check-prefix=UNVERIFIED

// FLAGS: // -----// IR Dump After Cse (cse) //----- //
// FLAGS-NEXT: builtin.module {
// FLAGS: edge.exp
// FLAGS: // -----// IR Dump After Canonicalize (canonicalize) //----- //
// FLAGS-NEXT: builtin.module {
// FLAGS-NOT: edge.exp
// FLAGS: func.return

// BEFORE: // -----// IR Dump Before Canonicalize (canonicalize) //----- //
// BEFORE: edge.exp
// BEFORE: // -----// IR Dump Before Cse (cse) //----- //
// BEFORE-NOT: edge.exp
// BEFORE: func.return

// NAMED: IR Dump After Canonicalize
// NAMED-NOT: IR Dump After Cse
// NAMED: IR Dump After DropDeadResources (drop-dead-resources)

// ONE-COUNT-1: IR Dump Before DropDeadResources
// ONE-NOT: IR Dump

// TIMING: Execution time report
// TIMING: Total Execution Time: {{[0-9.]+}} seconds
// TIMING: parser
// TIMING-NEXT: verifier
// TIMING-NEXT: cse
// TIMING-NEXT: verifier
// TIMING-NEXT: output
// TIMING: total

// UNVERIFIED: parser
// UNVERIFIED-NEXT: cse
// UNVERIFIED-NEXT: output

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %dead = edge.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}
