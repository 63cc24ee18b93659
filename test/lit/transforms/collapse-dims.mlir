// RUN: xir-opt %s --collapse-dims --split-input-file | filecheck %s
// RUN: xir-opt %s --pass-pipeline='builtin.module(collapse-dims{max-rank=8})' --split-input-file | filecheck %s --check-prefix=KEPT

// Windows of a video: the batch is of size 1, and the channels of a window's row stay together.
// CHECK-LABEL: func.func @windows(
// CHECK-NEXT:    %[[A:.*]] = edge.view(%x) {size = array<i64: 4, 2, 4, 2, 4, 6>} : (tensor<1x8x8x24xf32>) -> tensor<4x2x4x2x4x6xf32>
// CHECK-NEXT:    %[[B:.*]] = edge.permute(%[[A]]) {dims = array<i64: 0, 2, 4, 1, 3, 5>} : (tensor<4x2x4x2x4x6xf32>) -> tensor<4x4x4x2x2x6xf32>
// CHECK-NEXT:    %[[K:.*]] = edge.clone(%[[B]])
// CHECK:         %[[C:.*]] = edge.view(%[[K]]) {size = array<i64: 64, 24>} : (tensor<4x4x4x2x2x6xf32>) -> tensor<64x24xf32>
// CHECK-NEXT:    func.return %[[C]]
// KEPT-LABEL: func.func @windows(
// KEPT:         edge.permute({{.*}}) {dims = array<i64: 0, 1, 3, 5, 2, 4, 6, 7>}
func.func @windows(%x: tensor<1x8x8x24xf32>) -> tensor<64x24xf32> {
  %0 = edge.view(%x) {size = array<i64: 1, 4, 2, 4, 2, 4, 2, 3>} : (tensor<1x8x8x24xf32>) -> tensor<1x4x2x4x2x4x2x3xf32>
  %1 = edge.permute(%0) {dims = array<i64: 0, 1, 3, 5, 2, 4, 6, 7>} : (tensor<1x4x2x4x2x4x2x3xf32>) -> tensor<1x4x4x4x2x2x2x3xf32>
  %2 = edge.clone(%1) {memory_format = "contiguous_format"} : (tensor<1x4x4x4x2x2x2x3xf32>) -> tensor<1x4x4x4x2x2x2x3xf32>
  %3 = edge._unsafe_view(%2) {size = array<i64: 64, 24>} : (tensor<1x4x4x4x2x2x2x3xf32>) -> tensor<64x24xf32>
  func.return %3 : tensor<64x24xf32>
}

// -----

// Seven dimensions apart, of which one is open: two steps.
// CHECK-LABEL: func.func @two_steps(
// CHECK:         edge.permute
// CHECK-NEXT:    edge.view
// CHECK-NEXT:    edge.permute
// CHECK-NEXT:    edge.view(%{{.*}}) {size = array<i64: 64, -1>}
// CHECK-NOT:     edge.permute
func.func @two_steps(%x: tensor<?x8x8x24xf32>) -> tensor<64x?xf32> {
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x8x8x24xf32>) -> i64
  %0 = edge.view(%x)[%n] {size = array<i64: -9223372036854775808, 4, 2, 4, 2, 4, 6>} : (tensor<?x8x8x24xf32>, i64) -> tensor<?x4x2x4x2x4x6xf32>
  %1 = edge.permute(%0) {dims = array<i64: 1, 3, 5, 0, 2, 4, 6>} : (tensor<?x4x2x4x2x4x6xf32>) -> tensor<4x4x4x?x2x2x6xf32>
  %2 = edge.view(%1) {size = array<i64: 64, -1>} : (tensor<4x4x4x?x2x2x6xf32>) -> tensor<64x?xf32>
  func.return %2 : tensor<64x?xf32>
}

// -----

// Relative positions: dimensions merge where each operand has all of them, or none.
// CHECK-LABEL: func.func @broadcast(
// CHECK:         edge.add.Tensor(%{{.*}}, %{{.*}}) : (tensor<6x4x5x1xf32>, tensor<6x1x5x6xf32>) -> tensor<6x4x5x6xf32>
func.func @broadcast(%x: tensor<1x2x3x4x5x1x1xf32>, %y: tensor<2x3x1x5x2x3xf32>) -> tensor<6x120xf32> {
  %0 = edge.add.Tensor(%x, %y) : (tensor<1x2x3x4x5x1x1xf32>, tensor<2x3x1x5x2x3xf32>) -> tensor<1x2x3x4x5x2x3xf32>
  %1 = edge.view(%0) {size = array<i64: 6, 120>} : (tensor<1x2x3x4x5x2x3xf32>) -> tensor<6x120xf32>
  func.return %1 : tensor<6x120xf32>
}

// -----

// Reductions, and ops along one dimension.
// CHECK-LABEL: func.func @along(
// CHECK:         edge._softmax{{.*}} {dim = 1 : i64{{.*}}} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
// CHECK:         edge.select.int(%{{.*}}) {dim = 1 : i64, index = 1 : i64} : (tensor<16x2x2xf32>) -> tensor<16x2xf32>
// CHECK:         edge.mean.dim(%{{.*}}) {dim = array<i64: 0>, keepdim = true} : (tensor<8x4xf32>) -> tensor<1x4xf32>
func.func @along(%x: tensor<128xf32>) -> tensor<2x2xf32> {
  %0 = edge.view(%x) {size = array<i64: 2, 2, 2, 2, 2, 2, 2>} : (tensor<128xf32>) -> tensor<2x2x2x2x2x2x2xf32>
  %s = edge.slice.Tensor(%0) {end = 1 : i64} : (tensor<2x2x2x2x2x2x2xf32>) -> tensor<1x2x2x2x2x2x2xf32>
  %1 = edge._softmax(%s) {dim = -3 : i64, half_to_float = false} : (tensor<1x2x2x2x2x2x2xf32>) -> tensor<1x2x2x2x2x2x2xf32>
  %2 = edge.select.int(%1) {dim = 5 : i64, index = 1 : i64} : (tensor<1x2x2x2x2x2x2xf32>) -> tensor<1x2x2x2x2x2xf32>
  %3 = edge.unsqueeze(%2) {dim = 0 : i64} : (tensor<1x2x2x2x2x2xf32>) -> tensor<1x1x2x2x2x2x2xf32>
  %4 = edge.mean.dim(%3) {dim = array<i64: 0, 1, 2, 3, 4>} : (tensor<1x1x2x2x2x2x2xf32>) -> tensor<2x2xf32>
  func.return %4 : tensor<2x2xf32>
}

// -----

// Two open sizes stay as they are.
// CHECK-LABEL: func.func @two_open(
// CHECK:         edge.permute({{.*}}) {dims = array<i64: 0, 1, 3, 5, 2, 4, 6>}
func.func @two_open(%x: tensor<?x?x2x4x2x4x6xf32>) -> tensor<?x4x4x?x2x2x6xf32> {
  %0 = edge.permute(%x) {dims = array<i64: 0, 1, 3, 5, 2, 4, 6>} : (tensor<?x?x2x4x2x4x6xf32>) -> tensor<?x?x4x4x2x2x6xf32>
  %1 = edge.permute(%0) {dims = array<i64: 0, 2, 3, 1, 4, 5, 6>} : (tensor<?x?x4x4x2x2x6xf32>) -> tensor<?x4x4x?x2x2x6xf32>
  func.return %1 : tensor<?x4x4x?x2x2x6xf32>
}
