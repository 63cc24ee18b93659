// RUN: xir-opt %s --split-input-file --legalize-to-xnnpack --verify-diagnostics | filecheck %s

// The rules run on what is in the region; what they read of the values outside are the subgraph's operands.
// CHECK-LABEL: func.func @region(
// CHECK:         %[[R:.*]] = xnnpack.subgraph(%x) : (tensor<2x4xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: tensor<2x4xf32>):
// CHECK-NEXT:      %[[W:.*]] = xnnpack.constant dense<1.000000e+00> : tensor<3x4xf32>
// CHECK-NEXT:      %[[Y:.*]] = xnnpack.fully_connected %[[X]], %[[W]]
// CHECK-NEXT:      xnnpack.yield %[[Y]]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %[[R]]
func.func @region(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %0 = edge.constant dense<1.0> : tensor<3x4xf32>
  %1 = delegate.region "xnnpack" : tensor<2x3xf32> {
    %2 = edge.linear(%x, %0, none) : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
    delegate.yield %2 : tensor<2x3xf32>
  }
  func.return %1 : tensor<2x3xf32>
}

// -----

// What nobody reads is no output, and what it was computed from is gone: here all of the first region but one op.
// CHECK-LABEL: func.func @unread(
// CHECK-NEXT:    %[[A:.*]] = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK:           xnnpack.unary abs
// CHECK-NEXT:      xnnpack.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    xnnpack.subgraph(%[[A]])
func.func @unread(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0, %1 = delegate.region "xnnpack" : tensor<4xf32>, tensor<4xf32> {
    %2 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
    delegate.yield %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
  %4, %5 = delegate.region "xnnpack" : tensor<4xf32>, tensor<4xf32> {
    %6 = edge.neg(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %7 = edge.exp(%1) : (tensor<4xf32>) -> tensor<4xf32>
    delegate.yield %6, %7 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %4 : tensor<4xf32>
}

// -----

// An op that does nothing leaves nothing behind, nor does a region of those alone. Another backend's region stays.
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT:    %[[R:.*]] = delegate.region "other"
// CHECK-NEXT:      edge.abs(%x)
// CHECK:         func.return %x, %[[R]]
func.func @nothing(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = delegate.region "xnnpack" : tensor<4xf32> {
    %1 = edge.clone(%x) : (tensor<4xf32>) -> tensor<4xf32>
    delegate.yield %1 : tensor<4xf32>
  }
  %2 = delegate.region "other" : tensor<4xf32> {
    %3 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
    delegate.yield %3 : tensor<4xf32>
  }
  func.return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A dynamic dimension that a region before it gives: the rules know it by what that region computes.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         edge.cumsum
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 0, 8>} : tensor<?x2x4xf32> -> tensor<?x8xf32>
func.func @dynamic(%x: tensor<?x2x4xf32>) -> tensor<?x8xf32> {
  %0 = delegate.region "xnnpack" : tensor<?x2x4xf32> {
    %1 = edge.abs(%x) : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
    delegate.yield %1 : tensor<?x2x4xf32>
  }
  %2 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  %3 = delegate.region "xnnpack" : tensor<?x8xf32> {
    %4 = edge.sym_size.int(%0) {dim = 0 : i64} : (tensor<?x2x4xf32>) -> i64
    %5 = edge.view(%2)[%4] {size = array<i64: -9223372036854775808, 8>} : (tensor<?x2x4xf32>, i64) -> tensor<?x8xf32>
    delegate.yield %5 : tensor<?x8xf32>
  }
  func.return %3 : tensor<?x8xf32>
}

// -----

func.func @no_rule(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = delegate.region "xnnpack" : tensor<4xf32> {
    // expected-error @+1 {{legalize-to-xnnpack: edge.cumsum cannot be computed: no rule lowers it to XNNPACK}}
    %1 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    delegate.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// -----

// The option `target` is that of the other passes, too.
func.func @target(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = delegate.region "xnnpack" : tensor<4xf32> {
    // expected-error @+1 {{edge.atan2 cannot be computed: stock ExecuTorch has no node for it}}
    %1 = edge.atan2(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    delegate.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
