// RUN: xir-opt %s --fold-positions --split-input-file | filecheck %s

// As transformers looks for sequences in a row: one begins where positions do not follow one another.
// CHECK-LABEL: func.func @packed
// CHECK-NEXT: func.return %mask
func.func @packed(%mask: tensor<1x?xi1> {xir.max_shape = array<i64: 1, 4096>, xir.dim_names = ["", "n"]}) -> tensor<1x?xi1> {
  %n = edge.sym_size.int(%mask) {dim = 1 : i64} : (tensor<1x?xi1>) -> i64
  %0 = edge.arange.start_step()[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  %1 = edge.unsqueeze(%0) {dim = 0 : i64} : (tensor<?xi64>) -> tensor<1x?xi64>
  %2 = edge.slice.Tensor(%1) {dim = 1 : i64, start = 0 : i64, end = 1 : i64} : (tensor<1x?xi64>) -> tensor<1x1xi64>
  %3 = edge.sub.Scalar(%2) {other = 1 : i64} : (tensor<1x1xi64>) -> tensor<1x1xi64>
  %4 = edge.cat([%3, %1]) {dim = 1 : i64} : (tensor<1x1xi64>, tensor<1x?xi64>) -> tensor<1x?xi64>
  %5 = edge.slice.Tensor(%4) {dim = 1 : i64, start = 1 : i64} : (tensor<1x?xi64>) -> tensor<1x?xi64>
  %6 = edge.slice.Tensor(%4)[%n] {dim = 1 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x?xi64>, i64) -> tensor<1x?xi64>
  %7 = edge.sub.Tensor(%5, %6) : (tensor<1x?xi64>, tensor<1x?xi64>) -> tensor<1x?xi64>
  %8 = edge.ne.Scalar(%7) {other = 1 : i64} : (tensor<1x?xi64>) -> tensor<1x?xi1>
  %9 = edge.cumsum(%8) {dim = 1 : i64} : (tensor<1x?xi1>) -> tensor<1x?xi64>
  %10 = edge.eq.Scalar(%9) {other = 0 : i64} : (tensor<1x?xi64>) -> tensor<1x?xi1>
  %11 = edge.logical_and(%mask, %10) : (tensor<1x?xi1>, tensor<1x?xi1>) -> tensor<1x?xi1>
  func.return %11 : tensor<1x?xi1>
}

// -----

// A causal mask by positions that are looked up for each text of a batch: scores repeat it.
// CHECK-LABEL: func.func @causal
// CHECK-NOT: edge.index.Tensor
// CHECK-NOT: edge.expand
// CHECK: %[[SEEN:.*]] = edge.le.Tensor(%{{.*}}, %{{.*}}) : (tensor<1x1x1x?xi64>, tensor<1x1x?x1xi64>) -> tensor<1x1x?x?xi1>
// CHECK: edge.scaled_dot_product_attention(%q, %q, %q, %[[SEEN]])
func.func @causal(%q: tensor<?x2x?x4xf32> {xir.max_shape = array<i64: 4, 2, 4096, 4>, xir.dim_names = ["b", "", "n", ""]}) -> tensor<?x2x?x4xf32> {
  %b = edge.sym_size.int(%q) {dim = 0 : i64} : (tensor<?x2x?x4xf32>) -> i64
  %n = edge.sym_size.int(%q) {dim = 2 : i64} : (tensor<?x2x?x4xf32>) -> i64
  %0 = edge.arange.start_step()[%b] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  %1 = edge.view(%0) {size = array<i64: -1, 1, 1, 1>} : (tensor<?xi64>) -> tensor<?x1x1x1xi64>
  %2 = edge.arange.start_step()[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  %3 = edge.unsqueeze(%2) {dim = 0 : i64} : (tensor<?xi64>) -> tensor<1x?xi64>
  %4 = edge.expand(%3)[%b] {size = array<i64: -9223372036854775808, -1>} : (tensor<1x?xi64>, i64) -> tensor<?x?xi64>
  %5 = edge.view(%2) {size = array<i64: 1, 1, -1, 1>} : (tensor<?xi64>) -> tensor<1x1x?x1xi64>
  %6 = edge.view(%2) {size = array<i64: 1, 1, 1, -1>} : (tensor<?xi64>) -> tensor<1x1x1x?xi64>
  %7 = edge.index.Tensor(%4, [%1, %5]) : (tensor<?x?xi64>, tensor<?x1x1x1xi64>, tensor<1x1x?x1xi64>) -> tensor<?x1x?x1xi64>
  %8 = edge.index.Tensor(%4, [%1, %6]) : (tensor<?x?xi64>, tensor<?x1x1x1xi64>, tensor<1x1x1x?xi64>) -> tensor<?x1x1x?xi64>
  %9 = edge.le.Tensor(%8, %7) : (tensor<?x1x1x?xi64>, tensor<?x1x?x1xi64>) -> tensor<?x1x?x?xi1>
  %10 = edge.scaled_dot_product_attention(%q, %q, %q, %9) : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x1x?x?xi1>) -> tensor<?x2x?x4xf32>
  func.return %10 : tensor<?x2x?x4xf32>
}

// -----

// CHECK-LABEL: func.func @hides_nothing
// CHECK: edge.scaled_dot_product_attention(%q, %q, %q, none)
func.func @hides_nothing(%q: tensor<1x2x?x4xf32> {xir.max_shape = array<i64: 1, 2, 64, 4>, xir.dim_names = ["", "", "n", ""]}) -> tensor<1x2x?x4xf32> {
  %n = edge.sym_size.int(%q) {dim = 2 : i64} : (tensor<1x2x?x4xf32>) -> i64
  %0 = edge.arange.start_step()[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  %1 = edge.view(%0) {size = array<i64: 1, 1, -1, 1>} : (tensor<?xi64>) -> tensor<1x1x?x1xi64>
  %2 = edge.ge.Scalar(%1) {other = 0 : i64} : (tensor<1x1x?x1xi64>) -> tensor<1x1x?x1xi1>
  %3 = edge.expand(%2)[%n, %n] {size = array<i64: 1, 1, -9223372036854775808, -9223372036854775808>} : (tensor<1x1x?x1xi1>, i64, i64) -> tensor<1x1x?x?xi1>
  %4 = edge.scaled_dot_product_attention(%q, %q, %q, %3) : (tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>, tensor<1x1x?x?xi1>) -> tensor<1x2x?x4xf32>
  func.return %4 : tensor<1x2x?x4xf32>
}

// -----

// What hides all is a mask, and what is not of positions alone is computed.
// CHECK-LABEL: func.func @stay
// CHECK: %[[SUM:.*]] = edge.cumsum(%ids)
// CHECK: %[[KEPT:.*]] = edge.ge.Tensor(%[[SUM]], %{{.*}})
// CHECK: %[[NONE:.*]] = edge.view(%{{.*}}) {size = array<i64: 1, 1, 1, -1>} : (tensor<?xi1>) -> tensor<1x1x1x?xi1>
// CHECK: edge.scaled_dot_product_attention(%q, %q, %q, %[[NONE]])
// CHECK: func.return %{{.*}}, %[[KEPT]]
func.func @stay(%ids: tensor<?xi64> {xir.max_shape = array<i64: 64>, xir.dim_names = ["n"]}, %q: tensor<1x2x?x4xf32> {xir.max_shape = array<i64: 1, 2, 64, 4>, xir.dim_names = ["", "", "n", ""]}) -> (tensor<1x2x?x4xf32>, tensor<?xi1>) {
  %n = edge.sym_size.int(%ids) {dim = 0 : i64} : (tensor<?xi64>) -> i64
  %0 = edge.arange.start_step()[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  %1 = edge.cumsum(%ids) {dim = 0 : i64} : (tensor<?xi64>) -> tensor<?xi64>
  %2 = edge.ge.Tensor(%1, %0) : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
  %3 = edge.lt.Scalar(%0) {other = 0 : i64} : (tensor<?xi64>) -> tensor<?xi1>
  %4 = edge.view(%3) {size = array<i64: 1, 1, 1, -1>} : (tensor<?xi1>) -> tensor<1x1x1x?xi1>
  %5 = edge.scaled_dot_product_attention(%q, %q, %q, %4) : (tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>, tensor<1x1x1x?xi1>) -> tensor<1x2x?x4xf32>
  func.return %5, %2 : tensor<1x2x?x4xf32>, tensor<?xi1>
}
