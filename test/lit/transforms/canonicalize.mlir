// The driver; the rules themselves are tested with their dialects.
// RUN: xir-opt %s --canonicalize --allow-unregistered-dialect | filecheck %s
// RUN: xir-opt %s --canonicalize --allow-unregistered-dialect --mlir-print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: xir-opt %s --pass-pipeline='canonicalize{delegates=false}' --allow-unregistered-dialect | filecheck %s --check-prefix=OUTSIDE

// A chain of dead ops goes from its end.
// CHECK-LABEL: func.func @dead
// CHECK-NEXT: func.return %x
// OUTSIDE-LABEL: func.func @dead
// OUTSIDE-NEXT: func.return %x
func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.mul.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}

// CHECK-LABEL: func.func @effects
// CHECK-NEXT: "test.op"
func.func @effects(%x: i32) {
  %0 = "test.op"(%x) : (i32) -> i32
  func.return
}

// Rules apply until nothing changes, inside regions as well, and what they build is where the matched ops were. A
// delegate's graph is left alone if that is asked for.
// CHECK-LABEL: func.func @rules
// CHECK: ^bb0(%a: tensor<4x6xf32>):
// CHECK-NEXT: %[[R:.*]] = xnnpack.static_reshape %a {new_shape = array<i32: 3, 8>}
// CHECK-NEXT: xnnpack.yield %[[R]]
// OUTSIDE-LABEL: func.func @rules
// OUTSIDE: xnnpack.unary exp
// OUTSIDE-COUNT-2: xnnpack.static_reshape
// LOC: xnnpack.static_reshape %a {{.*}} loc(fused["first", "second"])
func.func @rules(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<4x6xf32>) -> tensor<3x8xf32> {
  ^bb0(%a: tensor<4x6xf32>):
    %dead = xnnpack.unary exp %a : tensor<4x6xf32> -> tensor<4x6xf32>
    %0 = xnnpack.static_reshape %a {new_shape = array<i32: 24>} : tensor<4x6xf32> -> tensor<24xf32> loc("first")
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 3, 8>} : tensor<24xf32> -> tensor<3x8xf32> loc("second")
    xnnpack.yield %1 : tensor<3x8xf32>
  }
  func.return %y : tensor<3x8xf32>
}

// A right matrix is transposed by the product's flag, through a reshape as well, so that its rows move as a whole.
// CHECK-LABEL: func.func @right_matrices
// CHECK: ^bb0(%a: tensor<6x5x4xf32>, %b: tensor<7x2x3x4xf32>):
// CHECK-NEXT: %[[T:.*]] = xnnpack.static_transpose %b {perm = array<i32: 1, 2, 0, 3>} : tensor<7x2x3x4xf32> -> tensor<2x3x7x4xf32>
// CHECK-NEXT: %[[R:.*]] = xnnpack.static_reshape %[[T]] {new_shape = array<i32: 6, 7, 4>}
// CHECK-NEXT: %[[S:.*]] = xnnpack.batch_matrix_multiply %a, %[[R]] {transpose_b} : (tensor<6x5x4xf32>, tensor<6x7x4xf32>) -> tensor<6x5x7xf32>
// CHECK-NEXT: %[[U:.*]] = xnnpack.static_transpose %b {perm = array<i32: 1, 2, 0, 3>} : tensor<7x2x3x4xf32> -> tensor<2x3x7x4xf32>
// CHECK-NEXT: %[[Q:.*]] = xnnpack.static_reshape %[[U]] {new_shape = array<i32: 6, 7, 4>}
// CHECK-NEXT: %[[Y:.*]] = xnnpack.batch_matrix_multiply %[[S]], %[[Q]] : (tensor<6x5x7xf32>, tensor<6x7x4xf32>) -> tensor<6x5x4xf32>
// CHECK-NEXT: xnnpack.yield %[[Y]]
func.func @right_matrices(%x: tensor<6x5x4xf32>, %y: tensor<7x2x3x4xf32>) -> tensor<6x5x4xf32> {
  %0 = xnnpack.subgraph(%x, %y) : (tensor<6x5x4xf32>, tensor<7x2x3x4xf32>) -> tensor<6x5x4xf32> {
  ^bb0(%a: tensor<6x5x4xf32>, %b: tensor<7x2x3x4xf32>):
    %1 = xnnpack.static_transpose %b {perm = array<i32: 1, 2, 3, 0>} : tensor<7x2x3x4xf32> -> tensor<2x3x4x7xf32>
    %2 = xnnpack.static_reshape %1 {new_shape = array<i32: 6, 4, 7>} : tensor<2x3x4x7xf32> -> tensor<6x4x7xf32>
    %3 = xnnpack.batch_matrix_multiply %a, %2 : (tensor<6x5x4xf32>, tensor<6x4x7xf32>) -> tensor<6x5x7xf32>
    %4 = xnnpack.static_transpose %b {perm = array<i32: 1, 2, 3, 0>} : tensor<7x2x3x4xf32> -> tensor<2x3x4x7xf32>
    %5 = xnnpack.static_reshape %4 {new_shape = array<i32: 6, 4, 7>} : tensor<2x3x4x7xf32> -> tensor<6x4x7xf32>
    %6 = xnnpack.batch_matrix_multiply %3, %5 {transpose_b} : (tensor<6x5x7xf32>, tensor<6x4x7xf32>) -> tensor<6x5x4xf32>
    xnnpack.yield %6 : tensor<6x5x4xf32>
  }
  func.return %0 : tensor<6x5x4xf32>
}

// A transpose stays where the flag would make the matrix be read across its rows, where something else reads it, and
// where a reshape changes the matrices.
// CHECK-LABEL: func.func @right_matrices_as_they_are
// CHECK: xnnpack.batch_matrix_multiply %{{[0-9a-z]+}}, %{{[0-9a-z]+}} :
// CHECK: xnnpack.batch_matrix_multiply %{{[0-9a-z]+}}, %{{[0-9a-z]+}} :
// CHECK: xnnpack.batch_matrix_multiply %{{[0-9a-z]+}}, %{{[0-9a-z]+}} :
// CHECK-NOT: transpose_b
func.func @right_matrices_as_they_are(%x: tensor<2x5x4xf32>, %y: tensor<4x2x7xf32>, %z: tensor<2x7x4xf32>)
    -> (tensor<2x5x7xf32>, tensor<2x5x7xf32>, tensor<2x4x7xf32>, tensor<2x5x7xf32>) {
  %0:4 = xnnpack.subgraph(%x, %y, %z) : (tensor<2x5x4xf32>, tensor<4x2x7xf32>, tensor<2x7x4xf32>)
      -> (tensor<2x5x7xf32>, tensor<2x5x7xf32>, tensor<2x4x7xf32>, tensor<2x5x7xf32>) {
  ^bb0(%a: tensor<2x5x4xf32>, %b: tensor<4x2x7xf32>, %c: tensor<2x7x4xf32>):
    %1 = xnnpack.static_transpose %b {perm = array<i32: 1, 0, 2>} : tensor<4x2x7xf32> -> tensor<2x4x7xf32>
    %2 = xnnpack.batch_matrix_multiply %a, %1 : (tensor<2x5x4xf32>, tensor<2x4x7xf32>) -> tensor<2x5x7xf32>
    %3 = xnnpack.static_transpose %c {perm = array<i32: 0, 2, 1>} : tensor<2x7x4xf32> -> tensor<2x4x7xf32>
    %4 = xnnpack.batch_matrix_multiply %a, %3 : (tensor<2x5x4xf32>, tensor<2x4x7xf32>) -> tensor<2x5x7xf32>
    %5 = xnnpack.static_transpose %c {perm = array<i32: 1, 2, 0>} : tensor<2x7x4xf32> -> tensor<7x4x2xf32>
    %6 = xnnpack.static_reshape %5 {new_shape = array<i32: 2, 4, 7>} : tensor<7x4x2xf32> -> tensor<2x4x7xf32>
    %7 = xnnpack.batch_matrix_multiply %a, %6 : (tensor<2x5x4xf32>, tensor<2x4x7xf32>) -> tensor<2x5x7xf32>
    xnnpack.yield %2, %4, %3, %7 : tensor<2x5x7xf32>, tensor<2x5x7xf32>, tensor<2x4x7xf32>, tensor<2x5x7xf32>
  }
  func.return %0#0, %0#1, %0#2, %0#3 : tensor<2x5x7xf32>, tensor<2x5x7xf32>, tensor<2x4x7xf32>, tensor<2x5x7xf32>
}
