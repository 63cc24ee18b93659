// What passes leave is what there was: the module comes out, and nothing is said.
// RUN: xir-opt --delegate --emit --verify-numerics %s 2>&1 | filecheck %s
// RUN: not xir-opt --delegate --inputs=x.npy %s 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not xir-opt --delegate --verify-numerics --inputs=no-such.npy %s 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not xir-opt --delegate --verify-numerics=much %s 2>&1 | filecheck %s --check-prefix=NUMBER

// ALONE: xir-opt: error: --inputs goes with --verify-numerics
// FILE: xir-opt: error: cannot read the inputs: {{.*}}no-such.npy
// NUMBER: xir-opt: error: argument --verify-numerics: invalid float value: 'much'

// CHECK-NOT: changes what
// CHECK: pte.program
func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = edge._softmax(%x) {dim = -1 : i64, half_to_float = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}
