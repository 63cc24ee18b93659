// xir-translate as a program: files, standard input and output, and no file after an error.
// RUN: xir-opt %s --lower-to-pte --plan-memory -o %t.mlir
// RUN: xir-translate --mlir-to-pte %t.mlir -o %t.pte
// RUN: xir-translate --mlir-to-pte < %t.mlir | cmp - %t.pte
// RUN: xir-translate --pte-to-mlir %t.pte --print-resources | xir-translate --mlir-to-pte | cmp - %t.pte
// RUN: xir-translate --pte-to-mlir --mlir-print-op-generic < %t.pte | filecheck %s
// RUN: rm -f %t.none && not xir-translate --mlir-to-pte %s -o %t.none && test ! -e %t.none
// RUN: head -c 100 %t.pte | not xir-translate --pte-to-mlir 2>&1 | filecheck %s --check-prefix=TRUNCATED

// CHECK: "pte.kernel_call"
// TRUNCATED: <stdin>: error:
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = edge.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = edge.mul.Tensor(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
