// RUN: xir-opt %s --fold-lookups --split-input-file | filecheck %s

// Learned positions up to the length.
// CHECK-LABEL: func.func @positions(
// CHECK:         %[[R:.*]] = edge.constant dense<{{\[\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00]]]> : tensor<1x3x2xf32>
// CHECK-NEXT:    %[[S:.*]] = edge.slice.Tensor(%[[R]])[%n] {dim = 1 : i64, {{.*}}} : (tensor<1x3x2xf32>, i64) -> tensor<1x?x2xf32>
// CHECK-NEXT:    func.return %[[S]]
func.func @positions(%n: i64) -> tensor<1x?x2xf32> {
  %table = edge.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %steps = edge.constant dense<[[0, 1, 2]]> : tensor<1x3xi64>
  %0 = edge.slice.Tensor(%steps)[%n] {dim = 1 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x3xi64>, i64) -> tensor<1x?xi64>
  %1 = edge.embedding(%table, %0) : (tensor<3x2xf32>, tensor<1x?xi64>) -> tensor<1x?x2xf32>
  func.return %1 : tensor<1x?x2xf32>
}

// -----

// One token type for all.
// CHECK-LABEL: func.func @one_row(
// CHECK:         %[[R:.*]] = edge.constant dense<[3.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %[[A:.*]] = edge.add.Tensor(%x, %[[R]])
// CHECK-NEXT:    func.return %[[A]]
func.func @one_row(%x: tensor<4x2xf32>, %positions: tensor<4xi64>) -> tensor<4x2xf32> {
  %table = edge.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %types = edge.constant dense<1> : tensor<9xi64>
  %0 = edge.gather(%types, %positions) {dim = 0 : i64} : (tensor<9xi64>, tensor<4xi64>) -> tensor<4xi64>
  %1 = edge.embedding(%table, %0) : (tensor<3x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %2 = edge.add.Tensor(%x, %1) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  func.return %2 : tensor<4x2xf32>
}

// -----

// Positions that are counted past padding: no conversions, and the first row is never read.
// CHECK-LABEL: func.func @past_padding(
// CHECK-NEXT:    %[[N:.*]] = edge.ne.Scalar(%ids)
// CHECK-NEXT:    %[[C:.*]] = edge.cumsum(%[[N]]) {dim = 0 : i64} : (tensor<4xi1>) -> tensor<4xi64>
// CHECK-NEXT:    %[[M:.*]] = edge.mul.Tensor(%[[C]], %[[N]]) : (tensor<4xi64>, tensor<4xi1>) -> tensor<4xi64>
// CHECK-NEXT:    %[[T:.*]] = edge.constant dense<{{.*}}> : tensor<5x1xf32>
// CHECK-NEXT:    edge.embedding(%[[T]], %[[M]])
func.func @past_padding(%ids: tensor<4xi64>) -> tensor<4x1xf32> {
  %table = edge.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]> : tensor<6x1xf32>
  %0 = edge.ne.Scalar(%ids) {other = 1 : i64} : (tensor<4xi64>) -> tensor<4xi1>
  %1 = edge._to_copy(%0) {dtype = i32} : (tensor<4xi1>) -> tensor<4xi32>
  %2 = edge.cumsum(%1) {dim = 0 : i64} : (tensor<4xi32>) -> tensor<4xi64>
  %3 = edge._to_copy(%2) {dtype = i32} : (tensor<4xi64>) -> tensor<4xi32>
  %4 = edge.mul.Tensor(%3, %1) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %5 = edge._to_copy(%4) {dtype = i64} : (tensor<4xi32>) -> tensor<4xi64>
  %6 = edge.add.Scalar(%5) {other = 1 : i64} : (tensor<4xi64>) -> tensor<4xi64>
  %7 = edge.embedding(%table, %6) : (tensor<6x1xf32>, tensor<4xi64>) -> tensor<4x1xf32>
  func.return %7 : tensor<4x1xf32>
}

// -----

// An input plus a number may be negative plus a number, which is a row as well.
// CHECK-LABEL: func.func @of_an_input(
// CHECK:         edge.add.Scalar
// CHECK-NEXT:    edge.embedding
func.func @of_an_input(%ids: tensor<4xi64>) -> tensor<4x1xf32> {
  %table = edge.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]> : tensor<6x1xf32>
  %0 = edge.add.Scalar(%ids) {other = 1 : i64} : (tensor<4xi64>) -> tensor<4xi64>
  %1 = edge.embedding(%table, %0) : (tensor<6x1xf32>, tensor<4xi64>) -> tensor<4x1xf32>
  func.return %1 : tensor<4x1xf32>
}

// -----

// What follows from positions alone is looked up at the largest length; of fewer positions it has the first rows. The
// logarithm of 0 is no integer, and does not count behind the choice.
// CHECK-LABEL: func.func @relative
// CHECK: %[[ROWS:.*]] = edge.constant dense<{{.*}}> : tensor<3x3x1xf32>
// CHECK: %[[FIRST:.*]] = edge.slice.Tensor(%[[ROWS]])[%n] {{.*}} : (tensor<3x3x1xf32>, i64) -> tensor<?x3x1xf32>
// CHECK: %[[BOTH:.*]] = edge.slice.Tensor(%[[FIRST]])[%n] {dim = 1 : i64, {{.*}} -> tensor<?x?x1xf32>
// CHECK-NOT: edge.embedding
// CHECK: edge.abs(%[[BOTH]])
func.func @relative(%x: tensor<?xf32> {xir.max_shape = array<i64: 3>, xir.dim_names = ["n"]}) -> tensor<?x?x1xf32> {
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xf32>) -> i64
  %table = edge.constant dense<[[10.0], [11.0], [12.0], [13.0], [14.0]]> : tensor<5x1xf32>
  %at = edge.arange.start_step()[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  %column = edge.unsqueeze(%at) {dim = 1 : i64} : (tensor<?xi64>) -> tensor<?x1xi64>
  %distance = edge.sub.Tensor(%at, %column) : (tensor<?xi64>, tensor<?x1xi64>) -> tensor<?x?xi64>
  %far = edge.abs(%distance) : (tensor<?x?xi64>) -> tensor<?x?xi64>
  %float = edge._to_copy(%far) {dtype = f32} : (tensor<?x?xi64>) -> tensor<?x?xf32>
  %log = edge.log(%float) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %whole = edge._to_copy(%log) {dtype = i64} : (tensor<?x?xf32>) -> tensor<?x?xi64>
  %behind = edge.add.Scalar(%whole) {other = 4 : i64} : (tensor<?x?xi64>) -> tensor<?x?xi64>
  %is_near = edge.lt.Scalar(%far) {other = 2 : i64} : (tensor<?x?xi64>) -> tensor<?x?xi1>
  %bucket = edge.where.self(%is_near, %far, %behind) : (tensor<?x?xi1>, tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi64>
  %rows = edge.embedding(%table, %bucket) : (tensor<5x1xf32>, tensor<?x?xi64>) -> tensor<?x?x1xf32>
  %0 = edge.abs(%rows) : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  func.return %0 : tensor<?x?x1xf32>
}

// -----

// The logarithm of 0 counts, and what an integer is that it becomes is the processor's affair.
// CHECK-LABEL: func.func @left_open
// CHECK: edge.embedding
func.func @left_open(%x: tensor<?xf32> {xir.max_shape = array<i64: 3>, xir.dim_names = ["n"]}) -> tensor<?x1xf32> {
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xf32>) -> i64
  %table = edge.constant dense<[[10.0], [11.0], [12.0]]> : tensor<3x1xf32>
  %at = edge.arange.start_step()[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  %float = edge._to_copy(%at) {dtype = f32} : (tensor<?xi64>) -> tensor<?xf32>
  %log = edge.log(%float) : (tensor<?xf32>) -> tensor<?xf32>
  %whole = edge._to_copy(%log) {dtype = i64} : (tensor<?xf32>) -> tensor<?xi64>
  %rows = edge.embedding(%table, %whole) : (tensor<3x1xf32>, tensor<?xi64>) -> tensor<?x1xf32>
  func.return %rows : tensor<?x1xf32>
}
