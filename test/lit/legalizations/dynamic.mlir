// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// As many numbers as a floating-point value before has rows, even where no argument has: the value's elements are cut off.
// CHECK-LABEL: func.func @rows_of_tokens(
// CHECK:         %[[E:.*]] = edge.embedding
// CHECK:         xnnpack.subgraph(%[[E]])
// CHECK:         %[[P:.*]] = xnnpack.static_constant_pad %{{.*}} {padding_value = 2.500000e+00 : f32, post_paddings = array<i32: 0, 3>, pre_paddings = array<i32: 0, 0>} : tensor<1x1xf32> -> tensor<1x4xf32>
// CHECK:         %[[ROW:.*]] = xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0>, sizes = array<i32: 0, 1>} : tensor<?x4xf32> -> tensor<?x1xf32>
// CHECK-NEXT:    %[[PADDED:.*]] = xnnpack.static_constant_pad %[[ROW]] {padding_value = 1.000000e+00 : f32, post_paddings
// CHECK-NEXT:    %[[ONES:.*]] = xnnpack.static_slice %[[PADDED]] {offsets = array<i32: 0, 0>, sizes = array<i32: 0, 1>}
// CHECK-NEXT:    xnnpack.binary multiply %[[P]], %[[ONES]] : tensor<1x4xf32>, tensor<?x1xf32> -> tensor<?x4xf32>
func.func @rows_of_tokens(%x: tensor<?xi64>) -> tensor<?x4xf32> {
  %w = edge.constant dense<1.0> : tensor<9x4xf32>
  %0 = edge.embedding(%w, %x) : (tensor<9x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %1 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xi64>) -> i64
  %2 = edge.full()[%1] {size = array<i64: -9223372036854775808, 4>, fill_value = 2.5 : f64} : (i64) -> tensor<?x4xf32>
  %3 = edge.add.Tensor(%0, %2) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %3 : tensor<?x4xf32>
}

// -----

// Positions: the last of those up to the bound, behind elements of a value of that length.
// CHECK-LABEL: func.func @positions(
// CHECK:         xnnpack.subgraph
// CHECK:         %[[P:.*]] = xnnpack.binary subtract {{.*}} : tensor<?x1xf32>
// CHECK:         %[[R:.*]] = xnnpack.static_reshape %[[P]]
// CHECK:         %[[S:.*]] = xnnpack.binary multiply %[[R]]
// CHECK:         xnnpack.binary add %[[S]]
// CHECK-NOT:     edge.arange
func.func @positions(%x: tensor<?xf32> {xir.max_shape = array<i64: 9>}) -> tensor<?xf32> {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xf32>) -> i64
  %1 = edge.arange.start_step()[%0] {start = 0 : i64, end, dtype = f32} : (i64) -> tensor<?xf32>
  %2 = edge.mul.Scalar(%1) {other = 2.0 : f64} : (tensor<?xf32>) -> tensor<?xf32>
  %3 = edge.add.Tensor(%2, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %3 : tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @positions_as_integers(
// CHECK:         edge.arange
func.func @positions_as_integers(%x: tensor<?xf32> {xir.max_shape = array<i64: 9>}) -> tensor<?xi64> {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xf32>) -> i64
  // expected-remark @+1 {{edge.arange.start_step not delegated: it counts integers, or from a number that only the run time knows}}
  %1 = edge.arange.start_step()[%0] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  func.return %1 : tensor<?xi64>
}

// -----

// What comes later cannot be asked.
// CHECK-LABEL: func.func @too_late(
// CHECK:         edge.full
func.func @too_late(%x: tensor<?xi64>) -> tensor<?x4xf32> {
  %w = edge.constant dense<1.0> : tensor<9x4xf32>
  %1 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xi64>) -> i64
  // expected-remark @+1 {{edge.full not delegated: it has a dynamic size that no earlier floating-point value has}}
  %2 = edge.full()[%1] {size = array<i64: -9223372036854775808, 4>, fill_value = 2.5 : f64} : (i64) -> tensor<?x4xf32>
  %0 = edge.embedding(%w, %x) : (tensor<9x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %3 = edge.add.Tensor(%0, %2) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %3 : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @full_like(
// CHECK:         xnnpack.static_constant_pad %{{.*}} {padding_value = -1.000000e+00 : f32, post_paddings = array<i32: 2>, pre_paddings = array<i32: 0>} : tensor<1xf32> -> tensor<3xf32>
func.func @full_like(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = edge.full_like(%x) {fill_value = -1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = edge.mul.Tensor(%0, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @single(
// CHECK:         edge.full
func.func @single(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  // expected-remark @+1 {{edge.full not delegated: it is a single number, so there is nothing to compute}}
  %0 = edge.full() {size = array<i64: 1, 1>, fill_value = 2.0 : f64} : () -> tensor<1x1xf32>
  %1 = edge.add.Tensor(%x, %0) : (tensor<1x3xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  func.return %1 : tensor<1x3xf32>
}

// -----

// A number filled in for a kernel outside is filled in there.
// CHECK-LABEL: func.func @filled_outside(
// CHECK-NOT:     xnnpack
func.func @filled_outside(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-remark @+1 {{edge.full not delegated: it only moves data between ops outside}}
  %0 = edge.full() {size = array<i64: 3>, fill_value = 1.0 : f64} : () -> tensor<3xf32>
  %1 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// -----

// Positions along a dynamic dimension: the last of a table as long as its bound, less the first of these. A causal mask
// is −∞ where the key's position is larger than the query's.
// CHECK-LABEL: func.func @causal(
// CHECK:         %[[TABLE:.*]] = xnnpack.constant dense<{{\[\[}}0.000000e+00], [1.000000e+00], [2.000000e+00]]> : tensor<3x1xf32>
// CHECK:         %[[BOTH:.*]] = xnnpack.concatenate %{{.*}}, %[[TABLE]] {axis = 0 : i32}
// CHECK-NEXT:    %[[LAST:.*]] = xnnpack.static_slice %[[BOTH]] {offsets = array<i32: 3, 0>, sizes = array<i32: 0, 1>} : tensor<?x1xf32> -> tensor<?x1xf32>
// CHECK-NEXT:    %[[FIRST:.*]] = xnnpack.static_slice %[[LAST]] {offsets = array<i32: 0, 0>, sizes = array<i32: 1, 1>} : tensor<?x1xf32> -> tensor<1x1xf32>
// CHECK-NEXT:    %[[ROWS:.*]] = xnnpack.binary subtract %[[LAST]], %[[FIRST]] : tensor<?x1xf32>, tensor<1x1xf32> -> tensor<?x1xf32>
// CHECK:         xnnpack.binary subtract %{{.*}}, %[[ROWS]] : tensor<1x?xf32>, tensor<?x1xf32> -> tensor<?x?xf32>
// CHECK:         %[[MASK:.*]] = xnnpack.binary multiply
// CHECK:         xnnpack.binary add %{{.*}}, %[[MASK]] : tensor<2x?x?xf32>, tensor<?x?xf32> -> tensor<2x?x?xf32>
// CHECK:         xnnpack.softmax
func.func @causal(%q: tensor<2x?x4xf32> {xir.max_shape = array<i64: 2, 3, 4>}) -> tensor<2x?x4xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %q, %q, none) {is_causal = true} : (tensor<2x?x4xf32>, tensor<2x?x4xf32>, tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  func.return %0 : tensor<2x?x4xf32>
}

// -----

// CHECK-LABEL: func.func @triangle(
// CHECK:         %[[KEPT:.*]] = xnnpack.binary multiply
// CHECK-NEXT:    %[[MAX:.*]] = xnnpack.binary maximum %{{.*}}, %[[KEPT]] : tensor<4x?xf32>, tensor<4x?xf32> -> tensor<4x?xf32>
// CHECK-NEXT:    %[[NEGATED:.*]] = xnnpack.unary negate %[[KEPT]]
// CHECK-NEXT:    %[[MIN:.*]] = xnnpack.binary minimum %[[MAX]], %[[NEGATED]]
// CHECK-NEXT:    xnnpack.static_transpose %[[MIN]]
func.func @triangle(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 3, 4>}) -> tensor<?x4xf32> {
  %0 = edge.triu(%x) {diagonal = 1 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @unbounded(
// CHECK:         edge.tril
func.func @unbounded(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-remark @+1 {{edge.tril not delegated: it counts along a dynamic dimension, whose bound is unknown}}
  %0 = edge.tril(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}

// -----

// The beginning of a table: pooling in pairs that are as far apart as the table is long.
// CHECK-LABEL: func.func @table(
// CHECK:         %[[TABLE:.*]] = xnnpack.constant dense<{{.*}}> : tensor<1x3x1x2xf32>
// CHECK:         %[[BOTH:.*]] = xnnpack.concatenate %[[TABLE]], %{{.*}} {axis = 1 : i32} : (tensor<1x3x1x2xf32>, tensor<1x?x1x2xf32>) -> tensor<1x?x1x2xf32>
// CHECK-NEXT:    %[[PREFIX:.*]] = xnnpack.max_pooling2d %[[BOTH]] {{{.*}}dilation = array<i32: 3, 1>, kernel = array<i32: 2, 1>{{.*}}} : tensor<1x?x1x2xf32> -> tensor<1x?x1x2xf32>
// CHECK-NEXT:    xnnpack.static_reshape %[[PREFIX]] {new_shape = array<i32: 0, 2>} : tensor<1x?x1x2xf32> -> tensor<?x2xf32>
func.func @table(%x: tensor<?x2xf32> {xir.max_shape = array<i64: 3, 2>}) -> tensor<?x2xf32> {
  %t = edge.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x2xf32>) -> i64
  %1 = edge.slice.Tensor(%t)[%0] {dim = 0 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<3x2xf32>, i64) -> tensor<?x2xf32>
  %2 = edge.add.Tensor(%x, %1) : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  func.return %2 : tensor<?x2xf32>
}

// -----

// Pooling would not keep what is no number.
// CHECK-LABEL: func.func @no_numbers(
// CHECK:         edge.slice.Tensor
func.func @no_numbers(%x: tensor<?xf32> {xir.max_shape = array<i64: 2>}) -> tensor<?xf32> {
  %t = edge.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xf32>) -> i64
  // expected-remark @+1 {{edge.slice.Tensor not delegated: its run depends on a dynamic dimension}}
  %1 = edge.slice.Tensor(%t)[%0] {dim = 0 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<2xf32>, i64) -> tensor<?xf32>
  %2 = edge.add.Tensor(%x, %1) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %2 : tensor<?xf32>
}

// -----

// Two rows of two leave nothing behind them, and XNNPACK has no empty tensors.
func.func @first_rows(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 9, 4>}, %y: tensor<2x4xf32>) -> tensor<?x4xf32> {
  // expected-remark @+1 {{edge.slice_scatter not delegated: nothing may remain after the part of a dynamic dimension that it replaces, and XNNPACK has no empty tensors}}
  %0 = edge.slice_scatter(%x, %y) {end = 2 : i64} : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
