// RUN: xir-opt %s --fuse-quantized-embedding --split-input-file | filecheck %s

// A scale for each row, declared to be 4 bits: packed, 8 added.
// CHECK-LABEL: func.func @nibbles(
// CHECK-DAG:     %[[T:.*]] = edge.constant dense<{{\[\[}}135, 0], [152, 127]]> : tensor<2x2xui8>
// CHECK-DAG:     %[[S:.*]] = edge.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK:         %[[R:.*]] = edge.quantized_decomposed.embedding_4bit(%[[T]], %[[S]], none, %i) {weight_quant_max = 7 : i64, weight_quant_min = -8 : i64}
// CHECK-NEXT:    func.return %[[R]]
func.func @nibbles(%i: tensor<3xi64>) -> tensor<3x4xf32> {
  %t = edge.constant dense<[[0, -1, -8, -8], [1, 0, -1, 7]]> : tensor<2x4xi8>
  %s = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel(%t, %s, none) {axis = 0 : i64, quant_min = -8 : i64, quant_max = 7 : i64, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  %1 = edge.embedding(%0, %i) : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  func.return %1 : tensor<3x4xf32>
}

// -----

// Scales of groups, zero points, short results, narrow indices, 8 bits; the table has another reader too.
// CHECK-LABEL: func.func @bytes(
// CHECK:         %[[T:.*]] = edge.constant dense<{{\[\[}}0, -1, -8, -8], [1, 0, -1, 99]]> : tensor<2x4xi8>
// CHECK-NEXT:    %[[S:.*]] = edge.constant dense<{{.*}}> : tensor<2x2xf32>
// CHECK:         %[[W:.*]] = edge.torchao.dequantize_affine(%[[T]]
// CHECK-DAG:     %[[P:.*]] = edge.constant dense<{{\[\[}}1.000000e+00, 0.000000e+00], [0.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG:     %[[I:.*]] = edge._to_copy(%i) {dtype = i64}
// CHECK-DAG:     %[[Z:.*]] = edge._to_copy(%[[P]]) {dtype = f16}
// CHECK:         %[[R:.*]] = edge.quantized_decomposed.embedding_byte.dtype(%[[T]], %[[S]], %[[Z]], %[[I]]) {dtype = f16, weight_quant_max = 127 : i64, weight_quant_min = -128 : i64}
// CHECK-NEXT:    func.return %[[R]], %[[W]]
func.func @bytes(%i: tensor<3xi32>) -> (tensor<3x4xf16>, tensor<2x4xf16>) {
  %t = edge.constant dense<[[0, -1, -8, -8], [1, 0, -1, 99]]> : tensor<2x4xi8>
  %s = edge.constant dense<[[0.5, 0.25], [1.0, 2.0]]> : tensor<2x2xf32>
  %z = edge.constant dense<[[1, 0], [0, 2]]> : tensor<2x2xi8>
  %0 = edge.torchao.dequantize_affine(%t, %s, %z) {block_size = array<i64: 1, 2>, input_dtype = i8, output_dtype = f16} : (tensor<2x4xi8>, tensor<2x2xf32>, tensor<2x2xi8>) -> tensor<2x4xf16>
  %1 = edge.embedding(%0, %i) : (tensor<2x4xf16>, tensor<3xi32>) -> tensor<3x4xf16>
  func.return %1, %0 : tensor<3x4xf16>, tensor<2x4xf16>
}

// -----

// 2 bits, the first in the lowest ones.
// CHECK-LABEL: func.func @pairs(
// CHECK:         edge.constant dense<{{\[\[}}18], [228]]> : tensor<2x1xui8>
// CHECK:         edge.quantized_decomposed.embedding_2bit(
func.func @pairs(%i: tensor<3xi64>) -> tensor<3x4xf32> {
  %t = edge.constant dense<[[0, -2, -1, -2], [-2, -1, 0, 1]]> : tensor<2x4xi8>
  %s = edge.constant dense<[[0.5], [0.25]]> : tensor<2x1xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel_group(%t, %s, none) {quant_min = -2 : i64, quant_max = 1 : i64, dtype = i8, group_size = 4 : i64, output_dtype = f32} : (tensor<2x4xi8>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = edge.embedding(%0, %i) : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  func.return %1 : tensor<3x4xf32>
}

// -----

// Integers beyond the declared range stay bytes; a scale for each column, and a table that is computed, stay as they are.
// CHECK-LABEL: func.func @others(
// CHECK:         edge.quantized_decomposed.embedding_byte(
// CHECK:         edge.embedding(
// CHECK-NEXT:    edge.quantized_decomposed.dequantize_per_channel(%x,
// CHECK-NEXT:    edge.embedding(
func.func @others(%i: tensor<3xi64>, %x: tensor<2x4xi8>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %t = edge.constant dense<[[0, -1, -8, -8], [1, 0, -1, 9]]> : tensor<2x4xi8>
  %s = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %c = edge.constant dense<[0.5, 0.25, 1.0, 2.0]> : tensor<4xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel(%t, %s, none) {axis = 0 : i64, quant_min = -8 : i64, quant_max = 7 : i64, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  %1 = edge.embedding(%0, %i) : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %2 = edge.quantized_decomposed.dequantize_per_channel(%t, %c, none) {axis = 1 : i64, quant_min = -8 : i64, quant_max = 7 : i64, dtype = i8} : (tensor<2x4xi8>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = edge.embedding(%2, %i) : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %4 = edge.quantized_decomposed.dequantize_per_channel(%x, %s, none) {axis = 0 : i64, quant_min = -8 : i64, quant_max = 7 : i64, dtype = i8} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  %5 = edge.embedding(%4, %i) : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  func.return %1, %3, %5 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
