// RUN: xir-opt %s | xir-opt | filecheck %s
// RUN: xir-opt %s --mlir-print-op-generic | xir-opt | filecheck %s

// A region reads values from outside directly; its results are what it yields.
// CHECK-LABEL: func.func @forward(%x: tensor<4xf32>)
// CHECK:         %0, %1 = delegate.region "xnnpack" : tensor<4xf32>, tensor<4xf32> {
// CHECK-NEXT:      %2 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      %3 = edge.relu(%2) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      delegate.yield %2, %3 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:    }
func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = delegate.region "xnnpack" : tensor<4xf32>, tensor<4xf32> {
    %2 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = edge.relu(%2) : (tensor<4xf32>) -> tensor<4xf32>
    delegate.yield %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @nothing
// CHECK:         delegate.region "other" {
// CHECK-NEXT:      delegate.yield
func.func @nothing() {
  delegate.region "other" {
    delegate.yield
  }
  func.return
}
