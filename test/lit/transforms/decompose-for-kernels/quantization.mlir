// RUN: xir-opt %s --decompose-for-kernels --split-input-file | filecheck %s

// Rows: one block each.
// CHECK-LABEL: func.func @choose(
// CHECK-NEXT:    %[[V0:.*]] = edge.amin(%x) {dim = array<i64: 1>, keepdim = true}
// CHECK-NEXT:    %[[V1:.*]] = edge.clamp(%[[V0]]) {max = 0.000000e+00 : f64}
// CHECK-NEXT:    %[[V2:.*]] = edge.amax(%x) {dim = array<i64: 1>, keepdim = true}
// CHECK-NEXT:    %[[V3:.*]] = edge.clamp(%[[V2]]) {min = 0.000000e+00 : f64}
// CHECK-NEXT:    %[[V4:.*]] = edge.sub.Tensor(%[[V3]], %[[V1]])
// CHECK-NEXT:    %[[V5:.*]] = edge.div.Scalar(%[[V4]]) {other = 2.550000e+02 : f64}
// CHECK-NEXT:    %[[V6:.*]] = edge.clamp(%[[V5]]) {min = 1.000000e-05 : f64}
// CHECK-NEXT:    %[[V7:.*]] = edge.div.Tensor(%[[V1]], %[[V6]])
// CHECK-NEXT:    %[[V8:.*]] = edge.round(%[[V7]])
// CHECK-NEXT:    %[[V9:.*]] = edge.rsub.Scalar(%[[V8]]) {other = -1.280000e+02 : f64}
// CHECK-NEXT:    %[[V10:.*]] = edge.clamp(%[[V9]]) {max = 127 : i64, min = -128 : i64}
// CHECK-NEXT:    %[[V11:.*]] = edge._to_copy(%[[V10]]) {dtype = i8}
// CHECK-NEXT:    func.return %[[V6]], %[[V11]]
func.func @choose(%x: tensor<2x8xf32>) -> (tensor<2x1xf32>, tensor<2x1xi8>) {
  %s, %z = edge.torchao.choose_qparams_affine(%x) {mapping_type = "ASYMMETRIC", block_size = array<i64: 1, 8>,
           target_dtype = i8, eps = 1.0e-05 : f64, zero_point_dtype = i8, keepdim = true}
           : (tensor<2x8xf32>) -> (tensor<2x1xf32>, tensor<2x1xi8>)
  func.return %s, %z : tensor<2x1xf32>, tensor<2x1xi8>
}

// -----

// Two blocks a row, one number for both signs.
// CHECK-LABEL: func.func @choose_symmetric(
// CHECK-NEXT:    %[[V0:.*]] = edge.view(%x) {size = array<i64: 2, 2, 4>}
// CHECK-NEXT:    %[[V1:.*]] = edge.amin(%[[V0]]) {dim = array<i64: 2>, keepdim = true}
// CHECK-NEXT:    %[[V2:.*]] = edge.clamp(%[[V1]]) {max = 0.000000e+00 : f64}
// CHECK-NEXT:    %[[V3:.*]] = edge.amax(%[[V0]]) {dim = array<i64: 2>, keepdim = true}
// CHECK-NEXT:    %[[V4:.*]] = edge.clamp(%[[V3]]) {min = 0.000000e+00 : f64}
// CHECK-NEXT:    %[[V5:.*]] = edge.neg(%[[V2]])
// CHECK-NEXT:    %[[V6:.*]] = edge.maximum(%[[V5]], %[[V4]])
// CHECK-NEXT:    %[[V7:.*]] = edge.div.Scalar(%[[V6]]) {other = 7.500000e+00 : f64}
// CHECK-NEXT:    %[[V8:.*]] = edge.clamp(%[[V7]]) {min = 1.1754943508222875e-38 : f64}
// CHECK-NEXT:    %[[V9:.*]] = edge.full_like(%[[V8]]) {fill_value = 0.000000e+00 : f64}
// CHECK-NEXT:    %[[V10:.*]] = edge.view(%[[V8]]) {size = array<i64: 2, 2>}
// CHECK-NEXT:    %[[V11:.*]] = edge.view(%[[V9]]) {size = array<i64: 2, 2>}
// CHECK-NEXT:    %[[V12:.*]] = edge._to_copy(%[[V11]]) {dtype = i32}
// CHECK-NEXT:    func.return %[[V10]], %[[V12]]
func.func @choose_symmetric(%x: tensor<2x8xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>) {
  %s, %z = edge.torchao.choose_qparams_affine(%x) {mapping_type = "SYMMETRIC", block_size = array<i64: 1, 4>,
           target_dtype = i8, quant_min = -8 : i64, quant_max = 7 : i64, zero_point_dtype = i32, keepdim = true}
           : (tensor<2x8xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  func.return %s, %z : tensor<2x2xf32>, tensor<2x2xi32>
}

// -----

// No number beyond the range.
// CHECK-LABEL: func.func @choose_without_clipping(
// CHECK-NEXT:    %[[V0:.*]] = edge.amin(%x) {dim = array<i64: 1>, keepdim = true}
// CHECK-NEXT:    %[[V1:.*]] = edge.clamp(%[[V0]]) {max = 0.000000e+00 : f64}
// CHECK-NEXT:    %[[V2:.*]] = edge.amax(%x) {dim = array<i64: 1>, keepdim = true}
// CHECK-NEXT:    %[[V3:.*]] = edge.clamp(%[[V2]]) {min = 0.000000e+00 : f64}
// CHECK-NEXT:    %[[V4:.*]] = edge.div.Scalar(%[[V1]]) {other = -8.000000e+00 : f64}
// CHECK-NEXT:    %[[V5:.*]] = edge.div.Scalar(%[[V3]]) {other = 7.000000e+00 : f64}
// CHECK-NEXT:    %[[V6:.*]] = edge.maximum(%[[V4]], %[[V5]])
// CHECK-NEXT:    %[[V7:.*]] = edge.clamp(%[[V6]]) {min = 1.1754943508222875e-38 : f64}
// CHECK-NEXT:    %[[V8:.*]] = edge.full_like(%[[V7]]) {fill_value = 0.000000e+00 : f64}
// CHECK-NEXT:    %[[V9:.*]] = edge.view(%[[V7]]) {size = array<i64: 2>}
// CHECK-NEXT:    %[[V10:.*]] = edge.view(%[[V8]]) {size = array<i64: 2>}
// CHECK-NEXT:    %[[V11:.*]] = edge._to_copy(%[[V10]]) {dtype = i32}
// CHECK-NEXT:    func.return %[[V9]], %[[V11]]
func.func @choose_without_clipping(%x: tensor<2x8xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %s, %z = edge.torchao.choose_qparams_affine(%x) {mapping_type = "SYMMETRIC_NO_CLIPPING_ERR",
           block_size = array<i64: 1, 8>, target_dtype = i8, quant_min = -8 : i64, quant_max = 7 : i64, zero_point_dtype = i32}
           : (tensor<2x8xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  func.return %s, %z : tensor<2xf32>, tensor<2xi32>
}

// -----

// CHECK-LABEL: func.func @quantize(
// CHECK-NEXT:    %[[V0:.*]] = edge.view(%s) {size = array<i64: 2, 2, 1>}
// CHECK-NEXT:    %[[V1:.*]] = edge.reciprocal(%[[V0]])
// CHECK-NEXT:    %[[V2:.*]] = edge.view(%x) {size = array<i64: 2, 2, 4>}
// CHECK-NEXT:    %[[V3:.*]] = edge.mul.Tensor(%[[V2]], %[[V1]])
// CHECK-NEXT:    %[[V4:.*]] = edge.round(%[[V3]])
// CHECK-NEXT:    %[[V5:.*]] = edge._to_copy(%z) {dtype = f32}
// CHECK-NEXT:    %[[V6:.*]] = edge.view(%[[V5]]) {size = array<i64: 2, 2, 1>}
// CHECK-NEXT:    %[[V7:.*]] = edge.add.Tensor(%[[V4]], %[[V6]])
// CHECK-NEXT:    %[[V8:.*]] = edge.clamp(%[[V7]]) {max = 127 : i64, min = -128 : i64}
// CHECK-NEXT:    %[[V9:.*]] = edge._to_copy(%[[V8]]) {dtype = i8}
// CHECK-NEXT:    %[[V10:.*]] = edge.view(%[[V9]]) {size = array<i64: 2, 8>}
// CHECK-NEXT:    func.return %[[V10]]
func.func @quantize(%x: tensor<2x8xf32>, %s: tensor<2x2xf32>, %z: tensor<2x2xi8>) -> tensor<2x8xi8> {
  %0 = edge.torchao.quantize_affine(%x, %s, %z) {block_size = array<i64: 1, 4>, output_dtype = i8}
       : (tensor<2x8xf32>, tensor<2x2xf32>, tensor<2x2xi8>) -> tensor<2x8xi8>
  func.return %0 : tensor<2x8xi8>
}

// -----

// CHECK-LABEL: func.func @dequantize(
// CHECK-NEXT:    %[[V0:.*]] = edge.view(%x) {size = array<i64: 2, 2, 4>}
// CHECK-NEXT:    %[[V1:.*]] = edge._to_copy(%[[V0]]) {dtype = f32}
// CHECK-NEXT:    %[[V2:.*]] = edge._to_copy(%z) {dtype = f32}
// CHECK-NEXT:    %[[V3:.*]] = edge.view(%[[V2]]) {size = array<i64: 2, 2, 1>}
// CHECK-NEXT:    %[[V4:.*]] = edge.sub.Tensor(%[[V1]], %[[V3]])
// CHECK-NEXT:    %[[V5:.*]] = edge.view(%s) {size = array<i64: 2, 2, 1>}
// CHECK-NEXT:    %[[V6:.*]] = edge.mul.Tensor(%[[V4]], %[[V5]])
// CHECK-NEXT:    %[[V7:.*]] = edge.view(%[[V6]]) {size = array<i64: 2, 8>}
// CHECK-NEXT:    func.return %[[V7]]
func.func @dequantize(%x: tensor<2x8xi8>, %s: tensor<2x2xf32>, %z: tensor<2x2xi8>) -> tensor<2x8xf32> {
  %0 = edge.torchao.dequantize_affine(%x, %s, %z) {block_size = array<i64: 1, 4>, input_dtype = i8, output_dtype = f32}
       : (tensor<2x8xi8>, tensor<2x2xf32>, tensor<2x2xi8>) -> tensor<2x8xf32>
  func.return %0 : tensor<2x8xf32>
}

// -----

// Channels have a kernel, which keeps weights in 8 bits.
// CHECK-LABEL: func.func @dequantize_channels(
// CHECK-NEXT:    %[[V0:.*]] = edge.view(%s) {size = array<i64: -1>}
// CHECK-NEXT:    %[[V1:.*]] = edge.quantized_decomposed.dequantize_per_channel(%x, %[[V0]], none) {axis = 0 : i64, dtype = i8, quant_max = 127 : i64, quant_min = -128 : i64}
// CHECK-NEXT:    func.return %[[V1]]
func.func @dequantize_channels(%x: tensor<2x8xi8>, %s: tensor<2x1xf32>) -> tensor<2x8xf32> {
  %0 = edge.torchao.dequantize_affine(%x, %s, none) {block_size = array<i64: 1, 8>, input_dtype = i8, output_dtype = f32}
       : (tensor<2x8xi8>, tensor<2x1xf32>) -> tensor<2x8xf32>
  func.return %0 : tensor<2x8xf32>
}
