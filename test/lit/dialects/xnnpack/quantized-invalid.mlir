// RUN: xir-opt %s --split-input-file --verify-diagnostics

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{operands and result must all be signed or all be unsigned}}
  %0 = xnnpack.unary abs %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{result must be quantised by tensor in 8 bits, it is f32}}
  %0 = xnnpack.unary abs %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{XNNPACK does not compute it on quantised numbers}}
  %0 = xnnpack.softmax %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{XNNPACK has no kernel that computes 'maximum' on integers}}
  %0 = xnnpack.binary maximum %a, %a : tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 512.0>>) {
  // expected-error @+1 {{lhs / output scale is 512, XNNPACK computes from 0.000976562 to 256}}
  %0 = xnnpack.binary add %a, %a : tensor<4x!quant.uniform<i8:f32, 512.0>>, tensor<4x!quant.uniform<i8:f32, 512.0>> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 16.0>>) {
  // expected-error @+1 {{lhs · rhs / output scale is 256, XNNPACK computes from 1.52588e-05 to 256}}
  %0 = xnnpack.binary multiply %a, %a : tensor<4x!quant.uniform<i8:f32, 16.0>>, tensor<4x!quant.uniform<i8:f32, 16.0>> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 128.0>>) {
  // expected-error @+1 {{input / output scale is 128, XNNPACK computes from 0.00390625 to 128}}
  %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 128.0>> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error @+1 {{input / output scale · slope is 0.001, XNNPACK computes from 0.00390625 to 128}}
  %0 = xnnpack.leaky_relu %a {negative_slope = 0.001 : f32} : tensor<4x!quant.uniform<i8:f32, 1.0>> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 1.0e-40>>) {
  // expected-error @+1 {{the scale 1e-40 is too small; XNNPACK takes normal fp32 numbers}}
  %0 = xnnpack.unary abs %a : tensor<4x!quant.uniform<i8:f32, 1.0e-40>> -> tensor<4x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x4x4x1x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error @+1 {{input and result must have one scale and zero point}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2, 2>} : tensor<1x4x4x1x!quant.uniform<i8:f32, 1.0>> -> tensor<1x3x3x1x!quant.uniform<i8:f32, 1.0:1>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error @+1 {{its bounds [0, inf] leave no interval of !quant.uniform<i8:f32, 1.000000e+00:127>}}
  %0 = xnnpack.binary add %a, %a {output_min = 0.0 : f32} : tensor<4x!quant.uniform<i8:f32, 1.0>>, tensor<4x!quant.uniform<i8:f32, 1.0>> -> tensor<4x!quant.uniform<i8:f32, 1.0:127>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xi32>) {
  // expected-error @+1 {{only f32 and f16 are quantised at run time, not i32}}
  %0 = xnnpack.convert %a : tensor<4xi32> -> tensor<4x!xnnpack.qd<i8, 1>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{a tensor of rank 1 has no rows of !xnnpack.qd<i8, 3>}}
  %0 = xnnpack.convert %a : tensor<4xf32> -> tensor<4x!xnnpack.qd<i8, 3>>
  func.return
}

// -----

// expected-error @+1 {{a row has at least one dimension}}
func.func @invalid(%a: tensor<4x!xnnpack.qd<i8, 0>>) {
  func.return
}

// -----

// expected-error @+1 {{XNNPACK quantises to i8 at run time, not to i4}}
func.func @invalid(%a: tensor<4x!xnnpack.qd<i4, 1>>) {
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!xnnpack.qd<i8, 3>>, %w: tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>) {
  // expected-error @+1 {{the input is quantised over 3 dimensions, the node reads rows of 1}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!xnnpack.qd<i8, 3>>, tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!xnnpack.qd<i8, 1>>, %w: tensor<2x64xf32>) {
  // expected-error @+1 {{the filter must be quantised in 4 or 8 bits, it is f32}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!xnnpack.qd<i8, 1>>, tensor<2x64xf32>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!xnnpack.qd<i8, 1>>, %w: tensor<2x64x!quant.uniform<i8:f32:0, {1.0:1, 0.5}>>) {
  // expected-error @+1 {{the filter's zero points must be 0}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!xnnpack.qd<i8, 1>>, tensor<2x64x!quant.uniform<i8:f32:0, {1.0:1, 0.5}>>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!xnnpack.qd<i8, 1>>, %w: tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 0.5}>>) {
  // expected-error @+1 {{the filter's scales are along dimension 1, its output channels are 0}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!xnnpack.qd<i8, 1>>, tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 0.5}>>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!xnnpack.qd<i8, 1>>, %w: tensor<2x64x!quant.uniform<i4:f32:{0:1, 1:16}, {{1.0, 1.0, 1.0, 1.0}, {1.0, 1.0, 1.0, 1.0}}>>) {
  // expected-error @+1 {{blocks of 16 do not divide 64 input channels into multiples of 32}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!xnnpack.qd<i8, 1>>, tensor<2x64x!quant.uniform<i4:f32:{0:1, 1:16}, {{1.0, 1.0, 1.0, 1.0}, {1.0, 1.0, 1.0, 1.0}}>>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!xnnpack.qd<i8, 1>>, %w: tensor<2x64x!quant.uniform<i8:f32:{0:1, 1:32}, {{1.0, 1.0}, {1.0, 1.0}}>>) {
  // expected-error @+1 {{blocks are of 4-bit input channels in one row of the filter}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!xnnpack.qd<i8, 1>>, tensor<2x64x!quant.uniform<i8:f32:{0:1, 1:32}, {{1.0, 1.0}, {1.0, 1.0}}>>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!xnnpack.qd<i8, 1>>, %w: tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>, %b: tensor<2xi32>) {
  // expected-error @+1 {{the bias of an input that is not quantised by tensor must be f32, it is i32}}
  %0 = xnnpack.fully_connected %a, %w, %b : (tensor<1x64x!xnnpack.qd<i8, 1>>, tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>, tensor<2xi32>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!xnnpack.qd<i8, 1>>, %w: tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>) {
  // expected-error @+1 {{the result of an input that is not quantised by tensor is !quant.uniform}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!xnnpack.qd<i8, 1>>, tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>) -> tensor<1x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!quant.uniform<i8:f32, 1.0>>, %w: tensor<2x64xf32>) {
  // expected-error @+1 {{the filter of a quantised input must be quantised, it is f32}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!quant.uniform<i8:f32, 1.0>>, tensor<2x64xf32>) -> tensor<1x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!quant.uniform<i8:f32, 1.0>>, %w: tensor<2x64x!quant.uniform<i4:f32:{0:1, 1:32}, {{1.0, 1.0}, {1.0, 1.0}}>>) {
  // expected-error @+1 {{a filter quantised by block wants an input quantised at run time}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!quant.uniform<i8:f32, 1.0>>, tensor<2x64x!quant.uniform<i4:f32:{0:1, 1:32}, {{1.0, 1.0}, {1.0, 1.0}}>>) -> tensor<1x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!quant.uniform<i8:f32, 256.0>>, %w: tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>) {
  // expected-error @+1 {{input · filter / output scale is 256, XNNPACK computes from 2.32831e-10 to 256}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!quant.uniform<i8:f32, 256.0>>, tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>) -> tensor<1x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!quant.uniform<i8:f32, 1.0>>, %w: tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>, %b: tensor<2xf32>) {
  // expected-error @+1 {{the bias of a quantised input must be 32-bit integers, it is f32}}
  %0 = xnnpack.fully_connected %a, %w, %b : (tensor<1x64x!quant.uniform<i8:f32, 1.0>>, tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>, tensor<2xf32>) -> tensor<1x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!quant.uniform<i8:f32, 1.0>>, %w: tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>, %b: tensor<2x!quant.uniform<i32:f32, 1.0>>) {
  // expected-error @+1 {{filter and bias must both be quantised by tensor or both by channel}}
  %0 = xnnpack.fully_connected %a, %w, %b : (tensor<1x64x!quant.uniform<i8:f32, 1.0>>, tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>, tensor<2x!quant.uniform<i32:f32, 1.0>>) -> tensor<1x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64xf32>, %w: tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>, %b: tensor<2xf32>) {
  // expected-error @+1 {{XNNPACK scales the bias of a floating-point input like the filter: add it behind}}
  %0 = xnnpack.fully_connected %a, %w, %b : (tensor<1x64xf32>, tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64xf16>, %w: tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>) {
  // expected-error @+1 {{a filter in integers wants f32 as input and result, got f16}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64xf16>, tensor<2x64x!quant.uniform<i8:f32:0, {1.0, 0.5}>>) -> tensor<1x2xf16>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64xf32>, %w: tensor<2x64x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error @+1 {{the filter of a floating-point input must be quantised by channel}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64xf32>, tensor<2x64x!quant.uniform<i8:f32, 1.0>>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!quant.uniform<i8:f32, 1.0>>, %w: tensor<64x2x!quant.uniform<i8:f32:1, {1.0, 0.5}>>) {
  // expected-error @+1 {{a quantised filter is [O, I]; XNNPACK transposes floating-point ones only}}
  %0 = xnnpack.fully_connected %a, %w {transpose_weights} : (tensor<1x64x!quant.uniform<i8:f32, 1.0>>, tensor<64x2x!quant.uniform<i8:f32:1, {1.0, 0.5}>>) -> tensor<1x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x4x4x1xf32>, %w: tensor<2x1x1x1x!quant.uniform<i8:f32:0, {1.0, 0.5}>>) {
  // expected-error @+1 {{XNNPACK convolves a floating-point input with a floating-point filter only}}
  %0 = xnnpack.conv2d %a, %w : (tensor<1x4x4x1xf32>, tensor<2x1x1x1x!quant.uniform<i8:f32:0, {1.0, 0.5}>>) -> tensor<1x4x4x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x2x!quant.uniform<u8:f32, 1.0>>) {
  // expected-error @+1 {{XNNPACK multiplies batches of signed integers only}}
  %0 = xnnpack.batch_matrix_multiply %a, %a : (tensor<2x2x!quant.uniform<u8:f32, 1.0>>, tensor<2x2x!quant.uniform<u8:f32, 1.0>>) -> tensor<2x2x!quant.uniform<u8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x2x!quant.uniform<i8:f32, 1.0:3>>) {
  // expected-error @+1 {{the zero point of rhs must be 0, it is 3}}
  %0 = xnnpack.batch_matrix_multiply %a, %a : (tensor<2x2x!quant.uniform<i8:f32, 1.0:3>>, tensor<2x2x!quant.uniform<i8:f32, 1.0:3>>) -> tensor<2x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!xnnpack.qd<i8, 1>>, %w: tensor<2x64x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error @+1 {{the filter of an input quantised at run time must be quantised by channel}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!xnnpack.qd<i8, 1>>, tensor<2x64x!quant.uniform<i8:f32, 1.0>>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x64x!quant.uniform<i8:f32, 1.0>>, %w: tensor<2x64x!quant.uniform<i4:f32, 1.0>>) {
  // expected-error @+1 {{the filter of 4 bits must be quantised by channel}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x64x!quant.uniform<i8:f32, 1.0>>, tensor<2x64x!quant.uniform<i4:f32, 1.0>>) -> tensor<1x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 1.0e-30>>, %b: tensor<4x!quant.uniform<i8:f32, 1.0e-10>>) {
  // expected-error @+1 {{lhs · rhs scale is 9.99995e-41, which fp32 does not hold with all bits}}
  %0 = xnnpack.binary multiply %a, %b : tensor<4x!quant.uniform<i8:f32, 1.0e-30>>, tensor<4x!quant.uniform<i8:f32, 1.0e-10>> -> tensor<4x!quant.uniform<i8:f32, 1.0e-37>>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x3x!xnnpack.qd<i8, 1>>, %w: tensor<2x3x!quant.uniform<i4:f32:0, {1.0, 1.0}>>) {
  // expected-error @+1 {{a filter in 4 bits wants an even number of input channels, XNNPACK miscounts rows else}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<1x3x!xnnpack.qd<i8, 1>>, tensor<2x3x!quant.uniform<i4:f32:0, {1.0, 1.0}>>) -> tensor<1x2xf32>
  func.return
}
