// What is wrong on the command line: one line, exit code 1.
// RUN: not xir-opt %s --canonicalise 2>&1 | filecheck %s --check-prefix=TYPO
// RUN: not xir-opt %s --pass-pipeline='builtin.module(canonicalise)' 2>&1 | filecheck %s --check-prefix=PIPELINE-TYPO
// RUN: not xir-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: not xir-opt %s --pass-pipeline='func.func(cse)' 2>&1 | filecheck %s --check-prefix=NESTED
// RUN: not xir-opt %s --drop-dead-resources='depth=2' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not xir-opt %s --cse --pass-pipeline=cse 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not xir-opt %s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not xir-opt %s -o %t.missing/out.mlir 2>&1 | filecheck %s --check-prefix=OUTPUT
// RUN: not xir-opt %s --mlir-print-ir-after=nothing 2>&1 | filecheck %s --check-prefix=PRINT
// RUN: not xir-opt %s --verify-each=perhaps 2>&1 | filecheck %s --check-prefix=BOOLEAN

// TYPO: xir-opt: error: unrecognized arguments: --canonicalise
// PIPELINE-TYPO: <pass-pipeline>:1:16: error: unknown pass 'canonicalise', did you mean 'canonicalize'?
// OPEN: <pass-pipeline>:1:19: error: expected ')' at the end of the pipeline
// NESTED: <pass-pipeline>:1:1: error: passes run on builtin.module only, not on 'func.func'
// OPTION: <pass-pipeline>:1:1: error: 'drop-dead-resources' has no option 'depth': it has none
// BOTH: xir-opt: error: --pass-pipeline and pass flags exclude each other
// MISSING: xir-opt: error: cannot open '{{.*}}errors.mlir.missing': No such file or directory
// OUTPUT: xir-opt: error: cannot write '{{.*}}out.mlir': No such file or directory
// PRINT: xir-opt: error: there is no pass 'nothing' to print the module around
// BOOLEAN: xir-opt: error: argument --verify-each: expected true or false, got 'perhaps'
func.func @f() {
  func.return
}
