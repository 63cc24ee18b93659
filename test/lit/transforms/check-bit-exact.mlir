// RUN: xir-opt %s --split-input-file --check-bit-exact --verify-diagnostics

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.3:2>
!w = !quant.uniform<i8:f32:0, {0.1, 0.2}>

// Integers between one quantisation and one dequantisation; single operations of fp32 numbers; moves; integers outside.
func.func @exact(%x: tensor<2x4xf32>, %i: tensor<3xi64>) -> (tensor<2x2xf32>, tensor<2x4xf32>, tensor<3xi64>) {
  %0, %1 = xnnpack.subgraph(%x) : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>) {
  ^bb0(%a: tensor<2x4xf32>):
    %2 = xnnpack.convert %a : tensor<2x4xf32> -> tensor<2x4x!a>
    %w = xnnpack.constant dense<1> : tensor<2x4xi8> -> tensor<2x4x!w>
    %3 = xnnpack.fully_connected %2, %w : (tensor<2x4x!a>, tensor<2x4x!w>) -> tensor<2x2x!b>
    %4 = xnnpack.binary add %3, %3 : tensor<2x2x!b>, tensor<2x2x!b> -> tensor<2x2x!b>
    %5 = xnnpack.convert %4 : tensor<2x2x!b> -> tensor<2x2xf32>
    %6 = xnnpack.binary multiply %a, %a : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    xnnpack.yield %5, %6 : tensor<2x2xf32>, tensor<2x4xf32>
  }
  %7 = edge.permute(%1) {dims = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %8 = edge.permute(%7) {dims = array<i64: 1, 0>} : (tensor<4x2xf32>) -> tensor<2x4xf32>
  %9 = edge.mul.Tensor(%i, %i) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %0, %8, %9 : tensor<2x2xf32>, tensor<2x4xf32>, tensor<3xi64>
}

// -----

// AVX-512's kernels compare with zero instead of looking at the sign, and take numbers that are not normal for zero.
func.func @leaky(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @+1 {{xnnpack.leaky_relu: its bits depend on the processor: negative fp32 numbers too small to be normal}}
    %1 = xnnpack.leaky_relu %a {negative_slope = 0.1 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// -----

func.func @parametric(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = xnnpack.subgraph(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    // expected-error @+1 {{xnnpack.binary prelu: its bits depend on the processor: negative fp32 numbers too small to be normal}}
    %1 = xnnpack.binary prelu %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// -----

// Whoever has quantised it already is told what else to do.
!a = !quant.uniform<i8:f32, 0.031>
func.func @parametric8(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %0 = xnnpack.subgraph(%x, %y) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!a>, %b: tensor<4x!a>):
    // expected-error @+1 {{xnnpack.binary prelu: its bits depend on the processor: it is not known to give the same bits on every processor; use leaky ReLUs of one slope in static int8}}
    %1 = xnnpack.binary prelu %a, %b : tensor<4x!a>, tensor<4x!a> -> tensor<4x!a>
    xnnpack.yield %1 : tensor<4x!a>
  }
  func.return %0 : tensor<4xi8>
}

// -----

// A table of a function is accepted where no entry is close to a tie.
!a = !quant.uniform<i8:f32, 0.031>
!b = !quant.uniform<i8:f32, 0.0039:-128>
func.func @table(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!a>):
    %1 = xnnpack.unary sigmoid %a : tensor<4x!a> -> tensor<4x!b>
    xnnpack.yield %1 : tensor<4x!b>
  }
  func.return %0 : tensor<4xi8>
}

// -----

// A sigmoid of 0 is a half, which is a tie here.
!a = !quant.uniform<i8:f32, 0.031>
!b = !quant.uniform<i8:f32, 0.2>
func.func @tie(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!a>):
    // expected-error @+1 {{xnnpack.unary sigmoid: its bits depend on the processor: as a function of 8-bit numbers, it gives 2 or 3 for operand 128 of 256, as the processor rounds; calibrate with other data, since other scales have other ties}}
    %1 = xnnpack.unary sigmoid %a : tensor<4x!a> -> tensor<4x!b>
    xnnpack.yield %1 : tensor<4x!b>
  }
  func.return %0 : tensor<4xi8>
}

// -----

// The first op is the error, others are notes.
func.func @floats(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<2x4xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x4xf32>):
    %w = xnnpack.constant dense<1.0> : tensor<2x4xf32>
    // expected-error @+1 {{xnnpack.fully_connected: its bits depend on the processor: it adds up products in fp32, rounding each product on processors without FMA, and in another order on some; quantise the model to static int8 (--quantize=static), whose sums are exact}}
    %1 = xnnpack.fully_connected %a, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
    // expected-note @+1 {{xnnpack.softmax: it adds up fp32 numbers in as many parts as the processor's vectors have}}
    %2 = xnnpack.softmax %1 : tensor<2x2xf32> -> tensor<2x2xf32>
    xnnpack.yield %2 : tensor<2x2xf32>
  }
  func.return %0 : tensor<2x2xf32>
}

// -----

func.func @function(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @+1 {{xnnpack.unary exp: its bits depend on the processor: processors approximate this function of fp32 numbers in different ways}}
    %1 = xnnpack.unary exp %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// -----

func.func @zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @+1 {{of 0 and −0 in fp32, processors return one or the other}}
    %1 = xnnpack.clamp %a {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// -----

func.func @half(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xf16>) -> tensor<4xf16> {
  ^bb0(%a: tensor<4xf16>):
    // expected-error @+1 {{numbers of 16 bits are computed in fp16 or in fp32, as the processor has it}}
    %1 = xnnpack.binary add %a, %a : tensor<4xf16>, tensor<4xf16> -> tensor<4xf16>
    xnnpack.yield %1 : tensor<4xf16>
  }
  func.return %0 : tensor<4xf16>
}

// -----

!u = !quant.uniform<u8:f32, 0.5:128>
!s = !quant.uniform<i32:f32, 0.25>
func.func @unsigned(%x: tensor<1x4xui8>) -> tensor<1x2xui8> {
  %0 = xnnpack.subgraph(%x) : (tensor<1x4xui8>) -> tensor<1x2xui8> {
  ^bb0(%a: tensor<1x4x!u>):
    %w = xnnpack.constant dense<1> : tensor<2x4xui8> -> tensor<2x4x!u>
    // expected-error @+1 {{XNNPACK's Arm kernels round sums of unsigned 8-bit products in another way; quantise to signed integers}}
    %1 = xnnpack.fully_connected %a, %w : (tensor<1x4x!u>, tensor<2x4x!u>) -> tensor<1x2x!u>
    xnnpack.yield %1 : tensor<1x2x!u>
  }
  func.return %0 : tensor<1x2xui8>
}

// -----

// A product of integers is one that make-bit-exact rewrites.
!a = !quant.uniform<i8:f32, 0.5>
func.func @product(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!a>):
    // expected-error @+1 {{xnnpack.binary multiply: its bits depend on the processor: XNNPACK's Arm kernels round products of 8-bit numbers in another way}}
    %1 = xnnpack.binary multiply %a, %a : tensor<4x!a>, tensor<4x!a> -> tensor<4x!a>
    xnnpack.yield %1 : tensor<4x!a>
  }
  func.return %0 : tensor<4xi8>
}

// -----

!w = !quant.uniform<i8:f32:0, {0.1, 0.2}>
func.func @run_time_scale(%x: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<1x4xf32>) -> tensor<1x2xf32> {
  ^bb0(%a: tensor<1x4xf32>):
    // expected-error @+1 {{it multiplies by scales found at run time, with or without FMA; use static quantisation}}
    %1 = xnnpack.convert %a : tensor<1x4xf32> -> tensor<1x4x!xnnpack.qd<i8, 1>>
    %w = xnnpack.constant dense<1> : tensor<2x4xi8> -> tensor<2x4x!w>
    // expected-note @+1 {{it multiplies by scales found at run time}}
    %2 = xnnpack.fully_connected %1, %w : (tensor<1x4x!xnnpack.qd<i8, 1>>, tensor<2x4x!w>) -> tensor<1x2xf32>
    xnnpack.yield %2 : tensor<1x2xf32>
  }
  func.return %0 : tensor<1x2xf32>
}

// -----

func.func @outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{edge.cumsum: its bits depend on the processor: its kernel outside XNNPACK computes in floating point}}
  %0 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

!a = !quant.uniform<i8:f32, 0.5:3>
func.func @mean(%x: tensor<2x5x4x8xi8>) -> tensor<2x8xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<2x5x4x8xi8>) -> tensor<2x8xi8> {
  ^bb0(%a: tensor<2x5x4x8x!a>):
    // expected-error @+1 {{it scales a sum and adds a fraction in fp32, with or without FMA}}
    %1 = xnnpack.global_average_pooling2d %a : tensor<2x5x4x8x!a> -> tensor<2x8x!a>
    xnnpack.yield %1 : tensor<2x8x!a>
  }
  func.return %0 : tensor<2x8xi8>
}
