// RUN: xir-opt %s --decompose-for-kernels --split-input-file | filecheck %s

// Copies of values that nobody writes to.
// CHECK-LABEL:  func.func @copies(
// CHECK-NEXT:     %[[V0:.*]] = edge.neg(%x)
// CHECK-NEXT:     func.return %[[V0]]
func.func @copies(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.clone(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.alias(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.detach(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = edge.contiguous(%2) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = edge.lift_fresh_copy(%3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = edge.dropout(%4) {p = 0.5 : f64, train = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = edge.neg(%5) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %6 : tensor<2x3xf32>
}

// CHECK-LABEL:  func.func @to_what_it_is(
// CHECK-NEXT:     %[[V0:.*]] = edge.neg(%x)
// CHECK-NEXT:     func.return %[[V0]]
func.func @to_what_it_is(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = edge._to_copy(%x) {dtype = f32} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = edge.view(%0) {size = array<i64: 2, 2>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = edge.expand(%1) {size = array<i64: 2, -1>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = edge.permute(%2) {dims = array<i64: 0, 1>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = edge.repeat(%3) {repeats = array<i64: 1, 1>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = edge.neg(%4) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %5 : tensor<2x2xf32>
}

// CHECK-LABEL:  func.func @to_something_else(
// CHECK-NEXT:     %[[V0:.*]] = edge.permute(%x) {dims = array<i64: 1, 0>}
// CHECK-NEXT:     %[[V1:.*]] = edge._to_copy(%[[V0]]) {dtype = i32}
// CHECK-NEXT:     func.return %[[V1]]
func.func @to_something_else(%x: tensor<2x2xf32>) -> tensor<2x2xi32> {
  %0 = edge.permute(%x) {dims = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = edge._to_copy(%0) {dtype = i32} : (tensor<2x2xf32>) -> tensor<2x2xi32>
  func.return %1 : tensor<2x2xi32>
}

// CHECK-LABEL:  func.func @unsafe_view(
// CHECK-NEXT:     %[[V0:.*]] = edge.view(%x) {size = array<i64: 6>}
// CHECK-NEXT:     func.return %[[V0]]
func.func @unsafe_view(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = edge._unsafe_view(%x) {size = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}

// CHECK-LABEL:  func.func @squeeze(
// CHECK-NEXT:     %[[V0:.*]] = edge.squeeze.dims(%x) {dim = array<i64: 0, 2>}
// CHECK-NEXT:     func.return %[[V0]]
func.func @squeeze(%x: tensor<1x3x1xf32>) -> tensor<3xf32> {
  %0 = edge.squeeze(%x) : (tensor<1x3x1xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// CHECK-LABEL:  func.func @roll(
// CHECK-NEXT:     %[[V0:.*]] = edge.view(%x) {size = array<i64: -1>}
// CHECK-NEXT:     %[[V1:.*]] = edge.roll(%[[V0]]) {dims = array<i64: 0>, shifts = array<i64: 2>}
// CHECK-NEXT:     %[[V2:.*]] = edge.view(%[[V1]]) {size = array<i64: 2, 3>}
// CHECK-NEXT:     %[[V3:.*]] = edge.roll(%[[V2]]) {dims = array<i64: 1>, shifts = array<i64: 1>}
// CHECK-NEXT:     func.return %[[V3]]
func.func @roll(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.roll(%x) {shifts = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.roll(%0) {shifts = array<i64: 1>, dims = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// ExecuTorch's kernel adds, but does not cut.
// CHECK-LABEL:  func.func @pad(
// CHECK-NEXT:     %[[V0:.*]] = edge.slice.Tensor(%x) {dim = -1 : i64, end = -1 : i64, start = 0 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.slice.Tensor(%[[V0]]) {dim = -2 : i64, end = 4 : i64, start = 1 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.constant_pad_nd(%[[V1]]) {pad = array<i64: 2, 0, 0, 0>, value = 7 : i64}
// CHECK-NEXT:     func.return %[[V2]]
func.func @pad(%x: tensor<4x5xf32>) -> tensor<3x6xf32> {
  %0 = edge.constant_pad_nd(%x) {pad = array<i64: 2, -1, -1, 0>, value = 7 : i64} : (tensor<4x5xf32>) -> tensor<3x6xf32>
  func.return %0 : tensor<3x6xf32>
}

// CHECK-LABEL:  func.func @pad_with_nothing(
// CHECK-NEXT:     %[[V0:.*]] = edge.slice.Tensor(%x) {dim = -1 : i64, end = 5 : i64, start = 1 : i64}
// CHECK-NEXT:     func.return %[[V0]]
func.func @pad_with_nothing(%x: tensor<4x5xf32>) -> tensor<4x4xf32> {
  %0 = edge.constant_pad_nd(%x) {pad = array<i64: -1, 0>} : (tensor<4x5xf32>) -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// CHECK-LABEL:  func.func @split(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]], %[[V2:.*]] = edge.split_with_sizes(%x) {dim = -1 : i64, split_sizes = array<i64: 2, 2, 1>}
// CHECK-NEXT:     func.return %[[V0]], %[[V1]], %[[V2]]
func.func @split(%x: tensor<2x5xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>) {
  %0, %1, %2 = edge.split.Tensor(%x) {split_size = 2 : i64, dim = -1 : i64} : (tensor<2x5xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>)
  func.return %0, %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>
}

// CHECK-LABEL:  func.func @unbind(
// CHECK-NEXT:     %[[V0:.*]], %[[V1:.*]] = edge.unbind.int(%x)
// CHECK-NEXT:     func.return %[[V0]], %[[V1]]
func.func @unbind(%x: tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0, %1 = edge.unbind.int(%x) : (tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
