// When the module is printed around passes, and where.
// RUN: xir-opt %s --cse --canonicalize --mlir-print-ir-after-all --mlir-print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: xir-opt %s --cse --canonicalize --mlir-print-ir-after=cse --mlir-print-ir-after=canonicalize 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: xir-opt %s --cse --mlir-print-ir-after-failure 2>&1 | filecheck %s --check-prefix=PASSED
// RUN: rm -rf %t && xir-opt %s --cse --canonicalize --mlir-print-ir-after-all --mlir-print-ir-before=canonicalize --mlir-print-ir-tree-dir=%t | filecheck %s --check-prefix=QUIET
// RUN: filecheck %s --check-prefix=FILE < %t/builtin_module_no-symbol-name/0_cse.mlir
// RUN: filecheck %s --check-prefix=SECOND < %t/builtin_module_no-symbol-name/1_canonicalize.mlir
// RUN: filecheck %s --check-prefix=THIRD < %t/builtin_module_no-symbol-name/2_canonicalize.mlir

// CHANGE: // -----// IR Dump After Cse (cse) //----- //
// CHANGE-NOT: IR Dump

// TWICE: // -----// IR Dump After Cse (cse) //----- //
// TWICE: // -----// IR Dump After Canonicalize (canonicalize) //----- //

// PASSED-NOT: IR Dump

// QUIET-NOT: IR Dump
// FILE: // -----// IR Dump After Cse (cse) //----- //
// FILE-NOT: IR Dump
// SECOND: // -----// IR Dump Before Canonicalize (canonicalize) //----- //
// THIRD: // -----// IR Dump After Canonicalize (canonicalize) //----- //
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = edge.exp(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = edge.exp(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = edge.add.Tensor(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
