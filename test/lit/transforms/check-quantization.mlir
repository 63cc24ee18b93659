// RUN: xir-opt %s --split-input-file --check-quantization --verify-diagnostics

func.func @scale(%x: tensor<4xf32>) -> tensor<4xi8> {
  // expected-error @+1 {{edge.quantized_decomposed.quantize_per_tensor: a scale is a positive number that f32 can hold, got 0; correct the parameters, or quantise the model again}}
  %0 = edge.quantized_decomposed.quantize_per_tensor(%x) {scale = 0.0 : f64, zero_point = 0 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// -----

func.func @zero_point(%x: tensor<4xi8>) -> tensor<4xf32> {
  // expected-error @+1 {{a zero point of the storage type is in -128:127, got -129}}
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 1.0 : f64, zero_point = -129 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @count() -> tensor<2x2xf32> {
  %w = edge.constant dense<1> : tensor<2x2xi8>
  %s = edge.constant dense<1.0> : tensor<2xf32>
  %z = edge.constant dense<0> : tensor<1xi64>
  // expected-error @+1 {{2 scales and 1 zero points: one of each is needed}}
  %0 = edge.quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<2x2xi8>, tensor<2xf32>, tensor<1xi64>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}

// -----

func.func @group(%s: tensor<2x2xf32>) -> tensor<2x9xf32> {
  %w = edge.constant dense<1> : tensor<2x9xi8>
  %t = edge.constant dense<1.0> : tensor<2x2xf32>
  %z = edge.constant dense<0> : tensor<2x2xi32>
  // expected-error @+1 {{blocks of 4 do not divide the 9 indices of dimension 1}}
  %0 = edge.quantized_decomposed.dequantize_per_channel_group(%w, %t, %z) {quant_min = -8 : i64, quant_max = 7 : i64, dtype = i8, group_size = 4 : i64, output_dtype = f32} : (tensor<2x9xi8>, tensor<2x2xf32>, tensor<2x2xi32>) -> tensor<2x9xf32>
  func.return %0 : tensor<2x9xf32>
}

// -----

func.func @groups() -> tensor<2x8xf32> {
  %w = edge.constant dense<1> : tensor<2x8xi8>
  %t = edge.constant dense<1.0> : tensor<2x3xf32>
  %z = edge.constant dense<0> : tensor<2x3xi32>
  // expected-error @+1 {{6 scales, where the blocks of the tensor make [2, 2]}}
  %0 = edge.quantized_decomposed.dequantize_per_channel_group(%w, %t, %z) {quant_min = -8 : i64, quant_max = 7 : i64, dtype = i8, group_size = 4 : i64, output_dtype = f32} : (tensor<2x8xi8>, tensor<2x3xf32>, tensor<2x3xi32>) -> tensor<2x8xf32>
  func.return %0 : tensor<2x8xf32>
}

// -----

// What is computed at run time nobody knows, and what is right passes.
func.func @right(%x: tensor<4xi8>, %s: tensor<1xf64>, %z: tensor<1xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 1.0 : f64, zero_point = -128 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.quantized_decomposed.dequantize_per_tensor.tensor(%x, %s, %z) {quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>, tensor<1xf64>, tensor<1xi64>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
