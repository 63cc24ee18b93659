// A function of several blocks has no numbers: a warning says so, and the module comes out.
// RUN: xir-opt --cse --verify-numerics %s 2>&1 | filecheck %s

// CHECK-DAG: verify-numerics-blocks.mlir:8:1: warning: numbers are not verified from here on: a function of several blocks is not evaluated
// CHECK-DAG: func.func @several_blocks(

// func.func's own syntax has one block.
"func.func"() <{sym_name = "several_blocks", function_type = (tensor<1xf32>) -> ()}> ({
^bb0(%x: tensor<1xf32>):
  "func.return"() : () -> ()
^bb1(%y: tensor<1xf32>):
  "func.return"() : () -> ()
}) : () -> ()
