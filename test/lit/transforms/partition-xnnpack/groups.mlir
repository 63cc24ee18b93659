// RUN: xir-opt %s --split-input-file --allow-unregistered-dialect --partition-xnnpack | filecheck %s

// Everything in one subgraph; constants that it reads move inside, the others stay.
// CHECK-LABEL: func.func @whole(
// CHECK-SAME:    %x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK:         %[[Y:.*]] = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<4xf32>):
// CHECK-NEXT:      %[[ABS:.*]] = xnnpack.unary abs %[[A]]
// CHECK-NEXT:      %[[C:.*]] = xnnpack.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT:      %[[SUM:.*]] = xnnpack.binary add %[[ABS]], %[[C]]
// CHECK-NEXT:      xnnpack.yield %[[SUM]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %[[Y]]
func.func @whole(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = edge.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.add.Tensor(%0, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// Nothing to delegate: nothing changes but the reason.
// CHECK-LABEL: func.func @nothing(
// CHECK-NOT:     xnnpack
// CHECK:         edge.cumsum(%x) {dim = 0 : i64, xir.reason = "no rule lowers it to XNNPACK"}
func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// An op outside in the middle of a diamond: the side that goes around it must not join both ends into one subgraph,
// which would wait for itself.
// CHECK-LABEL: func.func @diamond(
// CHECK:         %[[P:.*]], %[[Q:.*]] = xnnpack.subgraph(%x)
// CHECK:           %[[ABS:.*]] = xnnpack.unary abs
// CHECK-NEXT:      %[[EXP:.*]] = xnnpack.unary exp %[[ABS]]
// CHECK-NEXT:      xnnpack.yield %[[ABS]], %[[EXP]]
// CHECK:         %[[M:.*]] = edge.cumsum(%[[P]])
// CHECK-NEXT:    %[[R:.*]] = xnnpack.subgraph(%[[M]], %[[Q]])
// CHECK:           xnnpack.binary add
// CHECK-NOT:     xnnpack.subgraph
// CHECK:         func.return %[[R]]
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.add.Tensor(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// -----

// Ops that share nothing are one subgraph all the same, with the op outside between them moved away.
// CHECK-LABEL: func.func @side_by_side(
// CHECK:         %[[M:.*]] = edge.cumsum(%y)
// CHECK-NEXT:    %[[P:.*]], %[[Q:.*]] = xnnpack.subgraph(%x, %y)
// CHECK-NOT:     xnnpack.subgraph
// CHECK:         func.return %[[P]], %[[M]], %[[Q]]
func.func @side_by_side(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.cumsum(%y) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.exp(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Two paths that leave XNNPACK at different depths meet: three subgraphs, as the longer one needs.
// CHECK-LABEL: func.func @levels(
// CHECK:         xnnpack.subgraph(
// CHECK:           xnnpack.unary abs
// CHECK-NEXT:      xnnpack.unary exp
// CHECK-NEXT:      xnnpack.yield
// CHECK:         xnnpack.subgraph(
// CHECK:           xnnpack.unary floor
// CHECK-NEXT:      xnnpack.yield
// CHECK:         xnnpack.subgraph(
// CHECK:           xnnpack.binary add
// CHECK-NEXT:      xnnpack.yield
// CHECK-NOT:     xnnpack.subgraph
func.func @levels(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.floor(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.cumsum(%2) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = edge.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = edge.cumsum(%4) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %6 = edge.add.Tensor(%3, %5) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %6 : tensor<4xf32>
}

// -----

// Ops with effects keep their order, whatever they read.
// CHECK-LABEL: func.func @effects(
// CHECK:         xnnpack.subgraph(%x)
// CHECK:         edge.opaque "my::first(Tensor self) -> Tensor"
// CHECK-NEXT:    edge.opaque "my::second(Tensor self) -> Tensor"
func.func @effects(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.opaque "my::first(Tensor self) -> Tensor" (%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.opaque "my::second(Tensor self) -> Tensor" (%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// An op that does nothing goes away, also where nothing is delegated.
// CHECK-LABEL: func.func @no_op(
// CHECK-NEXT:    %[[R:.*]] = edge.cumsum(%x)
// CHECK-NEXT:    func.return %[[R]], %x
func.func @no_op(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.clone(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.dropout(%0) {p = 0.5 : f64, train = false} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.view(%0) {size = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.cumsum(%1) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Results that nobody reads need no replacement.
// CHECK-LABEL: func.func @several_results(
// CHECK:         %[[R:.*]] = xnnpack.subgraph(%x) : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
// CHECK:           xnnpack.max_pooling2d
// CHECK:         func.return %[[R]]
func.func @several_results(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %0, %1 = edge.max_pool2d_with_indices(%x) {kernel_size = array<i64: 2, 2>} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>)
  func.return %0 : tensor<1x2x2x2xf32>
}

// -----

// A dead op is no reason for a subgraph.
// CHECK-LABEL: func.func @dead(
// CHECK-NEXT:    func.return %x
func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}

// -----

// A value that leaves twice leaves once; the function uses it twice.
// CHECK-LABEL: func.func @one_output(
// CHECK:         %[[R:.*]] = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK:         func.return %[[R]], %[[R]]
func.func @one_output(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Every function is partitioned; a declaration has nothing to partition.
// CHECK-LABEL: func.func @first(
// CHECK:         xnnpack.subgraph
// CHECK-LABEL: func.func private @declared(
// CHECK-LABEL: func.func @second(
// CHECK:         xnnpack.subgraph
func.func @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func @second(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// What can be computed joins a subgraph that there is, as do two of them.
// CHECK-LABEL: func.func @again(
// CHECK:         %[[A:.*]] = xnnpack.subgraph(%x)
// CHECK:           xnnpack.unary abs
// CHECK-NEXT:      xnnpack.unary exp
// CHECK-NEXT:      xnnpack.unary negate
// CHECK:         func.return %[[A]]
func.func @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %b = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %b : tensor<4xf32>
  }
  %1 = edge.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = xnnpack.subgraph(%1) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb1(%a: tensor<4xf32>):
    %b = xnnpack.unary negate %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %b : tensor<4xf32>
  }
  func.return %2 : tensor<4xf32>
}

// -----

// A subgraph whose nodes stock ExecuTorch lacks stays apart in a program for it.
// CHECK-LABEL: func.func @other_target(
// CHECK:         xnnpack.subgraph(%x) {target = "xir"}
// CHECK:         xnnpack.subgraph(
func.func @other_target(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = xnnpack.subgraph(%x) {target = "xir"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %b = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %b : tensor<4xf32>
  }
  %1 = edge.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// A value that a region reads from around it counts as read where the region's op stands.
// CHECK-LABEL: func.func @captured(
// CHECK:         %[[A:.*]] = xnnpack.subgraph(%x)
// CHECK:         "test.region"() ({
// CHECK-NEXT:      "test.use"(%[[A]])
func.func @captured(%x: tensor<4xf32>) {
  "test.first"(%x) : (tensor<4xf32>) -> ()
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  "test.region"() ({
    "test.use"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
  func.return
}
