// RUN: not xir-translate %s 2>&1 | filecheck %s --check-prefix=DIRECTION
// RUN: not xir-translate --mlir-to-pte %s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not xir-translate --pte-to-mlir %s 2>&1 | filecheck %s --check-prefix=NOT-A-PTE
// RUN: not xir-translate --mlir-to-pte %s 2>&1 | filecheck %s --check-prefix=FUNCTION
// RUN: xir-opt --lower-to-pte %s | not xir-translate --mlir-to-pte 2>&1 | filecheck %s --check-prefix=UNPLANNED
// RUN: xir-opt --lower-to-pte --plan-memory %s | not xir-translate --mlir-to-pte 2>&1 | filecheck %s --check-prefix=WEIGHTS
// RUN: not xir-translate --mlir-to-pte %s -o %S/missing/out.pte 2>&1 | filecheck %s --check-prefix=UNWRITABLE

// DIRECTION: xir-translate: error: one of the arguments --pt2-to-mlir --mlir-to-pte --pte-to-mlir --needed-kernels is required
// MISSING:   xir-translate: error: cannot open '{{.*}}errors.mlir.missing': No such file or directory
// NOT-A-PTE: errors.mlir: error: the file identifier is {{.*}}, expected 'ET12' at byte 4 in Program
// FUNCTION:  error: a file holds one pte.program, the module has 0; lower it with --lower-to-pte --plan-memory
// UNWRITABLE: xir-translate: error: cannot write '{{.*}}missing/out.pte': No such file or directory
// UNPLANNED: <stdin>:{{.*}}: error: the plan has no arenas; give it some with --plan-memory
// WEIGHTS:   <stdin>:{{.*}}: error: resource "w" has no data here: print the module with --print-resources to keep the weights
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = edge.constant dense_resource<w> : tensor<4xf32>
  %0 = edge.mul.Tensor(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
