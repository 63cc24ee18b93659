// RUN: xir-opt %s --split-input-file --mark-delegates=backend=xnnpack --verify-diagnostics | filecheck %s

// What the backend takes says so; the rest says why not. Nothing moves.
// CHECK-LABEL: func.func @marked(
// CHECK-NEXT:    edge.abs(%x) {xir.backend = "xnnpack"}
// CHECK-NEXT:    edge.cumsum(%{{.*}}) {dim = 0 : i64, xir.reason = "no rule lowers it to XNNPACK"}
// CHECK-NEXT:    edge.relu(%{{.*}}) {xir.backend = "xnnpack"}
func.func @marked(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{mark-delegates{backend=xnnpack}: edge.cumsum not delegated: no rule lowers it to XNNPACK}}
  %1 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.relu(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// -----

// How many nodes an op becomes, and whether they only move data, is what `form-delegates` has to know.
// CHECK-LABEL: func.func @nodes(
// CHECK-NEXT:    edge.permute(%x) {dims = array<i64: 1, 0>, xir.backend = "xnnpack", xir.only_moves}
// CHECK-NEXT:    edge.silu(%{{.*}}) {xir.backend = "xnnpack", xir.nodes = 2 : i64}
func.func @nodes(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = edge.permute(%x) {dims = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = edge.silu(%0) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// -----

// An op that does nothing goes away, and one that nobody reads.
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT:    func.return %x
func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.clone(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// An op that another backend has taken stays with that.
// CHECK-LABEL: func.func @first(
// CHECK-NEXT:    edge.abs(%x) {xir.backend = "other"}
// CHECK-NEXT:    edge.relu(%{{.*}}) {xir.backend = "xnnpack"}
func.func @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) {xir.backend = "other"} : (tensor<4xf32>) -> tensor<4xf32>
  // A reason of a backend that was asked before is none any more.
  %1 = edge.relu(%0) {xir.reason = "other has no maximum"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// The filter's dequantisation goes along with the product, whose rule looks through it.
// CHECK-LABEL: func.func @along(
// CHECK:         edge.quantized_decomposed.dequantize_per_tensor(%{{.*}}) {{.*}}xir.backend = "xnnpack", xir.looked_through, zero_point = 0 : i64}
// CHECK:         edge.linear(%x, %{{.*}}, none) {xir.backend = "xnnpack", xir.nodes = 2 : i64}
func.func @along(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %0 = edge.constant dense<1> : tensor<3x4xi8>
  %1 = edge.quantized_decomposed.dequantize_per_tensor(%0) {scale = 0.5 : f64, zero_point = 0 : i64,
         quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<3x4xi8>) -> tensor<3x4xf32>
  %2 = edge.linear(%x, %1, none) : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// -----

// What the backend refused once other passes had changed it stays outside; another backend is asked still.
// CHECK-LABEL: func.func @taken_back(
// CHECK-NEXT:    edge.abs(%x) {xir.reason = "too large"}
// CHECK-NEXT:    edge.relu(%{{.*}}) {xir.backend = "xnnpack", xir.taken_back = {other = {pass = "check-xnnpack", reason = "too large"}}}
func.func @taken_back(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.abs not delegated: too large}}
  %0 = edge.abs(%x) {xir.taken_back = {xnnpack = {pass = "check-xnnpack", reason = "too large"}}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu(%0) {xir.taken_back = {other = {pass = "check-xnnpack", reason = "too large"}}} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
