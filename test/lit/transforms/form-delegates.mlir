// RUN: xir-opt %s --split-input-file --form-delegates --verify-diagnostics | filecheck %s

// As few regions as can be: each op is as early as what it reads allows.
// CHECK-LABEL: func.func @levels(
// CHECK-NEXT:    %[[A:.*]], %[[N:.*]] = delegate.region "xnnpack" : tensor<4xf32>, tensor<4xf32> {
// CHECK-NEXT:      %[[B:.*]] = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      %[[M:.*]] = edge.neg(%[[B]])
// CHECK-NEXT:      delegate.yield %[[B]], %[[M]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[C:.*]] = edge.cumsum(%[[A]])
// CHECK-NEXT:    %[[D:.*]], %[[E:.*]] = delegate.region "xnnpack" : tensor<4xf32>, tensor<4xf32> {
// CHECK-NEXT:      %[[F:.*]] = edge.relu(%[[C]])
// CHECK-NEXT:      %[[G:.*]] = edge.add.Tensor(%[[F]], %[[N]])
// CHECK-NEXT:      delegate.yield %[[F]], %[[G]]
// CHECK-NEXT:    }
// CHECK-NEXT:    edge.cumsum(%[[D]])
func.func @levels(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.abs(%x) {xir.backend = "xnnpack"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.relu(%1) {xir.backend = "xnnpack"} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.cumsum(%2) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = edge.neg(%0) {xir.backend = "xnnpack"} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = edge.add.Tensor(%2, %4) {xir.backend = "xnnpack"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3, %5 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Two backends: on one level the one that was asked first comes first, and where values go back a new level begins.
// CHECK-LABEL: func.func @backends(
// CHECK:         delegate.region "one"
// CHECK:           edge.abs
// CHECK:           edge.neg
// CHECK:         delegate.region "two"
// CHECK:           edge.relu
// CHECK:         delegate.region "one"
// CHECK:           edge.add
func.func @backends(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) {xir.backend = "one"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu(%0) {xir.backend = "two"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.neg(%x) {xir.backend = "one"} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.add.Tensor(%1, %2) {xir.backend = "one"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @island(
// CHECK-NOT:     delegate.region
// CHECK:         edge.view(%{{.*}}) {size = array<i64: 6>, xir.reason = "it only moves data between ops outside"}
func.func @island(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-remark @+1 {{form-delegates: edge.view not delegated: it only moves data between ops outside}}
  %1 = edge.view(%0) {size = array<i64: 6>, xir.backend = "xnnpack", xir.only_moves}
       : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}

// -----

// What goes along with its readers, and sizes, are in the region of each of them.
// CHECK-LABEL: func.func @along(
// CHECK-NEXT:    %[[K:.*]] = edge.constant dense<1> : tensor<4xi8>
// CHECK-NEXT:    delegate.region "xnnpack" : tensor<?x4xf32> {
// CHECK-NEXT:      edge.quantized_decomposed.dequantize_per_tensor(%[[K]])
// CHECK-NEXT:      edge.add.Tensor
// CHECK-NEXT:      delegate.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    edge.cumsum
// CHECK-NEXT:    delegate.region "xnnpack" : tensor<?x4xf32> {
// CHECK-NEXT:      %[[D:.*]] = edge.quantized_decomposed.dequantize_per_tensor(%[[K]])
// CHECK-NEXT:      %[[M:.*]] = edge.mul.Tensor(%{{.*}}, %[[D]])
// CHECK-NEXT:      %[[S:.*]] = edge.sym_size.int(%[[M]])
// CHECK-NEXT:      edge.view(%[[M]])[%[[S]]]
// CHECK-NEXT:      delegate.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @along(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = edge.constant dense<1> : tensor<4xi8>
  %1 = edge.quantized_decomposed.dequantize_per_tensor(%0) {scale = 0.5 : f64, zero_point = 0 : i64,
         quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8, xir.backend = "xnnpack", xir.looked_through}
       : (tensor<4xi8>) -> tensor<4xf32>
  %2 = edge.add.Tensor(%x, %1) {xir.backend = "xnnpack"} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %3 = edge.cumsum(%2) {dim = 0 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %4 = edge.mul.Tensor(%3, %1) {xir.backend = "xnnpack"} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %5 = edge.sym_size.int(%4) {dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  %6 = edge.view(%4)[%5] {size = array<i64: -9223372036854775808, 4>, xir.backend = "xnnpack"}
       : (tensor<?x4xf32>, i64) -> tensor<?x4xf32>
  func.return %6 : tensor<?x4xf32>
}
