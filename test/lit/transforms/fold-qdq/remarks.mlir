// RUN: xir-opt %s --split-input-file --fold-qdq --verify-diagnostics

// What computes in floating point between integers is reported where it stands, with the reason.

// There is no such node on integers.
func.func @no_kernel(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.softmax stays in floating point: XNNPACK does not compute it on quantised numbers}}
    %1 = xnnpack.softmax %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.convert %1 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.25>>
    xnnpack.yield %2 : tensor<4x!quant.uniform<i8:f32, 0.25>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// There is no such kind of the node on integers.
func.func @no_kind(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x, %y) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.convert %b : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.binary maximum stays in floating point: XNNPACK has no kernel that computes 'maximum' on integers}}
    %2 = xnnpack.binary maximum %0, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    xnnpack.yield %3 : tensor<4x!quant.uniform<i8:f32, 0.5>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// There is, but not for these scales.
func.func @scales(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x, %y) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<i8:f32, 256.0>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.convert %b : tensor<4x!quant.uniform<i8:f32, 256.0>> -> tensor<4xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.binary add stays in floating point: rhs / output scale is 256, XNNPACK computes from 0.000976562 to 256}}
    %2 = xnnpack.binary add %0, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %3 : tensor<4x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// A filter's scales are as good as an operand's.
func.func @filter_scales(%x: tensor<1x2xi8>) -> tensor<1x2xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<1x2xi8>) -> tensor<1x2xi8> {
  ^bb0(%a: tensor<1x2x!quant.uniform<i8:f32, 512.0>>):
    %w = xnnpack.constant dense<1> : tensor<2x2xi8> -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>
    %b = xnnpack.constant dense<1.0> : tensor<2xf32>
    %0 = xnnpack.convert %a : tensor<1x2x!quant.uniform<i8:f32, 512.0>> -> tensor<1x2xf32>
    %1 = xnnpack.convert %w : tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>> -> tensor<2x2xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.fully_connected stays in floating point: input · filter / output scale is 512, XNNPACK computes from}}
    %2 = xnnpack.fully_connected %0, %1, %b : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
    %3 = xnnpack.convert %2 : tensor<1x2xf32> -> tensor<1x2x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %3 : tensor<1x2x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %z : tensor<1x2xi8>
}

// -----

func.func @filter(%x: tensor<1x2xi8>) -> tensor<1x2xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<1x2xi8>) -> tensor<1x2xi8> {
  ^bb0(%a: tensor<1x2x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %0 = xnnpack.convert %a : tensor<1x2x!quant.uniform<i8:f32, 0.5>> -> tensor<1x2xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.fully_connected stays in floating point: its filter is not quantised}}
    %1 = xnnpack.fully_connected %0, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %2 = xnnpack.convert %1 : tensor<1x2xf32> -> tensor<1x2x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %2 : tensor<1x2x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %z : tensor<1x2xi8>
}

// -----

func.func @operands(%x: tensor<4xi8>, %y: tensor<4xf32>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x, %y) : (tensor<4xi8>, tensor<4xf32>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4xf32>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.binary add stays in floating point: its operands are not quantised}}
    %1 = xnnpack.binary add %0, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.convert %1 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    xnnpack.yield %2 : tensor<4x!quant.uniform<i8:f32, 0.5>>
  }
  func.return %z : tensor<4xi8>
}

// -----

func.func @result(%x: tensor<4xi8>) -> tensor<4xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %c = xnnpack.unary abs %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    %0 = xnnpack.convert %c : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.unary exp stays in floating point: its result is not quantised}}
    %1 = xnnpack.unary exp %0 : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %1 : tensor<4xf32>
  }
  func.return %z : tensor<4xf32>
}

// -----

func.func @ways(%x: tensor<4xi8>, %y: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %z:2 = xnnpack.subgraph(%x, %y) : (tensor<4xi8>, tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.convert %b : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.binary add stays in floating point: its result is quantised in several ways}}
    %2 = xnnpack.binary add %0, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    %4 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %3, %4 : tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %z#0, %z#1 : tensor<4xi8>, tensor<4xi8>
}

// -----

// Nodes of one op have one remark, under the name that the program gives the op.
func.func @several(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x, %y) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.convert %b : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %2 = xnnpack.binary add %0, %1 {xir.origins = array<i64: 7>} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32> loc("lerp_1")
    %3 = xnnpack.binary multiply %2, %1 {xir.origins = array<i64: 7>} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32> loc("lerp_1")
    %4 = xnnpack.convert %3 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    xnnpack.yield %4 : tensor<4x!quant.uniform<i8:f32, 0.5>>
  }
  func.return %z : tensor<4xi8>
}
// expected-remark @unknown {{fold-qdq: lerp stays in floating point: it is 2 nodes, and the numbers between them have no scale}}

// -----

// No remark: a chain of functions becomes a table, though its number has other readers; and what is not quantised at all.
func.func @tables(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %z:2 = xnnpack.subgraph(%x) : (tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %three = xnnpack.constant dense<3.0> : tensor<f32>
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.binary maximum %0, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    %2 = xnnpack.unary exp %1 : tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.convert %2 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    %4 = xnnpack.leaky_relu %0 {negative_slope = 0.1 : f32} : tensor<4xf32> -> tensor<4xf32>
    %5 = xnnpack.convert %4 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    xnnpack.yield %3, %5 : tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.5>>
  }
  func.return %z#0, %z#1 : tensor<4xi8>, tensor<4xi8>
}

// -----

func.func @floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %z = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.softmax %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %0 : tensor<4xf32>
  }
  func.return %z : tensor<4xf32>
}

// -----

// Filters that XNNPACK has no form of: scales by block in 8 bits or beside numbers, zero points, integers of weights alone.
func.func @filters(%x: tensor<1x32xf32>, %i: tensor<1x2x2x1xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x2x2x1xf32>) {
  %z:4 = xnnpack.subgraph(%x, %i) : (tensor<1x32xf32>, tensor<1x2x2x1xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x2x2x1xf32>) {
  ^bb0(%a: tensor<1x32xf32>, %b: tensor<1x2x2x1xf32>):
    %v = xnnpack.constant dense<1> : tensor<1x32xi8> -> tensor<1x32x!quant.uniform<i8:f32:{0:1, 1:16}, {{0.5, 0.25}}>>
    %0 = xnnpack.convert %v : tensor<1x32x!quant.uniform<i8:f32:{0:1, 1:16}, {{0.5, 0.25}}>> -> tensor<1x32xf32>
    %1 = xnnpack.convert %a : tensor<1x32xf32> -> tensor<1x32x!xnnpack.qd<i8, 1>>
    %2 = xnnpack.convert %1 : tensor<1x32x!xnnpack.qd<i8, 1>> -> tensor<1x32xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.fully_connected has its filter in floating point: blocks are of 4-bit input channels in one row of the filter}}
    %3 = xnnpack.fully_connected %2, %0 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x1xf32>
    %w = xnnpack.constant dense<1> : tensor<1x32xi4> -> tensor<1x32x!quant.uniform<i4:f32:{0:1, 1:32}, {{0.5}}>>
    %4 = xnnpack.convert %w : tensor<1x32x!quant.uniform<i4:f32:{0:1, 1:32}, {{0.5}}>> -> tensor<1x32xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.fully_connected has its filter in floating point: a filter quantised by block wants an input quantised at run time}}
    %5 = xnnpack.fully_connected %a, %4 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x1xf32>
    %u = xnnpack.constant dense<1> : tensor<1x32xi8> -> tensor<1x32x!quant.uniform<i8:f32:0, {0.5:3}>>
    %6 = xnnpack.convert %u : tensor<1x32x!quant.uniform<i8:f32:0, {0.5:3}>> -> tensor<1x32xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.fully_connected has its filter in floating point: the filter's zero points must be 0}}
    %7 = xnnpack.fully_connected %a, %6 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x1xf32>
    %k = xnnpack.constant dense<1> : tensor<1x1x1x1xi8> -> tensor<1x1x1x1x!quant.uniform<i8:f32:0, {0.5}>>
    %8 = xnnpack.convert %k : tensor<1x1x1x1x!quant.uniform<i8:f32:0, {0.5}>> -> tensor<1x1x1x1xf32>
    // expected-remark @+1 {{fold-qdq: xnnpack.conv2d has its filter in floating point: XNNPACK convolves a floating-point input with a floating-point filter only}}
    %9 = xnnpack.conv2d %b, %8 : (tensor<1x2x2x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x2x1xf32>
    xnnpack.yield %3, %5, %7, %9 : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x2x2x1xf32>
  }
  func.return %z#0, %z#1, %z#2, %z#3 : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x2x2x1xf32>
}
