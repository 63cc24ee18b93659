// RUN: xir-opt --split-input-file --verify-diagnostics %s | filecheck %s

// What passes and the importer note on ops and arguments, in the attributes `xir.*`.
// CHECK-LABEL: func.func @noted(
// CHECK-SAME:    %x: tensor<?x4xf32> {xir.dim_names = ["batch", ""], xir.max_shape = array<i64: 8, 4>}
// CHECK:         edge.cumsum(%x) {dim = 0 : i64, xir.reason = "no rule lowers it to XNNPACK"}
func.func @noted(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 8, 4>, xir.dim_names = ["batch", ""]}) -> tensor<?x4xf32> {
  %0 = edge.cumsum(%x) {dim = 0 : i64, xir.reason = "no rule lowers it to XNNPACK"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}

// -----

func.func @misspelt(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'edge.abs' op has an unknown attribute 'xir.reson', did you mean 'xir.reason'?}}
  %0 = edge.abs(%x) {xir.reson = "none"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @mistyped(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'edge.abs' op has 'xir.origins' = 3 : i64, expected array<i64: …>}}
  %0 = edge.abs(%x) {xir.origins = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op has 'xir.max_shape' of argument 1 = "8x4", expected array<i64: …>}}
func.func @argument(%x: tensor<4xf32>, %y: tensor<?x4xf32> {xir.max_shape = "8x4"}) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// -----

// What is noted on ops is not what is noted on arguments.
// expected-error @+1 {{'func.func' op has an unknown attribute 'xir.reason' of argument 0}}
func.func @misplaced(%x: tensor<4xf32> {xir.reason = "none"}) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op has 'xir.value' of argument 0 = 3 : i32, expected unit, 3 : i64, true}}
func.func @fixed(%k: i64 {xir.value = 3 : i32}) {
  func.return
}

// -----

// expected-error @+1 {{'func.func' op has an unknown attribute 'xir.value' of result 0}}
func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {xir.value = 3 : i64}) {
  func.return %x : tensor<4xf32>
}
