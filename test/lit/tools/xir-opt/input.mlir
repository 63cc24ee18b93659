// Nothing but comments is an empty module; ops outside a module are put into one.
// RUN: xir-opt < /dev/null | filecheck %s --check-prefix=EMPTY
// RUN: xir-opt - < %s | filecheck %s
// RUN: xir-opt --show-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: xir-opt --list-passes | filecheck %s --check-prefix=PASSES

// EMPTY: builtin.module {
// EMPTY-NEXT: }
// DIALECTS: Available Dialects: builtin, delegate, edge, func, pte, quant, xnnpack
// PASSES: passes:
// PASSES: --canonicalize
// PASSES-NEXT: Simplify each op
// PASSES: --partition-xnnpack
// PASSES: min-ops=<int> (default: 1)
// PASSES: pipelines:
// PASSES: --cleanup
// PASSES-NEXT: Removes unused ops and resources.
// PASSES-NEXT: canonicalize,cse,drop-dead-resources

// CHECK: builtin.module {
// CHECK-NEXT: func.func @f
// CHECK: func.func @g
func.func @f() {
  func.return
}
func.func @g() {
  func.return
}
