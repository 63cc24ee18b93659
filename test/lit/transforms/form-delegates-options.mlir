// RUN: xir-opt %s --form-delegates=min-ops=3 | filecheck %s --check-prefix=MIN
// RUN: xir-opt %s --form-delegates=per-op | filecheck %s --check-prefix=PER

// The two nodes of the first op count.
// MIN:      delegate.region "xnnpack"
// MIN-NEXT:   edge.silu
// MIN-NEXT:   edge.abs
// MIN:      edge.cumsum
// MIN-NEXT: edge.relu(%{{.*}}) {xir.reason = "its group of 1 nodes is smaller than min-ops=3"}
// PER:      delegate.region "xnnpack"
// PER-NEXT:   edge.silu
// PER-NEXT:   delegate.yield
// PER:      delegate.region "xnnpack"
// PER-NEXT:   edge.abs
// PER-NEXT:   delegate.yield
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.silu(%x) {xir.backend = "xnnpack", xir.nodes = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.abs(%0) {xir.backend = "xnnpack"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.cumsum(%1) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.relu(%2) {xir.backend = "xnnpack"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
