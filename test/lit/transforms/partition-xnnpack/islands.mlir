// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics | filecheck %s

// A view between ops outside saves nothing: it stays with them, and what XNNPACK computes stays in one subgraph
// instead of two.
// CHECK-LABEL: func.func @between(
// CHECK:         edge.cumsum
// CHECK-NEXT:    edge.view
// CHECK-NEXT:    edge.cumsum
// CHECK-NEXT:    xnnpack.subgraph
// CHECK-NOT:     xnnpack.subgraph
func.func @between(%x: tensor<2x3xf32>, %y: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  // expected-remark @+1 {{no rule lowers it to XNNPACK}}
  %0 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-remark @+1 {{edge.view not delegated: it only moves data between ops outside}}
  %1 = edge.view(%0) {size = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  // expected-remark @+1 {{no rule lowers it to XNNPACK}}
  %2 = edge.cumsum(%1) {dim = 0 : i64} : (tensor<6xf32>) -> tensor<6xf32>
  %3 = edge.exp(%2) : (tensor<6xf32>) -> tensor<6xf32>
  %4 = edge.abs(%y) : (tensor<6xf32>) -> tensor<6xf32>
  func.return %3, %4 : tensor<6xf32>, tensor<6xf32>
}

// -----

// On one side is enough, and several of them are no better than one.
// CHECK-LABEL: func.func @before(
// CHECK-NOT:     xnnpack
func.func @before(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<3x4xf32> {
  // expected-remark @+1 {{edge.permute not delegated: it only moves data between ops outside}}
  %0 = edge.permute(%x) {dims = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // expected-remark @+1 {{edge.cat not delegated: it only moves data between ops outside}}
  %1 = edge.cat([%0, %y]) {dim = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  // expected-remark @+1 {{no rule lowers it to XNNPACK}}
  %2 = edge.cumsum(%1) {dim = 0 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %2 : tensor<3x4xf32>
}

// -----

// One that exchanges values with an op that computes is absorbed.
// CHECK-LABEL: func.func @absorbed(
// CHECK:         edge.cumsum
// CHECK-NEXT:    xnnpack.subgraph
// CHECK:           xnnpack.static_reshape
// CHECK-NEXT:      xnnpack.unary abs
// CHECK-NEXT:      xnnpack.static_reshape
// CHECK:         edge.cumsum
func.func @absorbed(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // expected-remark @+1 {{no rule lowers it to XNNPACK}}
  %0 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.view(%0) {size = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = edge.abs(%1) : (tensor<6xf32>) -> tensor<6xf32>
  %3 = edge.view(%2) {size = array<i64: 3, 2>} : (tensor<6xf32>) -> tensor<3x2xf32>
  // expected-remark @+1 {{no rule lowers it to XNNPACK}}
  %4 = edge.cumsum(%3) {dim = 0 : i64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %4 : tensor<3x2xf32>
}

// -----

// One that touches no op outside costs nothing: it joins the subgraph that there is, or is the whole program.
// CHECK-LABEL: func.func @whole(
// CHECK:         xnnpack.subgraph
// CHECK:           xnnpack.static_transpose
func.func @whole(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = edge.permute(%x) {dims = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}
