// RUN: xir-opt %s --lower-masks --split-input-file | filecheck %s

// Two layers with one padding mask: it is computed once, and rows that see nothing are 0.
// CHECK-LABEL: func.func @attention(
// CHECK:         %[[F:.*]] = edge._to_copy(%mask) {dtype = f32} : (tensor<2x4xi64>) -> tensor<2x4xf32>
// CHECK-NEXT:    %[[A:.*]] = edge.abs(%[[F]])
// CHECK-NEXT:    %[[K:.*]] = edge.clamp(%[[A]])
// CHECK-NEXT:    %[[U:.*]] = edge.unsqueeze(%[[K]]) {dim = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
// CHECK-NEXT:    %[[H:.*]] = edge.sub.Scalar(%[[U]]) {other = 1.000000e+00 : f64}
// CHECK-NEXT:    %[[M:.*]] = edge.mul.Scalar(%[[H]]) {other = 3.4028234663852886e+38 : f64}
// CHECK-NEXT:    %[[S:.*]] = edge.mean.dim(%[[U]]) {dim = array<i64: -1>, keepdim = true} : (tensor<2x1x4xf32>) -> tensor<2x1x1xf32>
// CHECK-NEXT:    %[[L:.*]] = edge.mul.Scalar(%[[S]])
// CHECK-NEXT:    %[[C:.*]] = edge.clamp(%[[L]])
// CHECK-NEXT:    %[[X:.*]] = edge.scaled_dot_product_attention(%q, %q, %q, %[[M]])
// CHECK-NEXT:    %[[Y:.*]] = edge.mul.Tensor(%[[X]], %[[C]]) : (tensor<2x4x8xf32>, tensor<2x1x1xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT:    %[[Z:.*]] = edge.scaled_dot_product_attention(%[[Y]], %[[Y]], %[[Y]], %[[M]])
// CHECK-NEXT:    %[[R:.*]] = edge.mul.Tensor(%[[Z]], %[[C]])
// CHECK-NEXT:    func.return %[[R]]
func.func @attention(%q: tensor<2x4x8xf32>, %mask: tensor<2x4xi64>) -> tensor<2x4x8xf32> {
  %0 = edge._to_copy(%mask) {dtype = i1} : (tensor<2x4xi64>) -> tensor<2x4xi1>
  %1 = edge.unsqueeze(%0) {dim = 1 : i64} : (tensor<2x4xi1>) -> tensor<2x1x4xi1>
  %2 = edge.expand(%1) {size = array<i64: 2, 4, 4>} : (tensor<2x1x4xi1>) -> tensor<2x4x4xi1>
  %3 = edge.scaled_dot_product_attention(%q, %q, %q, %2) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x4xi1>) -> tensor<2x4x8xf32>
  %4 = edge.scaled_dot_product_attention(%3, %3, %3, %2) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x4xi1>) -> tensor<2x4x8xf32>
  func.return %4 : tensor<2x4x8xf32>
}

// -----

// What takes rows and columns whole is a reshape.
// CHECK-LABEL: func.func @whole_index(
// CHECK:         %[[F:.*]] = edge._to_copy(%mask) {dtype = f32} : (tensor<2x3xi32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[U:.*]] = edge.unsqueeze(%[[F]]) {dim = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
// CHECK-NEXT:    func.return %[[U]]
func.func @whole_index(%mask: tensor<2x3xi32>) -> tensor<2x1x3xf32> {
  %rows = edge.constant dense<[[[0]], [[1]]]> : tensor<2x1x1xi64>
  %columns = edge.constant dense<[0, 1, 2]> : tensor<3xi64>
  %0 = edge.index.Tensor(%mask, [%rows, %columns]) : (tensor<2x3xi32>, tensor<2x1x1xi64>, tensor<3xi64>) -> tensor<2x1x3xi32>
  %1 = edge._to_copy(%0) {dtype = f32} : (tensor<2x1x3xi32>) -> tensor<2x1x3xf32>
  func.return %1 : tensor<2x1x3xf32>
}

// -----

// Other indices stay: a row twice, and one dimension before another.
// CHECK-LABEL: func.func @other_index(
// CHECK-COUNT-2: edge.index.Tensor
// CHECK-NOT:     edge.unsqueeze
func.func @other_index(%mask: tensor<2x2xi32>) -> (tensor<2x1x2xf32>, tensor<2x1x2xf32>) {
  %rows = edge.constant dense<[[[0]], [[0]]]> : tensor<2x1x1xi64>
  %columns = edge.constant dense<[0, 1]> : tensor<2xi64>
  %outer = edge.constant dense<[[[0]], [[1]]]> : tensor<2x1x1xi64>
  %0 = edge.index.Tensor(%mask, [%rows, %columns]) : (tensor<2x2xi32>, tensor<2x1x1xi64>, tensor<2xi64>) -> tensor<2x1x2xi32>
  %1 = edge._to_copy(%0) {dtype = f32} : (tensor<2x1x2xi32>) -> tensor<2x1x2xf32>
  %2 = edge.index.Tensor(%mask, [%columns, %outer]) : (tensor<2x2xi32>, tensor<2xi64>, tensor<2x1x1xi64>) -> tensor<2x1x2xi32>
  %3 = edge._to_copy(%2) {dtype = f32} : (tensor<2x1x2xi32>) -> tensor<2x1x2xf32>
  func.return %1, %3 : tensor<2x1x2xf32>, tensor<2x1x2xf32>
}

// -----

// Logic and comparisons of integers with a number; the choice is between scores.
// CHECK-LABEL: func.func @logic(
// CHECK:         %[[F:.*]] = edge._to_copy(%ids) {dtype = f32} : (tensor<4xi64>) -> tensor<4xf32>
// CHECK:         %[[D:.*]] = edge.rsub.Scalar(%[[F]]) {other = 3.000000e+00 : f64}
// CHECK-NEXT:    %[[L:.*]] = edge.clamp(%[[D]])
// CHECK-NEXT:    %[[E:.*]] = edge.sub.Scalar(%[[F]]) {other = 7.000000e+00 : f64}
// CHECK-NEXT:    %[[A:.*]] = edge.abs(%[[E]])
// CHECK-NEXT:    %[[N:.*]] = edge.clamp(%[[A]])
// CHECK-NEXT:    %[[Q:.*]] = edge.rsub.Scalar(%[[N]]) {other = 1.000000e+00 : f64}
// CHECK-NEXT:    %[[O:.*]] = edge.maximum(%[[L]], %[[Q]])
// CHECK-NEXT:    %[[I:.*]] = edge.rsub.Scalar(%[[O]]) {other = 1.000000e+00 : f64}
// CHECK-NEXT:    %[[B:.*]] = edge.mul.Tensor(%[[I]], %[[L]])
// CHECK-NEXT:    %[[S:.*]] = edge.sub.Scalar(%[[B]]) {other = 5.000000e-01 : f64}
// CHECK-NEXT:    %[[P:.*]] = edge.mul.Scalar(%[[S]]) {other = 0x7FF0000000000000 : f64}
// CHECK-NEXT:    %[[M:.*]] = edge.mul.Scalar(%[[P]]) {other = -1.000000e+00 : f64}
// CHECK-NEXT:    %[[V:.*]] = edge.minimum(%x, %[[P]])
// CHECK-NEXT:    %[[W:.*]] = edge.minimum(%y, %[[M]])
// CHECK-NEXT:    edge.maximum(%[[V]], %[[W]])
func.func @logic(%ids: tensor<4xi64>, %a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %x = edge.matmul(%a, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = edge.mul.Scalar(%x) {other = 2.0 : f64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = edge.lt.Scalar(%ids) {other = 3 : i64} : (tensor<4xi64>) -> tensor<4xi1>
  %1 = edge.eq.Scalar(%ids) {other = 7 : i64} : (tensor<4xi64>) -> tensor<4xi1>
  %2 = edge.logical_or(%0, %1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %3 = edge.logical_not(%2) : (tensor<4xi1>) -> tensor<4xi1>
  %4 = edge.bitwise_and.Tensor(%3, %0) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %5 = edge.where.self(%4, %x, %y) : (tensor<4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %5 : tensor<4x4xf32>
}

// -----

// Positions up to a bound, and what is computed of them, are numbers that fp32 has.
// CHECK-LABEL: func.func @causal(
// CHECK:         %[[A:.*]] = edge.arange.start_step()[%{{.*}}] {dtype = f32, end, start = 0 : i64} : (i64) -> tensor<?xf32>
// CHECK-NEXT:    %[[R:.*]] = edge.unsqueeze(%[[A]]) {dim = 0 : i64}
// CHECK-NEXT:    %[[C:.*]] = edge.unsqueeze(%[[A]]) {dim = 1 : i64}
// CHECK-NEXT:    %[[S:.*]] = edge.sub.Scalar(%[[R]]) {other = 2 : i64}
// CHECK-NEXT:    %[[D:.*]] = edge.sub.Tensor(%[[S]], %[[C]])
// CHECK-NEXT:    %[[G:.*]] = edge.clamp(%[[D]])
// CHECK-NEXT:    %[[I:.*]] = edge.rsub.Scalar(%[[G]])
// CHECK-NEXT:    %[[N:.*]] = edge.rsub.Scalar(%[[I]])
// CHECK-NEXT:    edge.mul.Scalar(%[[N]]) {other = -1.000000e+04 : f64}
func.func @causal(%x: tensor<?xf32> {xir.max_shape = array<i64: 9>}) -> tensor<?x?xf32> {
  %zero = edge.constant dense<0.0> : tensor<f32>
  %low = edge.constant dense<-10000.0> : tensor<f32>
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xf32>) -> i64
  %0 = edge.arange.start_step()[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  %1 = edge.unsqueeze(%0) {dim = 0 : i64} : (tensor<?xi64>) -> tensor<1x?xi64>
  %2 = edge.unsqueeze(%0) {dim = 1 : i64} : (tensor<?xi64>) -> tensor<?x1xi64>
  %3 = edge.sub.Scalar(%1) {other = 2 : i64} : (tensor<1x?xi64>) -> tensor<1x?xi64>
  %4 = edge.le.Tensor(%3, %2) : (tensor<1x?xi64>, tensor<?x1xi64>) -> tensor<?x?xi1>
  %5 = edge.where.self(%4, %zero, %low) : (tensor<?x?xi1>, tensor<f32>, tensor<f32>) -> tensor<?x?xf32>
  func.return %5 : tensor<?x?xf32>
}

// -----

// Without a bound a kernel counts and compares.
// CHECK-LABEL: func.func @unbounded(
// CHECK:         edge.le.Tensor
// CHECK:         edge._to_copy
func.func @unbounded(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xf32>) -> i64
  %0 = edge.arange.start_step()[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  %1 = edge.neg(%0) : (tensor<?xi64>) -> tensor<?xi64>
  %2 = edge.le.Tensor(%0, %1) : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
  %3 = edge._to_copy(%2) {dtype = f32} : (tensor<?xi1>) -> tensor<?xf32>
  func.return %3 : tensor<?xf32>
}

// -----

// What is not chosen may be NaN, unless it is known to be a number.
// CHECK-LABEL: func.func @any_value(
// CHECK:         edge.where.self
func.func @any_value(%ids: tensor<4xi64>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.lt.Scalar(%ids) {other = 3 : i64} : (tensor<4xi64>) -> tensor<4xi1>
  %1 = edge.where.self(%0, %x, %y) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// A number that has no distance of 1 from its neighbours in fp32 is compared by a kernel, and a mask of floats, too.
// CHECK-LABEL: func.func @left_alone(
// CHECK:         edge.gt.Scalar(%ids) {other = 16777217 : i64}
// CHECK:         edge.gt.Scalar(%x)
// CHECK-NEXT:    edge.where.self
func.func @left_alone(%ids: tensor<4xi64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.gt.Scalar(%ids) {other = 16777217 : i64} : (tensor<4xi64>) -> tensor<4xi1>
  %1 = edge._to_copy(%0) {dtype = f32} : (tensor<4xi1>) -> tensor<4xf32>
  %2 = edge.gt.Scalar(%x) {other = 0.0 : f64} : (tensor<4xf32>) -> tensor<4xi1>
  %3 = edge.where.self(%2, %x, %1) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A mask of booleans made floats by writing to zeros of its shape, as `MultiheadAttention` does.
// CHECK-LABEL: func.func @written_to_zeros(
// CHECK:         edge._to_copy(%mask) {dtype = f32
// CHECK-NOT:     edge.full_like
// CHECK-NOT:     edge.masked_fill
// CHECK:         func.return
func.func @written_to_zeros(%mask: tensor<2x4xi1>) -> tensor<2x4xf32> {
  %0 = edge.full_like(%mask) {fill_value = 0 : i64, dtype = f32} : (tensor<2x4xi1>) -> tensor<2x4xf32>
  %1 = edge.masked_fill.Scalar(%0, %mask) {value = 0xFFF0000000000000 : f64} : (tensor<2x4xf32>, tensor<2x4xi1>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}

// -----

// What is written to has dimensions that the mask repeats along, or may be NaN.
// CHECK-LABEL: func.func @wider(
// CHECK:         edge.full_like(%x)
// CHECK-LABEL: func.func @of_nan(
// CHECK:         edge.masked_fill.Scalar
func.func @wider(%mask: tensor<4xi1>, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = edge.full_like(%x) {fill_value = 0 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = edge.masked_fill.Scalar(%0, %mask) {value = 0xFFF0000000000000 : f64} : (tensor<2x4xf32>, tensor<4xi1>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
func.func @of_nan(%mask: tensor<4xi1>) -> tensor<4xf32> {
  %0 = edge.full_like(%mask) {fill_value = 0x7FF8000000000000 : f64, dtype = f32} : (tensor<4xi1>) -> tensor<4xf32>
  %1 = edge.masked_fill.Scalar(%0, %mask) {value = 1.0 : f64} : (tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
