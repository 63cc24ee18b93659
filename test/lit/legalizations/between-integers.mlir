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

// -----

// Numbers that e^x does not overflow for: a chain in which each value has one reader, for XNNPACK to make a table of.
// CHECK-LABEL: func.func @softplus(
// CHECK:           %[[E:.*]] = xnnpack.unary exp
// CHECK-NEXT:      xnnpack.constant dense<1.000000e+00>
// CHECK-NEXT:      %[[S:.*]] = xnnpack.binary add %[[E]],
// CHECK-NEXT:      %[[L:.*]] = xnnpack.unary log %[[S]]
// CHECK-NEXT:      xnnpack.convert %[[L]]
func.func @softplus(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.softplus(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor(%1) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

// -----

// Larger ones: the form that does not overflow.
// CHECK-LABEL: func.func @large_softplus(
// CHECK:           xnnpack.unary abs
func.func @large_softplus(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5 : f64, zero_point = -128 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.softplus(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor(%1) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

// -----

// A threshold that shows: the form that has one.
// CHECK-LABEL: func.func @low_threshold(
// CHECK:           xnnpack.unary abs
func.func @low_threshold(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.softplus(%0) {threshold = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor(%1) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

// -----

// A gate between 0 and 1 in 8 bits, times the number itself.
// CHECK-LABEL: func.func @mish(
// CHECK:           %[[X:.*]] = xnnpack.convert %{{.*}} : tensor<4x!quant.uniform<i8:f32, {{.*}}:3>> -> tensor<4xf32>
// CHECK:           xnnpack.binary divide
// CHECK:           %[[Q:.*]] = xnnpack.convert %{{.*}} : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 3.906250e-03:-128>>
// CHECK-NEXT:      %[[G:.*]] = xnnpack.convert %[[Q]]
// CHECK-NEXT:      xnnpack.binary multiply %[[X]], %[[G]]
func.func @mish(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.mish(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor(%1) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

// -----

// CHECK-LABEL: func.func @large_mish(
// CHECK:           xnnpack.clamp %{{.*}} {output_max = 1.000000e+01 : f32}
func.func @large_mish(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5 : f64, zero_point = -128 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.mish(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.quantized_decomposed.quantize_per_tensor(%1) {scale = 0.05 : f64, zero_point = 3 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}
