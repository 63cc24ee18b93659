// A pass that fails leaves a file, which repeats the failure by itself.
// RUN: rm -f %t.mlir
// RUN: not xir-opt --cse --lower-to-pte --mlir-pass-pipeline-crash-reproducer=%t.mlir %s 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=FILE < %t.mlir
// RUN: not xir-opt --run-reproducer %t.mlir 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: not xir-opt --run-reproducer --cse %t.mlir 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not xir-opt --run-reproducer %s 2>&1 | filecheck %s --check-prefix=NONE

// CHECK: crash-reproducer.mlir:35:9: error: 'edge.constant' has no place in a program
// CHECK: .mlir: note: xir-opt --run-reproducer repeats the failure with this file

// What the pass was given: one sum is left, and the location of the input.
// FILE:      edge.add.Tensor
// FILE-NOT:  edge.add.Tensor
// FILE:      loc("{{.*}}crash-reproducer.mlir":
// FILE:      dialect_resources
// FILE:      external_resources: {
// FILE-NEXT:   mlir_reproducer: {
// FILE-NEXT:     pipeline: "builtin.module(lower-to-pte)",
// FILE-NEXT:     disable_threading: true,
// FILE-NEXT:     verify_each: true

// AGAIN: error: 'edge.constant' has no place in a program
// BOTH: xir-opt: error: --run-reproducer runs the pipeline of the input: leave passes out
// NONE: xir-opt: error: the input is no reproducer: it has no external resource 'mlir_reproducer' with a pipeline

func.func @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = edge.constant dense_resource<w> : tensor<4xf32>
  %0 = edge.add.Tensor(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.add.Tensor(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.mul.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

%lost = edge.constant dense<1.0> : tensor<4xf32>

{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F0000003F0000003E0000803E"
    }
  },
  external_resources: {
    other: {
      text: "kept apart",
      flag: true
    }
  }
#-}
