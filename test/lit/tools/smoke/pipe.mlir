// The tools as programs: arguments, standard input and output, exit codes, redirections.
// RUN: xir-opt --allow-unregistered-dialect --canonicalize %s | xir-opt --allow-unregistered-dialect --mlir-print-op-generic | filecheck %s
// RUN: xir-opt --allow-unregistered-dialect - -o %t.mlir < %s
// RUN: filecheck --check-prefix=FILE %s < %t.mlir
// RUN: not xir-opt %s 2>&1 | filecheck --check-prefix=ERROR %s

// CHECK: "func.func"() <{function_type = (i32) -> i32, sym_name = "f"}>
// CHECK: "some.op"(%a) : (i32) -> i32
// FILE: func.func @f(%a: i32) -> i32
// ERROR: pipe.mlir:12:8: error: 'some.op' belongs to no known dialect
func.func @f(%a: i32) -> i32 {
  %b = "some.op"(%a) : (i32) -> i32
  func.return %b : i32
}
