// RUN: xir-opt %s --partition-xnnpack --verify-diagnostics --split-input-file | filecheck %s

// XNNPACK infers sizes itself: an op that only moves or shapes data by a size asks for none, so the size of a computed
// tensor does not part the ops around it, and goes away.
// CHECK-LABEL: func.func @one_subgraph(
// CHECK-NEXT:    xnnpack.subgraph(%x)
// CHECK-NOT:     edge.
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 0, 8>} : tensor<?x2x4xf32> -> tensor<?x8xf32>
// CHECK-NOT:     edge.
// CHECK:         func.return
func.func @one_subgraph(%x: tensor<?x2x4xf32>) -> tensor<?x8xf32> {
  %0 = edge.abs(%x) : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  %1 = edge.sym_size.int(%0) {dim = 0 : i64} : (tensor<?x2x4xf32>) -> i64
  %2 = edge.view(%0)[%1] {size = array<i64: -9223372036854775808, 8>} : (tensor<?x2x4xf32>, i64) -> tensor<?x8xf32>
  func.return %2 : tensor<?x8xf32>
}

// -----

// A size that another kernel wants stays, without a remark: it is no computation that XNNPACK could do.
// CHECK-LABEL: func.func @size_outside(
// CHECK:         %[[N:.*]] = edge.sym_size.int(%x) {dim = 0 : i64} :
// CHECK:         edge.empty.memory_format()[%[[N]]]
// CHECK:         xnnpack.subgraph(%x,
func.func @size_outside(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  // expected-remark @+1 {{edge.empty.memory_format not delegated: no rule lowers it to XNNPACK}}
  %1 = edge.empty.memory_format()[%0] {size = array<i64: -9223372036854775808, 4>} : (i64) -> tensor<?x4xf32>
  %2 = edge.add.Tensor(%x, %1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %2 : tensor<?x4xf32>
}

// -----

// Dimensions of one name have one size, so this view keeps both; XNNPACK infers one.
// CHECK-LABEL: func.func @names(
// CHECK:         xnnpack.binary add
// CHECK-NEXT:    xnnpack.yield
func.func @names(
    %x: tensor<?x4xf32> {xir.dim_names = ["batch", ""]}, %y: tensor<?x4xf32> {xir.dim_names = ["batch", ""]}
) -> tensor<?x4xf32> {
  %0 = edge.sym_size.int(%y) {dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  %1 = edge.view(%x)[%0] {size = array<i64: -9223372036854775808, 4>} : (tensor<?x4xf32>, i64) -> tensor<?x4xf32>
  %2 = edge.add.Tensor(%1, %y) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %2 : tensor<?x4xf32>
}

// -----

// A slice up to the size of the dimension is all of it; up to any other size, only the run time knows what it takes.
// CHECK-LABEL: func.func @slice_to_size(
// CHECK:         edge.slice.Tensor(%y)
// CHECK:         xnnpack.subgraph(%x,
// CHECK-NOT:     xnnpack.static_slice
func.func @slice_to_size(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  %1 = edge.slice.Tensor(%x)[%0] {end = -9223372036854775808 : i64} : (tensor<?x4xf32>, i64) -> tensor<?x4xf32>
  // expected-remark @+1 {{edge.slice.Tensor not delegated: it computes with the size of a dynamic dimension}}
  %2 = edge.slice.Tensor(%y)[%0] {end = -9223372036854775808 : i64} : (tensor<?x4xf32>, i64) -> tensor<?x4xf32>
  %3 = edge.add.Tensor(%1, %2) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %3 : tensor<?x4xf32>
}
