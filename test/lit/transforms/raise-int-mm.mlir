// RUN: xir-opt %s --raise-int-mm --split-input-file | filecheck %s

// Rows quantised at run time without a zero point, as signed integers, and a bias.
// CHECK-LABEL: func.func @symmetric(
// CHECK:         %[[S:.*]], %[[Z:.*]] = edge.torchao.choose_qparams_affine(%x)
// CHECK-NEXT:    %[[Q:.*]] = edge.torchao.quantize_affine(%x, %[[S]], %[[Z]])
// CHECK:         %[[D:.*]] = edge.torchao.dequantize_affine(%[[Q]], %[[S]], %[[Z]]) {block_size = array<i64: 1, 2>, input_dtype = i8}
// CHECK-NEXT:    %[[V:.*]] = edge.view(%[[D]]) {size = array<i64: -1, 2>}
// CHECK:         %[[I:.*]] = edge.constant dense<{{\[\[}}1, 3], [2, 4]]> : tensor<2x2xi8>
// CHECK-NEXT:    %[[C:.*]] = edge.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK-NEXT:    %[[W:.*]] = edge.quantized_decomposed.dequantize_per_channel(%[[I]], %[[C]], none) {axis = 0 : i64,
// CHECK-NEXT:    %[[L:.*]] = edge.linear(%[[V]], %[[W]], %{{.*}}) : (tensor<3x2xf32>, tensor<2x2xf32>, tensor<2xf32>)
// CHECK-NEXT:    %[[R:.*]] = edge.view(%[[L]])
// CHECK-NEXT:    func.return %[[R]]
func.func @symmetric(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = edge.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %scales = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %bias = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s, %z = edge.torchao.choose_qparams_affine(%x) {mapping_type = "SYMMETRIC", block_size = array<i64: 1, 2>,
           target_dtype = i8, zero_point_dtype = i8, keepdim = true} : (tensor<3x2xf32>) -> (tensor<3x1xf32>, tensor<3x1xi8>)
  %q = edge.torchao.quantize_affine(%x, %s, %z) {block_size = array<i64: 1, 2>, output_dtype = i8}
       : (tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x1xi8>) -> tensor<3x2xi8>
  %0 = edge.view(%q) {size = array<i64: -1, 2>} : (tensor<3x2xi8>) -> tensor<3x2xi8>
  %1 = edge.view(%s) {size = array<i64: -1, 1>} : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %2 = edge._int_mm(%0, %w) : (tensor<3x2xi8>, tensor<2x2xi8>) -> tensor<3x2xi32>
  %3 = edge._to_copy(%2) {dtype = f32} : (tensor<3x2xi32>) -> tensor<3x2xf32>
  %4 = edge.mul.Tensor(%3, %1) : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %5 = edge.mul.Tensor(%4, %scales) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %6 = edge.view(%5) {size = array<i64: 3, 2>} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %7 = edge.add.Tensor(%6, %bias) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %7 : tensor<3x2xf32>
}

// -----

// Integers made unsigned for the product, and a zero point.
// CHECK-LABEL: func.func @asymmetric(
// CHECK:         %[[D:.*]] = edge.torchao.dequantize_affine(
// CHECK:         edge.linear(%[[D]],
// CHECK-NEXT:    func.return
func.func @asymmetric(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = edge.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %shifts = edge.constant dense<[[512, 768]]> : tensor<1x2xi32>
  %sums = edge.constant dense<[4.0, 6.0]> : tensor<2xf32>
  %scales = edge.constant dense<[0.5]> : tensor<1xf32>
  %s, %z = edge.torchao.choose_qparams_affine(%x) {mapping_type = "ASYMMETRIC", block_size = array<i64: 1, 2>,
           target_dtype = i8, zero_point_dtype = i8, keepdim = true} : (tensor<3x2xf32>) -> (tensor<3x1xf32>, tensor<3x1xi8>)
  %q = edge.torchao.quantize_affine(%x, %s, %z) {block_size = array<i64: 1, 2>, output_dtype = i8}
       : (tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x1xi8>) -> tensor<3x2xi8>
  %0 = edge._to_copy(%q) {dtype = i32} : (tensor<3x2xi8>) -> tensor<3x2xi32>
  %1 = edge.add.Scalar(%0) {other = 128 : i64} : (tensor<3x2xi32>) -> tensor<3x2xi32>
  %2 = edge._to_copy(%1) {dtype = ui8} : (tensor<3x2xi32>) -> tensor<3x2xui8>
  %3 = edge._int_mm(%2, %w) : (tensor<3x2xui8>, tensor<2x2xi8>) -> tensor<3x2xi32>
  %4 = edge.sub.Tensor(%3, %shifts) : (tensor<3x2xi32>, tensor<1x2xi32>) -> tensor<3x2xi32>
  %5 = edge._to_copy(%4) {dtype = f32} : (tensor<3x2xi32>) -> tensor<3x2xf32>
  %6 = edge.mul.Tensor(%5, %s) : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %7 = edge._to_copy(%z) {dtype = f32} : (tensor<3x1xi8>) -> tensor<3x1xf32>
  %8 = edge.mul.Tensor(%7, %s) : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  %9 = edge.mul.Tensor(%8, %sums) : (tensor<3x1xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %10 = edge.sub.Tensor(%6, %9) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %11 = edge.mul.Tensor(%10, %scales) : (tensor<3x2xf32>, tensor<1xf32>) -> tensor<3x2xf32>
  func.return %11 : tensor<3x2xf32>
}

// -----

// Weights alone.
// CHECK-LABEL: func.func @weights(
// CHECK:         %[[I:.*]] = edge.constant dense<{{\[\[}}1, 3], [2, -128]]> : tensor<2x2xi8>
// CHECK:         edge.linear(%x, %{{.*}}, none)
func.func @weights(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = edge.constant dense<[[1.0, 2.0], [3.0, -128.0]]> : tensor<2x2xf32>
  %scales = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %0 = edge.mm(%x, %w) : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %1 = edge.mul.Tensor(%0, %scales) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// -----

// A fraction, a number that 8 bits do not hold, a factor that is no scale, a bias of weights that are not quantised.
// CHECK-LABEL: func.func @numbers(
// CHECK-COUNT-3: edge.mm
// CHECK:         edge.linear(%x, %{{.*}}, none)
// CHECK-NEXT:    edge.add.Tensor
func.func @numbers(%x: tensor<3x1xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %v = edge.constant dense<[[1.0, 2.5]]> : tensor<1x2xf32>
  %w = edge.constant dense<[[1.0, 128.0]]> : tensor<1x2xf32>
  %u = edge.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %t = edge.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %scales = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %signs = edge.constant dense<[0.5, -0.25]> : tensor<2xf32>
  %0 = edge.mm(%x, %v) : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %1 = edge.mul.Tensor(%0, %scales) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %2 = edge.mm(%x, %w) : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %3 = edge.mul.Tensor(%2, %scales) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %4 = edge.mm(%x, %u) : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %5 = edge.mul.Tensor(%4, %signs) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %6 = edge.linear(%x, %t, none) : (tensor<3x1xf32>, tensor<2x1xf32>) -> tensor<3x2xf32>
  %7 = edge.add.Tensor(%6, %scales) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %1, %3, %5, %7 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// Another scale than the integers were made with, and a zero point that nothing takes back.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-2: edge._int_mm
// CHECK-NOT:     dequantize_affine
func.func @others(%x: tensor<3x2xf32>, %o: tensor<3x1xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = edge.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %s, %z = edge.torchao.choose_qparams_affine(%x) {mapping_type = "ASYMMETRIC", block_size = array<i64: 1, 2>,
           target_dtype = i8, zero_point_dtype = i8, keepdim = true} : (tensor<3x2xf32>) -> (tensor<3x1xf32>, tensor<3x1xi8>)
  %q = edge.torchao.quantize_affine(%x, %s, %z) {block_size = array<i64: 1, 2>, output_dtype = i8}
       : (tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x1xi8>) -> tensor<3x2xi8>
  %r = edge.torchao.quantize_affine(%x, %s, none) {block_size = array<i64: 1, 2>, output_dtype = i8}
       : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xi8>
  %0 = edge._int_mm(%q, %w) : (tensor<3x2xi8>, tensor<2x2xi8>) -> tensor<3x2xi32>
  %1 = edge._to_copy(%0) {dtype = f32} : (tensor<3x2xi32>) -> tensor<3x2xf32>
  %2 = edge.mul.Tensor(%1, %s) : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %3 = edge._int_mm(%r, %w) : (tensor<3x2xi8>, tensor<2x2xi8>) -> tensor<3x2xi32>
  %4 = edge._to_copy(%3) {dtype = f32} : (tensor<3x2xi32>) -> tensor<3x2xf32>
  %5 = edge.mul.Tensor(%4, %o) : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  func.return %2, %5 : tensor<3x2xf32>, tensor<3x2xf32>
}
