// RUN: xir-opt %s --split-input-file --check-xnnpack --verify-diagnostics

// A subgraph is defined as a whole; the node at fault is found, here by its shapes in the middle of the subgraph.
func.func @shapes(%x: tensor<1x1x16777216x1xf32>) -> tensor<1x2x4x1xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<1x1x16777216x1xf32>) -> tensor<1x2x4x1xf32> {
  ^bb0(%a: tensor<1x1x16777216x1xf32>):
    %1 = xnnpack.unary abs %a : tensor<1x1x16777216x1xf32> -> tensor<1x1x16777216x1xf32>
    // expected-error @+1 {{check-xnnpack: XNNPACK refuses to run at these shapes: unsupported parameter}}
    %2 = xnnpack.static_resize_bilinear2d %1 {new_height = 2 : i32, new_width = 4 : i32}
       : tensor<1x1x16777216x1xf32> -> tensor<1x2x4x1xf32>
    %3 = xnnpack.unary exp %2 : tensor<1x2x4x1xf32> -> tensor<1x2x4x1xf32>
    %4 = xnnpack.unary abs %3 : tensor<1x2x4x1xf32> -> tensor<1x2x4x1xf32>
    xnnpack.yield %4 : tensor<1x2x4x1xf32>
  }
  func.return %0 : tensor<1x2x4x1xf32>
}

// -----

// Dynamic dimensions are as large as they can be.
func.func @dynamic(%x: tensor<1x1x?x1xf32> {xir.max_shape = array<i64: 1, 1, 16777216, 1>}) -> tensor<1x2x4x1xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<1x1x?x1xf32>) -> tensor<1x2x4x1xf32> {
  ^bb0(%a: tensor<1x1x?x1xf32>):
    // expected-error @+1 {{check-xnnpack: XNNPACK refuses to run at these shapes: unsupported parameter}}
    %1 = xnnpack.static_resize_bilinear2d %a {new_height = 2 : i32, new_width = 4 : i32}
       : tensor<1x1x?x1xf32> -> tensor<1x2x4x1xf32>
    xnnpack.yield %1 : tensor<1x2x4x1xf32>
  }
  func.return %0 : tensor<1x2x4x1xf32>
}

// -----

// XNNPACK says itself which definition it refuses.
func.func @definition(%x: tensor<1x2x1x1xf32>) -> tensor<1x16777216x1x1xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<1x2x1x1xf32>) -> tensor<1x16777216x1x1xf32> {
  ^bb0(%a: tensor<1x2x1x1xf32>):
    %1 = xnnpack.unary abs %a : tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
    // expected-error @+1 {{XNNPACK refuses to define XNNStaticResizeBilinear2D: unsupported parameter}}
    %2 = xnnpack.static_resize_bilinear2d %1 {new_height = 16777216 : i32, new_width = 1 : i32}
       : tensor<1x2x1x1xf32> -> tensor<1x16777216x1x1xf32>
    xnnpack.yield %2 : tensor<1x16777216x1x1xf32>
  }
  func.return %0 : tensor<1x16777216x1x1xf32>
}

// -----

// What loads is fine, and weights need not be there to tell.
func.func @fine(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 8, 4>}) -> tensor<?x2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<?x4xf32>) -> tensor<?x2xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    %w = xnnpack.constant dense_resource<elsewhere> : tensor<2x4xf32>
    %1 = xnnpack.fully_connected %a, %w : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32>
    xnnpack.yield %1 : tensor<?x2xf32>
  }
  func.return %0 : tensor<?x2xf32>
}

// -----

// 8-bit integers that are computed with in bf16 alone: XNNPACK makes a table of it, and has none of bf16.
func.func @table_of_bf16(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 6, 4>}) -> tensor<?x4xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    %1 = xnnpack.convert %a : tensor<?x4xf32> -> tensor<?x4x!quant.uniform<i8:f32, 0.05:3>>
    %2 = xnnpack.convert %1 : tensor<?x4x!quant.uniform<i8:f32, 0.05:3>> -> tensor<?x4xbf16>
    %3 = xnnpack.unary tanh %2 : tensor<?x4xbf16> -> tensor<?x4xbf16>
    // expected-error @+1 {{XNNPACK refuses to create the operators: unsupported parameter}}
    %4 = xnnpack.convert %3 : tensor<?x4xbf16> -> tensor<?x4x!quant.uniform<i8:f32, 0.02:-3>>
    %5 = xnnpack.convert %4 : tensor<?x4x!quant.uniform<i8:f32, 0.02:-3>> -> tensor<?x4xf32>
    xnnpack.yield %5 : tensor<?x4xf32>
  }
  func.return %0 : tensor<?x4xf32>
}
