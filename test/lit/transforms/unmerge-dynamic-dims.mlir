// RUN: xir-opt %s --unmerge-dynamic-dims --split-input-file | filecheck %s

// A projection of rows, as attention has it: batch and length are merged, and split again.
// CHECK-LABEL: func.func @linear(
// CHECK-NEXT:    %[[W:.*]] = edge.constant
// CHECK-NEXT:    %[[R:.*]] = edge.linear(%x, %[[W]], none) : (tensor<?x?x4xf32>, tensor<3x4xf32>) -> tensor<?x?x3xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @linear(%x: tensor<?x?x4xf32>) -> tensor<?x?x3xf32> {
  %w = edge.constant dense<1.0> : tensor<3x4xf32>
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x?x4xf32>) -> i64
  %t = edge.sym_size.int(%x) {dim = 1 : i64} : (tensor<?x?x4xf32>) -> i64
  %rows = edge.executorch_prim.mul.Scalar()[%n, %t] {a = -9223372036854775808 : i64, b = -9223372036854775808 : i64} : (i64, i64) -> i64
  %0 = edge.view(%x)[%rows] {size = array<i64: -9223372036854775808, 4>} : (tensor<?x?x4xf32>, i64) -> tensor<?x4xf32>
  %1 = edge.linear(%0, %w, none) : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
  %2 = edge.view(%1)[%n, %t] {size = array<i64: -9223372036854775808, -9223372036854775808, 3>} : (tensor<?x3xf32>, i64, i64) -> tensor<?x?x3xf32>
  func.return %2 : tensor<?x?x3xf32>
}

// -----

// Heads, merged with the batch and split off again behind a transpose.
// CHECK-LABEL: func.func @heads(
// CHECK:         %[[V:.*]] = edge.view(%x)[%{{.*}}, %{{.*}}] {size = array<i64: -9223372036854775808, -9223372036854775808, 2, 3>} : (tensor<?x?x6xf32>, i64, i64) -> tensor<?x?x2x3xf32>
// CHECK-NEXT:    %[[P:.*]] = edge.permute(%[[V]]) {dims = array<i64: 1, 2, 0, 3>} : (tensor<?x?x2x3xf32>) -> tensor<?x2x?x3xf32>
// CHECK-NEXT:    func.return %[[P]]
func.func @heads(%x: tensor<?x?x6xf32>) -> tensor<?x2x?x3xf32> {
  %t = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x?x6xf32>) -> i64
  %n = edge.sym_size.int(%x) {dim = 1 : i64} : (tensor<?x?x6xf32>) -> i64
  %nh = edge.executorch_prim.mul.Scalar()[%n] {a = -9223372036854775808 : i64, b = 2 : i64} : (i64) -> i64
  %0 = edge.view(%x)[%t, %nh] {size = array<i64: -9223372036854775808, -9223372036854775808, 3>} : (tensor<?x?x6xf32>, i64, i64) -> tensor<?x?x3xf32>
  %1 = edge.transpose.int(%0) {dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  %2 = edge.view(%1)[%n, %t] {size = array<i64: -9223372036854775808, 2, -9223372036854775808, 3>} : (tensor<?x?x3xf32>, i64, i64) -> tensor<?x2x?x3xf32>
  func.return %2 : tensor<?x2x?x3xf32>
}

// -----

// What is split otherwise than it was merged stays.
// CHECK-LABEL: func.func @other_way(
// CHECK:         edge.view(%x)
// CHECK:         edge.transpose.int
// CHECK:         edge.view
func.func @other_way(%x: tensor<?x?x6xf32>) -> tensor<?x?xf32> {
  %n = edge.sym_size.int(%x) {dim = 1 : i64} : (tensor<?x?x6xf32>) -> i64
  %0 = edge.view(%x)[%n] {size = array<i64: -1, 6, -9223372036854775808>} : (tensor<?x?x6xf32>, i64) -> tensor<?x6x?xf32>
  %1 = edge.transpose.int(%0) {dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<?x6x?xf32>) -> tensor<6x?x?xf32>
  %2 = edge.view(%1)[%n] {size = array<i64: -1, -9223372036854775808>} : (tensor<6x?x?xf32>, i64) -> tensor<?x?xf32>
  func.return %2 : tensor<?x?xf32>
}

// -----

// One dynamic dimension is no trouble to XNNPACK.
// CHECK-LABEL: func.func @one(
// CHECK:         edge.view
// CHECK:         edge.linear
// CHECK:         edge.view
func.func @one(%x: tensor<?x5x4xf32>) -> tensor<?x5x3xf32> {
  %w = edge.constant dense<1.0> : tensor<3x4xf32>
  %0 = edge.view(%x) {size = array<i64: -1, 4>} : (tensor<?x5x4xf32>) -> tensor<?x4xf32>
  %1 = edge.linear(%0, %w, none) : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
  %2 = edge.view(%1) {size = array<i64: -1, 5, 3>} : (tensor<?x3xf32>) -> tensor<?x5x3xf32>
  func.return %2 : tensor<?x5x3xf32>
}

// -----

// Pixels as tokens: a normalisation, a sum with numbers for all rows, and a residual are computed on the image.
// CHECK-LABEL: func.func @tokens(
// CHECK:         %[[P:.*]] = edge.permute(%x) {dims = array<i64: 0, 2, 3, 1>} : (tensor<?x4x?x?xf32>) -> tensor<?x?x?x4xf32>
// CHECK-NEXT:    %[[NORM:.*]] = edge.layer_norm(%[[P]], none, none) {normalized_shape = array<i64: 4>} : (tensor<?x?x?x4xf32>) -> tensor<?x?x?x4xf32>
// CHECK-NEXT:    %[[SUM:.*]] = edge.add.Tensor(%[[NORM]], %{{.*}}) : (tensor<?x?x?x4xf32>, tensor<1x1x4xf32>) -> tensor<?x?x?x4xf32>
// CHECK:         %[[BOTH:.*]] = edge.mul.Tensor(%[[SUM]], %{{.*}}) : (tensor<?x?x?x4xf32>, tensor<?x?x?x4xf32>) -> tensor<?x?x?x4xf32>
// CHECK-NEXT:    %[[R:.*]] = edge.permute(%[[BOTH]]) {dims = array<i64: 0, 3, 1, 2>} : (tensor<?x?x?x4xf32>) -> tensor<?x4x?x?xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @tokens(%x: tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32> {
  %b = edge.constant dense<1.0> : tensor<1x1x4xf32>
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x4x?x?xf32>) -> i64
  %h = edge.sym_size.int(%x) {dim = 2 : i64} : (tensor<?x4x?x?xf32>) -> i64
  %w = edge.sym_size.int(%x) {dim = 3 : i64} : (tensor<?x4x?x?xf32>) -> i64
  %hw = edge.executorch_prim.mul.Scalar()[%h, %w] {a = -9223372036854775808 : i64, b = -9223372036854775808 : i64} : (i64, i64) -> i64
  %0 = edge.view(%x)[%n, %hw] {size = array<i64: -9223372036854775808, 4, -9223372036854775808>} : (tensor<?x4x?x?xf32>, i64, i64) -> tensor<?x4x?xf32>
  %1 = edge.transpose.int(%0) {dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<?x4x?xf32>) -> tensor<?x?x4xf32>
  %2 = edge.layer_norm(%1, none, none) {normalized_shape = array<i64: 4>} : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %3 = edge.add.Tensor(%2, %b) : (tensor<?x?x4xf32>, tensor<1x1x4xf32>) -> tensor<?x?x4xf32>
  %4 = edge.mul.Tensor(%3, %1) : (tensor<?x?x4xf32>, tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %5 = edge.transpose.int(%4) {dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<?x?x4xf32>) -> tensor<?x4x?xf32>
  %6 = edge.view(%5)[%n, %h, %w] {size = array<i64: -9223372036854775808, 4, -9223372036854775808, -9223372036854775808>} : (tensor<?x4x?xf32>, i64, i64, i64) -> tensor<?x4x?x?xf32>
  func.return %6 : tensor<?x4x?x?xf32>
}

// -----

// Other numbers for each merged row stay with it.
// CHECK-LABEL: func.func @numbers_of_rows(
// CHECK:         %[[ROWS:.*]] = edge.view(%x)
// CHECK-NEXT:    edge.add.Tensor(%[[ROWS]], %y)
func.func @numbers_of_rows(%x: tensor<?x?x4xf32> {xir.dim_names = ["n", "t", ""]}, %y: tensor<?x4xf32> {xir.dim_names = ["n*t", ""]}) -> tensor<?x4xf32> {
  %0 = edge.view(%x) {size = array<i64: -1, 4>} : (tensor<?x?x4xf32>) -> tensor<?x4xf32>
  %1 = edge.add.Tensor(%0, %y) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %1 : tensor<?x4xf32>
}

// -----

// Products with matrices, as GPT-2's layers are; one whose terms are weighted stays.
// CHECK-LABEL: func.func @products(
// CHECK:         %[[M:.*]] = edge.matmul(%x, %{{.*}}) : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
// CHECK-NEXT:    %[[A:.*]] = edge.add.Tensor(%[[M]], %b) : (tensor<?x?x4xf32>, tensor<4xf32>) -> tensor<?x?x4xf32>
// CHECK:         %[[N:.*]] = edge.matmul(%x, %{{.*}}) : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
// CHECK:         edge.addmm({{.*}}) {alpha = 2 : i64}
// CHECK:         func.return %[[A]], %[[N]], %{{.*}}
func.func @products(%x: tensor<?x?x4xf32>, %b: tensor<4xf32>) -> (tensor<?x?x4xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>) {
  %w = edge.constant dense<1.0> : tensor<4x4xf32>
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x?x4xf32>) -> i64
  %t = edge.sym_size.int(%x) {dim = 1 : i64} : (tensor<?x?x4xf32>) -> i64
  %rows = edge.executorch_prim.mul.Scalar()[%n, %t] {a = -9223372036854775808 : i64, b = -9223372036854775808 : i64} : (i64, i64) -> i64
  %0 = edge.view(%x)[%rows] {size = array<i64: -9223372036854775808, 4>} : (tensor<?x?x4xf32>, i64) -> tensor<?x4xf32>
  %1 = edge.addmm(%b, %0, %w) : (tensor<4xf32>, tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %2 = edge.view(%1)[%n, %t] {size = array<i64: -9223372036854775808, -9223372036854775808, 4>} : (tensor<?x4xf32>, i64, i64) -> tensor<?x?x4xf32>
  %3 = edge.mm(%0, %w) : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %4 = edge.view(%3)[%n, %t] {size = array<i64: -9223372036854775808, -9223372036854775808, 4>} : (tensor<?x4xf32>, i64, i64) -> tensor<?x?x4xf32>
  %5 = edge.addmm(%b, %0, %w) {alpha = 2 : i64} : (tensor<4xf32>, tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %6 = edge.view(%5)[%n, %t] {size = array<i64: -9223372036854775808, -9223372036854775808, 4>} : (tensor<?x4xf32>, i64, i64) -> tensor<?x?x4xf32>
  func.return %2, %4, %6 : tensor<?x?x4xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>
}

// -----

// Attention of `MultiheadAttention` whose weights are asked for: scores with a mask, their softmax, and its products keep
// batch and heads apart, so that the weights are split off without a view.
// CHECK-LABEL: func.func @weights(
// CHECK:         %[[SCORES:.*]] = edge.matmul(%x, %y) : (tensor<?x2x?x4xf32>, tensor<?x2x4x?xf32>) -> tensor<?x2x?x?xf32>
// CHECK:         %[[SUM:.*]] = edge.add.Tensor(%[[SCORES]], %mask) : (tensor<?x2x?x?xf32>, tensor<?x2x1x?xf32>) -> tensor<?x2x?x?xf32>
// CHECK:         %[[SOFT:.*]] = edge._softmax(%[[SUM]]) {dim = 3 : i64, half_to_float = false} : (tensor<?x2x?x?xf32>) -> tensor<?x2x?x?xf32>
// CHECK:         func.return %[[SOFT]]
func.func @weights(%x: tensor<?x2x?x4xf32> {xir.dim_names = ["n", "", "t", ""]},
                   %y: tensor<?x2x4x?xf32> {xir.dim_names = ["n", "", "", "s"]},
                   %mask: tensor<?x2x1x?xf32> {xir.dim_names = ["n", "", "", "s"]}) -> tensor<?x2x?x?xf32> {
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x2x?x4xf32>) -> i64
  %t = edge.sym_size.int(%x) {dim = 2 : i64} : (tensor<?x2x?x4xf32>) -> i64
  %s = edge.sym_size.int(%y) {dim = 3 : i64} : (tensor<?x2x4x?xf32>) -> i64
  %0 = edge.view(%x)[%t] {size = array<i64: -1, -9223372036854775808, 4>} : (tensor<?x2x?x4xf32>, i64) -> tensor<?x?x4xf32>
  %1 = edge.view(%y)[%s] {size = array<i64: -1, 4, -9223372036854775808>} : (tensor<?x2x4x?xf32>, i64) -> tensor<?x4x?xf32>
  %2 = edge.view(%mask)[%s] {size = array<i64: -1, 1, -9223372036854775808>} : (tensor<?x2x1x?xf32>, i64) -> tensor<?x1x?xf32>
  %3 = edge.baddbmm(%2, %0, %1) : (tensor<?x1x?xf32>, tensor<?x?x4xf32>, tensor<?x4x?xf32>) -> tensor<?x?x?xf32>
  %4 = edge._softmax(%3) {dim = -1 : i64, half_to_float = false} : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %5 = edge.view(%4)[%n, %t, %s] {size = array<i64: -9223372036854775808, 2, -9223372036854775808, -9223372036854775808>} : (tensor<?x?x?xf32>, i64, i64, i64) -> tensor<?x2x?x?xf32>
  func.return %5 : tensor<?x2x?x?xf32>
}

// -----

// Softmax along the merged dimension, products whose batches are merged of other parts, and weighted ones stay.
// CHECK-LABEL: func.func @along_the_merged(
// CHECK:         %[[ROWS:.*]] = edge.view(%x)
// CHECK-NEXT:    edge._softmax(%[[ROWS]]) {dim = 0
// CHECK-LABEL: func.func @other_parts(
// CHECK-NOT:     edge.matmul
// CHECK:         edge.bmm
// CHECK-LABEL: func.func @weighted(
// CHECK-NOT:     edge.matmul
// CHECK:         edge.baddbmm({{.*}}) {alpha = 2
func.func @along_the_merged(%x: tensor<?x2x?xf32>) -> tensor<?x?xf32> {
  %t = edge.sym_size.int(%x) {dim = 2 : i64} : (tensor<?x2x?xf32>) -> i64
  %0 = edge.view(%x)[%t] {size = array<i64: -1, -9223372036854775808>} : (tensor<?x2x?xf32>, i64) -> tensor<?x?xf32>
  %1 = edge._softmax(%0) {dim = 0 : i64, half_to_float = false} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %1 : tensor<?x?xf32>
}
func.func @other_parts(%x: tensor<?x2x?x4xf32> {xir.dim_names = ["n", "", "t", ""]},
                       %y: tensor<2x?x4x?xf32> {xir.dim_names = ["", "n", "", "s"]}) -> tensor<?x?x?xf32> {
  %t = edge.sym_size.int(%x) {dim = 2 : i64} : (tensor<?x2x?x4xf32>) -> i64
  %s = edge.sym_size.int(%y) {dim = 3 : i64} : (tensor<2x?x4x?xf32>) -> i64
  %0 = edge.view(%x)[%t] {size = array<i64: -1, -9223372036854775808, 4>} : (tensor<?x2x?x4xf32>, i64) -> tensor<?x?x4xf32>
  %1 = edge.view(%y)[%s] {size = array<i64: -1, 4, -9223372036854775808>} : (tensor<2x?x4x?xf32>, i64) -> tensor<?x4x?xf32>
  %2 = edge.bmm(%0, %1) : (tensor<?x?x4xf32>, tensor<?x4x?xf32>) -> tensor<?x?x?xf32>
  func.return %2 : tensor<?x?x?xf32>
}
func.func @weighted(%x: tensor<?x2x?x4xf32> {xir.dim_names = ["n", "", "t", ""]},
                    %y: tensor<?x2x4x?xf32> {xir.dim_names = ["n", "", "", "s"]}, %b: tensor<1x1x1xf32>) -> tensor<?x?x?xf32> {
  %t = edge.sym_size.int(%x) {dim = 2 : i64} : (tensor<?x2x?x4xf32>) -> i64
  %s = edge.sym_size.int(%y) {dim = 3 : i64} : (tensor<?x2x4x?xf32>) -> i64
  %0 = edge.view(%x)[%t] {size = array<i64: -1, -9223372036854775808, 4>} : (tensor<?x2x?x4xf32>, i64) -> tensor<?x?x4xf32>
  %1 = edge.view(%y)[%s] {size = array<i64: -1, 4, -9223372036854775808>} : (tensor<?x2x4x?xf32>, i64) -> tensor<?x4x?xf32>
  %2 = edge.baddbmm(%b, %0, %1) {alpha = 2 : i64} : (tensor<1x1x1xf32>, tensor<?x?x4xf32>, tensor<?x4x?xf32>) -> tensor<?x?x?xf32>
  func.return %2 : tensor<?x?x?xf32>
}
