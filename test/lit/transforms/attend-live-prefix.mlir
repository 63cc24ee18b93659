// RUN: xir-opt %s --attend-live-prefix=block=1 --split-input-file | filecheck %s
// RUN: xir-opt %s --attend-live-prefix --split-input-file | filecheck %s --check-prefix=BLOCKS
// RUN: not xir-opt %s --attend-live-prefix=block=0 --split-input-file 2>&1 | filecheck %s --check-prefix=NONE
// NONE: block is a number of keys, 1 at least, not 0

// The prefix of buffers that were written, of the columns, and so of the mask. Columns that are less than a position plus
// 2 are seen, so that its length is the position plus 2.
// CHECK-LABEL: func.func @boolean_mask
// CHECK: %[[LAST:.*]] = edge._local_scalar_dense(%at) : (tensor<1xi64>) -> i64
// CHECK: %[[END:.*]] = edge.executorch_prim.add.Scalar()[%[[LAST]]] {a = -9223372036854775808 : i64, b = 2 : i64}
// CHECK: %[[LIVE:.*]] = edge.executorch_prim.sym_max.Scalar()[%[[END]]] {a = -9223372036854775808 : i64, b = 1 : i64}
// BLOCKS: %[[LIVE:.*]] = edge.executorch_prim.sym_max.Scalar(){{.*}} b = 1 : i64}
// BLOCKS: %[[PAST:.*]] = edge.executorch_prim.add.Scalar()[%[[LIVE]]] {a = -9223372036854775808 : i64, b = 31 : i64}
// BLOCKS: %[[COUNT:.*]] = edge.executorch_prim.floordiv.Scalar()[%[[PAST]]] {a = -9223372036854775808 : i64, b = 32 : i64}
// BLOCKS: %[[UP:.*]] = edge.executorch_prim.mul.Scalar()[%[[COUNT]]] {a = -9223372036854775808 : i64, b = 32 : i64}
// BLOCKS: edge.slice.Tensor(%new)[%[[UP]]] {dim = 2 : i64, {{.*}} -> tensor<1x2x?x3xf32>
// CHECK: %[[K:.*]] = edge.slice.Tensor(%new)[%[[LIVE]]] {dim = 2 : i64, {{.*}} -> tensor<1x2x?x3xf32>
// CHECK: %[[V:.*]] = edge.slice.Tensor(%v)[%[[LIVE]]] {dim = 2 : i64, {{.*}} -> tensor<1x2x?x3xf32>
// CHECK: %[[COLUMNS:.*]] = edge.slice.Tensor(%columns)[%[[LIVE]]] {{.*}} -> tensor<?xi64>
// CHECK: %[[SEEN:.*]] = edge.lt.Tensor(%[[COLUMNS]], %ahead)
// CHECK: %[[MASK:.*]] = edge.unsqueeze(%[[SEEN]]) {dim = 0 : i64} : (tensor<1x?xi1>) -> tensor<1x1x?xi1>
// CHECK: edge.scaled_dot_product_attention(%q, %[[K]], %[[V]], %[[MASK]]) {enable_gqa = true}
func.func @boolean_mask(%q: tensor<1x4x1x3xf32>, %x: tensor<1x2x1x3xf32>, %at: tensor<1xi64>) -> tensor<1x4x1x3xf32> {
  %k = edge.mutable_buffer "k" dense<0.0> : tensor<1x2x8x3xf32>
  %v = edge.mutable_buffer "v" dense<0.0> : tensor<1x2x8x3xf32>
  %new = edge.index_put(%k, [none, none, %at], %x) : (tensor<1x2x8x3xf32>, tensor<1xi64>, tensor<1x2x1x3xf32>) -> tensor<1x2x8x3xf32>
  %columns = edge.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
  %row = edge.unsqueeze(%at) {dim = 1 : i64} : (tensor<1xi64>) -> tensor<1x1xi64>
  %ahead = edge.add.Scalar(%row) {other = 2 : i64} : (tensor<1x1xi64>) -> tensor<1x1xi64>
  %seen = edge.lt.Tensor(%columns, %ahead) : (tensor<8xi64>, tensor<1x1xi64>) -> tensor<1x8xi1>
  %mask = edge.unsqueeze(%seen) {dim = 0 : i64} : (tensor<1x8xi1>) -> tensor<1x1x8xi1>
  %0 = edge.scaled_dot_product_attention(%q, %new, %v, %mask) {enable_gqa = true} : (tensor<1x4x1x3xf32>, tensor<1x2x8x3xf32>, tensor<1x2x8x3xf32>, tensor<1x1x8xi1>) -> tensor<1x4x1x3xf32>
  edge.update_buffer %k, %new : tensor<1x2x8x3xf32>
  func.return %0 : tensor<1x4x1x3xf32>
}

// -----

// Several positions, numbers that hide, and a cache that the caller has, with heads behind positions. A sliding window
// hides its beginning as well.
// CHECK-LABEL: func.func @numbers
// CHECK: %[[LARGEST:.*]] = edge.amax(%at) : (tensor<2xi64>) -> tensor<i64>
// CHECK: edge._local_scalar_dense(%[[LARGEST]])
// CHECK: %[[K:.*]] = edge.slice.Tensor(%k)[{{.*}} {dim = 1 : i64, {{.*}} -> tensor<1x?x2x3xf32>
// CHECK: %[[KEYS:.*]] = edge.permute(%[[K]]) {dims = array<i64: 0, 2, 1, 3>} : (tensor<1x?x2x3xf32>) -> tensor<1x2x?x3xf32>
// CHECK: edge.where.self({{.*}} : (tensor<2x?xi1>, tensor<f32>, tensor<f32>) -> tensor<2x?xf32>
// CHECK: edge.scaled_dot_product_attention(%q, %[[KEYS]],
func.func @numbers(%q: tensor<1x2x2x3xf32>, %k: tensor<1x8x2x3xf32>, %at: tensor<2xi64>) -> tensor<1x2x2x3xf32> {
  %columns = edge.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
  %zero = edge.constant dense<0.0> : tensor<f32>
  %low = edge.constant dense<-1.0e9> : tensor<f32>
  %row = edge.unsqueeze(%at) {dim = 1 : i64} : (tensor<2xi64>) -> tensor<2x1xi64>
  %past = edge.sub.Scalar(%row) {other = 4 : i64} : (tensor<2x1xi64>) -> tensor<2x1xi64>
  %near = edge.gt.Tensor(%columns, %past) : (tensor<8xi64>, tensor<2x1xi64>) -> tensor<2x8xi1>
  %causal = edge.ge.Tensor(%row, %columns) : (tensor<2x1xi64>, tensor<8xi64>) -> tensor<2x8xi1>
  %seen = edge.bitwise_and.Tensor(%near, %causal) : (tensor<2x8xi1>, tensor<2x8xi1>) -> tensor<2x8xi1>
  %mask = edge.where.self(%seen, %zero, %low) : (tensor<2x8xi1>, tensor<f32>, tensor<f32>) -> tensor<2x8xf32>
  %keys = edge.permute(%k) {dims = array<i64: 0, 2, 1, 3>} : (tensor<1x8x2x3xf32>) -> tensor<1x2x8x3xf32>
  %0 = edge.scaled_dot_product_attention(%q, %keys, %keys, %mask) : (tensor<1x2x2x3xf32>, tensor<1x2x8x3xf32>, tensor<1x2x8x3xf32>, tensor<2x8xf32>) -> tensor<1x2x2x3xf32>
  func.return %0 : tensor<1x2x2x3xf32>
}

// -----

// Rows of a table, counted from its end where a position is negative. Row i shows the columns up to i + 1.
// CHECK-LABEL: func.func @table
// CHECK: %[[ROWS:.*]] = edge.remainder.Scalar(%at) {other = 3 : i64}
// CHECK: edge._local_scalar_dense(%[[ROWS]])
// CHECK: edge.executorch_prim.add.Scalar(){{.*}} b = 2 : i64}
// CHECK: edge.slice.Tensor(%mask)
func.func @table(%q: tensor<1x2x1x3xf32>, %k: tensor<1x2x4x3xf32>, %at: tensor<1xi64>) -> tensor<1x2x1x3xf32> {
  %rows = edge.constant dense<[[true, true, false, false], [true, false, true, false], [true, true, true, true]]> : tensor<3x4xi1>
  %mask = edge.index.Tensor(%rows, [%at]) : (tensor<3x4xi1>, tensor<1xi64>) -> tensor<1x4xi1>
  %0 = edge.scaled_dot_product_attention(%q, %k, %k, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<1x4xi1>) -> tensor<1x2x1x3xf32>
  func.return %0 : tensor<1x2x1x3xf32>
}

// -----

// What is behind the positions may be seen: by a disjunction, or for numbers that do not hide.
// CHECK-LABEL: func.func @seen
// CHECK-NOT: edge.slice.Tensor
func.func @seen(%q: tensor<1x2x1x3xf32>, %k: tensor<1x2x4x3xf32>, %at: tensor<1xi64>, %also: tensor<4xi1>) -> (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>) {
  %columns = edge.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %zero = edge.constant dense<0.0> : tensor<f32>
  %low = edge.constant dense<-10.0> : tensor<f32>
  %causal = edge.le.Tensor(%columns, %at) : (tensor<4xi64>, tensor<1xi64>) -> tensor<4xi1>
  %either = edge.logical_or(%causal, %also) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %added = edge.where.self(%causal, %zero, %low) : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  %0 = edge.scaled_dot_product_attention(%q, %k, %k, %either) : (tensor<1x2x1x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<4xi1>) -> tensor<1x2x1x3xf32>
  %1 = edge.scaled_dot_product_attention(%q, %k, %k, %added) : (tensor<1x2x1x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<4xf32>) -> tensor<1x2x1x3xf32>
  func.return %0, %1 : tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>
}

// -----

// Keys that the program computes are in no cache.
// CHECK-LABEL: func.func @computed
// CHECK-NOT: edge.slice.Tensor
func.func @computed(%q: tensor<1x2x1x3xf32>, %x: tensor<1x2x4x3xf32>, %at: tensor<1xi64>) -> tensor<1x2x1x3xf32> {
  %columns = edge.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %k = edge.abs(%x) : (tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32>
  %mask = edge.le.Tensor(%columns, %at) : (tensor<4xi64>, tensor<1xi64>) -> tensor<4xi1>
  %0 = edge.scaled_dot_product_attention(%q, %k, %k, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<4xi1>) -> tensor<1x2x1x3xf32>
  func.return %0 : tensor<1x2x1x3xf32>
}

// -----

// Caches of shorter types: what is converted, and scaled, is the prefix. A scale for the whole cache is no cache.
// CHECK-LABEL: func.func @short_types
// CHECK: %[[H:.*]] = edge.slice.Tensor(%k)[%{{.*}}] {{.*}} -> tensor<1x2x?x3xf16>
// CHECK: %[[K:.*]] = edge._to_copy(%[[H]]) {{.*}} -> tensor<1x2x?x3xf32>
// CHECK: %[[Q:.*]] = edge.slice.Tensor(%v)[%{{.*}}] {{.*}} -> tensor<1x2x?x3xi8>
// CHECK: %[[F:.*]] = edge._to_copy(%[[Q]]) {{.*}} -> tensor<1x2x?x3xf32>
// CHECK: %[[S:.*]] = edge.slice.Tensor(%scales)[%{{.*}}] {{.*}} -> tensor<1x2x?x1xf32>
// CHECK: %[[V:.*]] = edge.mul.Tensor(%[[F]], %[[S]])
// CHECK: edge.scaled_dot_product_attention(%q, %[[K]], %[[V]], %{{.*}})
// CHECK: edge.scaled_dot_product_attention(%q, %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<1x2x1x3xf32>, tensor<1x2x8x3xf32>,
func.func @short_types(%q: tensor<1x2x1x3xf32>, %k: tensor<1x2x8x3xf16>, %v: tensor<1x2x8x3xi8>, %scales: tensor<1x2x8x1xf32>, %scale: tensor<1x1x1x1xf32>, %at: tensor<1xi64>) -> (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>) {
  %columns = edge.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
  %row = edge.unsqueeze(%at) {dim = 1 : i64} : (tensor<1xi64>) -> tensor<1x1xi64>
  %mask = edge.le.Tensor(%columns, %row) : (tensor<8xi64>, tensor<1x1xi64>) -> tensor<1x8xi1>
  %keys = edge._to_copy(%k) {dtype = f32} : (tensor<1x2x8x3xf16>) -> tensor<1x2x8x3xf32>
  %floats = edge._to_copy(%v) {dtype = f32} : (tensor<1x2x8x3xi8>) -> tensor<1x2x8x3xf32>
  %values = edge.mul.Tensor(%floats, %scales) : (tensor<1x2x8x3xf32>, tensor<1x2x8x1xf32>) -> tensor<1x2x8x3xf32>
  %0 = edge.scaled_dot_product_attention(%q, %keys, %values, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x8x3xf32>, tensor<1x2x8x3xf32>, tensor<1x8xi1>) -> tensor<1x2x1x3xf32>
  %others = edge.mul.Tensor(%floats, %scale) : (tensor<1x2x8x3xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x8x3xf32>
  %1 = edge.scaled_dot_product_attention(%q, %keys, %others, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x8x3xf32>, tensor<1x2x8x3xf32>, tensor<1x8xi1>) -> tensor<1x2x1x3xf32>
  func.return %0, %1 : tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>
}
