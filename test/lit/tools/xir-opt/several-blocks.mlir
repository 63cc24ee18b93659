// RUN: xir-opt %s --unmerge-dynamic-dims | filecheck %s

// Sizes are followed through one block alone.
// CHECK-LABEL: func.func @several_blocks(
// CHECK:       ^bb1(
"func.func"() <{sym_name = "several_blocks", function_type = (tensor<1xf32>) -> ()}> ({
^bb0(%x: tensor<1xf32>):
  "func.return"() : () -> ()
^bb1(%y: tensor<1xf32>):
  "func.return"() : () -> ()
}) : () -> ()
