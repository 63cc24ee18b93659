// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// Between integers whose steps are far larger than what tells GELU's forms apart, either is one look-up.
// CHECK-LABEL: func.func @gelu(
// CHECK:           xnnpack.unary gelu %{{.*}} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:      xnnpack.convert
func.func @gelu(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.gelu(%0) {approximate = "tanh"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor(%1) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

// -----

// Finer steps tell them apart.
// CHECK-LABEL: func.func @fine_gelu(
// CHECK:           xnnpack.unary tanh
func.func @fine_gelu(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.gelu(%0) {approximate = "tanh"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor(%1) {scale = 0.005 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

// -----

// So does somebody who reads the numbers.
// CHECK-LABEL: func.func @read_gelu(
// CHECK:           xnnpack.unary tanh
func.func @read_gelu(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xf32>) {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.gelu(%0) {approximate = "tanh"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor(%1) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2, %1 : tensor<4xi8>, tensor<4xf32>
}
