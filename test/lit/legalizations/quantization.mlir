// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// Both ops are conversions; integers are quantised numbers inside of the subgraph, and integers outside.
// CHECK-LABEL: func.func @integers(
// CHECK-SAME:    %x: tensor<4xi8>) -> tensor<4xui8>
// CHECK:         xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xui8> {
// CHECK-NEXT:    ^bb0(%{{.*}}: tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>):
// CHECK-NEXT:      %[[F:.*]] = xnnpack.convert %{{.*}} : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>> -> tensor<4xf32>
// CHECK-NEXT:      %[[Q:.*]] = xnnpack.convert %[[F]] : tensor<4xf32> -> tensor<4x!quant.uniform<u8:f32, 2.500000e-01:128>>
// CHECK-NEXT:      xnnpack.yield %[[Q]] : tensor<4x!quant.uniform<u8:f32, 2.500000e-01:128>>
func.func @integers(%x: tensor<4xi8>) -> tensor<4xui8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.quantized_decomposed.quantize_per_tensor(%0) {scale = 0.25 : f64, zero_point = 128 : i64, quant_min = 0 : i64, quant_max = 255 : i64, dtype = ui8} : (tensor<4xf32>) -> tensor<4xui8>
  func.return %1 : tensor<4xui8>
}

// -----

// A narrower range of integers is a clamp of the numbers.
// CHECK-LABEL: func.func @range(
// CHECK:           xnnpack.clamp %{{.*}} {output_min = -6.350000e+01 : f32}
// CHECK-NEXT:      xnnpack.convert %{{.*}} : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>
func.func @range(%x: tensor<4xf32>) -> tensor<4xi8> {
  %0 = edge.quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5 : f64, zero_point = 0 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// -----

// A weight by channel keeps its integers, and its scales follow its dimensions; so does one that is yet to be quantised.
// CHECK-LABEL: func.func @weights(
// CHECK:           xnnpack.constant {{.*}} : tensor<1x1x1x2xi8> -> tensor<1x1x1x2x!quant.uniform<i8:f32:3, {5.000000e-01, 2.500000e-01}>>
// CHECK:           xnnpack.depthwise_conv2d
// CHECK:           xnnpack.constant dense<{{.*}}2, 4{{.*}}-128, 127{{.*}}> : tensor<2x1x1x2xi8> -> tensor<2x1x1x2x!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>>
// CHECK:           xnnpack.conv2d
// CHECK-NOT:       edge
func.func @weights(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = edge.constant dense<[[[[1]]], [[[2]]]]> : tensor<2x1x1x1xi8>
  %s = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %z = edge.constant dense<0> : tensor<2xi64>
  %0 = edge.quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<2x1x1x1xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x1x1x1xf32>
  %1 = edge.conv2d(%x, %0, none) {groups = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %f = edge.constant dense<[[[[1.0]], [[2.0]]], [[[-80.0]], [[80.0]]]]> : tensor<2x2x1x1xf32>
  %2 = edge.quantized_decomposed.quantize_per_channel(%f, %s, %z) {axis = 0 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<2x2x1x1xf32>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x2x1x1xi8>
  %3 = edge.quantized_decomposed.dequantize_per_channel(%2, %s, %z) {axis = 0 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<2x2x1x1xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x2x1x1xf32>
  %4 = edge.conv2d(%1, %3, none) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return %4 : tensor<1x2x4x4xf32>
}

// -----

// 4-bit weights of a linear op, the filter's transpose done on the integers; an odd number of input channels is padded,
// for which XNNPACK would compute too few rows.
// CHECK-LABEL: func.func @nibbles(
// CHECK:           xnnpack.static_constant_pad %{{.*}} {post_paddings = array<i32: 0, 1>, pre_paddings = array<i32: 0, 0>} : tensor<1x3xf32> -> tensor<1x4xf32>
// CHECK:           xnnpack.constant dense<{{.*}}1, -3, 5, 0{{.*}}2, 4, -6, 0{{.*}}> : tensor<2x4xi4> -> tensor<2x4x!quant.uniform<i4:f32:0, {5.000000e-01, 2.500000e-01}>>
// CHECK:           xnnpack.fully_connected %{{.*}}, %{{.*}} :
func.func @nibbles(%x: tensor<1x3xf32>) -> tensor<1x2xf32> {
  %w = edge.constant dense<[[1, 2], [-3, 4], [5, -6]]> : tensor<3x2xi8>
  %s = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel(%w, %s, none) {axis = 1 : i64, quant_min = -8 : i64, quant_max = 7 : i64, dtype = i8} : (tensor<3x2xi8>, tensor<2xf32>) -> tensor<3x2xf32>
  %1 = edge.mm(%x, %0) : (tensor<1x3xf32>, tensor<3x2xf32>) -> tensor<1x2xf32>
  func.return %1 : tensor<1x2xf32>
}

// -----

// What is quantised with a scale found at run time is quantised by XNNPACK; the ops around it go away.
// CHECK-LABEL: func.func @run_time(
// CHECK-NOT:       edge
// CHECK:           xnnpack.convert %{{.*}} : tensor<2x3xf32> -> tensor<2x3x!xnnpack.qd<i8, 1>>
// CHECK-NEXT:      xnnpack.convert %{{.*}} : tensor<2x3x!xnnpack.qd<i8, 1>> -> tensor<2x3xf32>
// CHECK-NEXT:      xnnpack.yield
func.func @run_time(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s, %z = edge.quantized_decomposed.choose_qparams.tensor(%x) {quant_min = -128 : i64, quant_max = 127 : i64, eps = 1.0e-05 : f64, dtype = i8} : (tensor<2x3xf32>) -> (tensor<1xf64>, tensor<1xi64>)
  %0 = edge.quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z) {quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<2x3xf32>, tensor<1xf64>, tensor<1xi64>) -> tensor<2x3xi8>
  %1 = edge.quantized_decomposed.dequantize_per_tensor.tensor(%0, %s, %z) {quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<2x3xi8>, tensor<1xf64>, tensor<1xi64>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @given_scale(
func.func @given_scale(%x: tensor<2x3xf32>, %s: tensor<1xf64>, %z: tensor<1xi64>) -> tensor<2x3xi8> {
  // expected-remark @+1 {{quantize_per_tensor.tensor not delegated: its scale is computed at run time (let choose_qparams of the same tensor compute it)}}
  %0 = edge.quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z) {quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<2x3xf32>, tensor<1xf64>, tensor<1xi64>) -> tensor<2x3xi8>
  func.return %0 : tensor<2x3xi8>
}

// -----

// CHECK-LABEL: func.func @rows_of_an_activation(
func.func @rows_of_an_activation(%x: tensor<2x3xi8>) -> tensor<2x3xf32> {
  %s = edge.constant dense<[[0.5], [0.25]]> : tensor<2x1xf32>
  %z = edge.constant dense<0> : tensor<2x1xi64>
  // expected-remark @+1 {{not delegated: its scales differ along a dimension; XNNPACK quantises activations by tensor}}
  %0 = edge.quantized_decomposed.dequantize_per_token(%x, %s, %z) {quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8, output_dtype = f32} : (tensor<2x3xi8>, tensor<2x1xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @half(
func.func @half(%x: tensor<4xi8>) -> tensor<4xf16> {
  // expected-remark @+1 {{not delegated: XNNPACK dequantises to f32, not to f16}}
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8, out_dtype = f16} : (tensor<4xi8>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// -----

// CHECK-LABEL: func.func @two_readings(
func.func @two_readings(%x: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-remark @+1 {{not delegated: its integers are written or read elsewhere with another scale or zero point}}
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  // expected-remark @+1 {{not delegated: its integers are written or read elsewhere with another scale or zero point}}
  %1 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5 : f64, zero_point = 4 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @sixteen_bits(
func.func @sixteen_bits(%x: tensor<4xi16>) -> tensor<4xf32> {
  // expected-remark @+1 {{not delegated: XNNPACK quantises activations in 8 bits, not to i16}}
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5 : f64, zero_point = 3 : i64, quant_min = -32768 : i64, quant_max = 32767 : i64, dtype = i16} : (tensor<4xi16>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @no_scale(
func.func @no_scale(%x: tensor<4xi8>) -> tensor<4xf32> {
  // expected-remark @+1 {{not delegated: a scale is a positive number that f32 can hold}}
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.0 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// Integers that no node takes as such are converted: two groups of two in each row.
// CHECK-LABEL: func.func @groups(
// CHECK:           %[[Q:.*]] = xnnpack.constant dense<{{.*}}1, 2, 3, 4{{.*}}> : tensor<1x4xi8> -> tensor<1x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{.*}}>>
// CHECK-NEXT:      %[[W:.*]] = xnnpack.convert %[[Q]]
// CHECK-NEXT:      xnnpack.binary multiply %{{.*}}, %[[W]]
func.func @groups(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %w = edge.constant dense<[[1, 2, 3, 4]]> : tensor<1x4xi8>
  %s = edge.constant dense<[[0.5, 0.25]]> : tensor<1x2xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel_group(%w, %s, none) {quant_min = -8 : i64, quant_max = 7 : i64, dtype = i8, group_size = 2 : i64, output_dtype = f32} : (tensor<1x4xi8>, tensor<1x2xf32>) -> tensor<1x4xf32>
  %1 = edge.mul.Tensor(%x, %0) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %1 : tensor<1x4xf32>
}

// -----

// A scale for each row, which torch calls a token.
// CHECK-LABEL: func.func @tokens(
// CHECK-NOT:       edge
// CHECK:           xnnpack.convert %{{.*}} : tensor<2x3xf32> -> tensor<2x3x!xnnpack.qd<i8, 1>>
// CHECK-NEXT:      xnnpack.convert %{{.*}} : tensor<2x3x!xnnpack.qd<i8, 1>> -> tensor<2x3xf32>
// CHECK-NEXT:      xnnpack.yield
func.func @tokens(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s, %z = edge.quantized_decomposed.choose_qparams_per_token_asymmetric(%x) {dtype = i8} : (tensor<2x3xf32>) -> (tensor<2x1xf64>, tensor<2x1xi64>)
  %0 = edge.quantized_decomposed.quantize_per_token(%x, %s, %z) {quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<2x3xf32>, tensor<2x1xf64>, tensor<2x1xi64>) -> tensor<2x3xi8>
  %1 = edge.quantized_decomposed.dequantize_per_token(%0, %s, %z) {quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8, output_dtype = f32} : (tensor<2x3xi8>, tensor<2x1xf64>, tensor<2x1xi64>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// -----

// torchao says the same with a block for each row.
// CHECK-LABEL: func.func @blocks(
// CHECK-NOT:       edge
// CHECK:           xnnpack.convert %{{.*}} : tensor<2x3xf32> -> tensor<2x3x!xnnpack.qd<i8, 1>>
// CHECK-NEXT:      xnnpack.convert %{{.*}} : tensor<2x3x!xnnpack.qd<i8, 1>> -> tensor<2x3xf32>
// CHECK-NEXT:      xnnpack.yield
func.func @blocks(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s, %z = edge.torchao.choose_qparams_affine(%x) {mapping_type = "ASYMMETRIC", block_size = array<i64: 1, 3>, target_dtype = i8, quant_min = -128 : i64, quant_max = 127 : i64} : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi8>)
  %0 = edge.torchao.quantize_affine(%x, %s, %z) {block_size = array<i64: 1, 3>, output_dtype = i8, quant_min = -128 : i64, quant_max = 127 : i64} : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xi8>) -> tensor<2x3xi8>
  %1 = edge.torchao.dequantize_affine(%0, %s, %z) {block_size = array<i64: 1, 3>, input_dtype = i8, quant_min = -128 : i64, quant_max = 127 : i64, output_dtype = f32} : (tensor<2x3xi8>, tensor<2xf32>, tensor<2xi8>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// -----

// Groups are for weights.
// CHECK-LABEL: func.func @groups_of_an_activation(
func.func @groups_of_an_activation(%x: tensor<1x4xf32>) -> tensor<1x4xi8> {
  %s = edge.constant dense<[[0.5, 0.25]]> : tensor<1x2xf32>
  %z = edge.constant dense<0> : tensor<1x2xi64>
  // expected-remark @+1 {{not delegated: its scales differ along a dimension; XNNPACK quantises activations by tensor}}
  %0 = edge.quantized_decomposed.quantize_per_channel_group(%x, %s, %z) {quant_min = -8 : i64, quant_max = 7 : i64, dtype = i8, group_size = 2 : i64} : (tensor<1x4xf32>, tensor<1x2xf32>, tensor<1x2xi64>) -> tensor<1x4xi8>
  func.return %0 : tensor<1x4xi8>
}

// -----

// Products of short floats with quantised weights are between conversions; what is quantised at run time is not rounded to
// fp16 in between. Who else reads that gets it rounded: here nobody.
// CHECK-LABEL: func.func @short_floats(
// CHECK:           xnnpack.convert %{{.*}} : tensor<2x4xf32> -> tensor<2x4xf16>
// CHECK-NEXT:      %[[Y:.*]] = xnnpack.convert %{{.*}} : tensor<2x4xf16> -> tensor<2x4xf32>
// CHECK-NEXT:      %[[Q:.*]] = xnnpack.convert %[[Y]] : tensor<2x4xf32> -> tensor<2x4x!xnnpack.qd<i8, 1>>
// CHECK-NEXT:      %[[R:.*]] = xnnpack.convert %[[Q]] : tensor<2x4x!xnnpack.qd<i8, 1>> -> tensor<2x4xf32>
// CHECK-NEXT:      xnnpack.constant
// CHECK-NEXT:      %[[W:.*]] = xnnpack.convert %{{.*}} : tensor<1x4x!quant.uniform<i8:f32, 5.000000e-01>> -> tensor<1x4xf32>
// CHECK-NEXT:      %[[P:.*]] = xnnpack.fully_connected %[[R]], %[[W]] : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:      xnnpack.convert %[[P]] {xir.unasked} : tensor<2x1xf32> -> tensor<2x1xf16>
func.func @short_floats(%x: tensor<2x4xf16>) -> tensor<2x1xf16> {
  %w = edge.constant dense<[[1, -2, 3, 4]]> : tensor<1x4xi8>
  %s = edge.constant dense<[0.5]> : tensor<1xf32>
  %z = edge.constant dense<0> : tensor<1xi64>
  %0, %1 = edge.quantized_decomposed.choose_qparams_per_token_asymmetric(%x) {dtype = i8} : (tensor<2x4xf16>) -> (tensor<2x1xf32>, tensor<2x1xi64>)
  %2 = edge.quantized_decomposed.quantize_per_token(%x, %0, %1) {quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<2x4xf16>, tensor<2x1xf32>, tensor<2x1xi64>) -> tensor<2x4xi8>
  %3 = edge.quantized_decomposed.dequantize_per_token(%2, %0, %1) {quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8, output_dtype = f16} : (tensor<2x4xi8>, tensor<2x1xf32>, tensor<2x1xi64>) -> tensor<2x4xf16>
  %4 = edge.quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8, out_dtype = f16} : (tensor<1x4xi8>, tensor<1xf32>, tensor<1xi64>) -> tensor<1x4xf16>
  %5 = edge.linear(%3, %4, none) : (tensor<2x4xf16>, tensor<1x4xf16>) -> tensor<2x1xf16>
  func.return %5 : tensor<2x1xf16>
}

// -----

// What no node reads stays outside, as the weight of a product of no rows.
// CHECK-LABEL: func.func @no_rows(
// CHECK-NOT:       xnnpack
// CHECK:           edge.linear
func.func @no_rows(%x: tensor<0x4xf32>) -> tensor<0x1xf32> {
  %w = edge.constant dense<[[1, -2, 3, 4]]> : tensor<1x4xi8>
  %s = edge.constant dense<[0.5]> : tensor<1xf32>
  %z = edge.constant dense<0> : tensor<1xi64>
  // expected-remark @+1 {{dequantize_per_channel not delegated: it is a constant that ops outside read, and no graph returns one}}
  %0 = edge.quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<1x4xi8>, tensor<1xf32>, tensor<1xi64>) -> tensor<1x4xf32>
  %1 = edge.linear(%x, %0, none) : (tensor<0x4xf32>, tensor<1x4xf32>) -> tensor<0x1xf32>
  func.return %1 : tensor<0x1xf32>
}
