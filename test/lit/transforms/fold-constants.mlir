// RUN: xir-opt %s --split-input-file --fold-constants | filecheck %s

// A causal mask, from nothing but a size.
// CHECK-LABEL: func.func @mask(
// CHECK-NEXT:    %[[M:.*]] = edge.constant dense<{{\[\[}}false, true], [false, false]]> : tensor<2x2xi1>
// CHECK-NEXT:    func.return %[[M]]
func.func @mask() -> tensor<2x2xi1> {
  %0 = edge.full() {size = array<i64: 2, 2>, fill_value = true, dtype = i1} : () -> tensor<2x2xi1>
  %1 = edge.triu(%0) {diagonal = 1 : i64} : (tensor<2x2xi1>) -> tensor<2x2xi1>
  func.return %1 : tensor<2x2xi1>
}

// -----

// Of the operand of full_like only the shape counts; rows that constant positions look up are constants.
// CHECK-LABEL: func.func @lookup(
// CHECK-NEXT:    %[[R:.*]] = edge.constant dense<{{\[\[}}3.000000e+00, 4.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @lookup(%tokens: tensor<2xi64>) -> tensor<2x2xf32> {
  %w = edge.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = edge.full_like(%tokens) {fill_value = 1 : i64} : (tensor<2xi64>) -> tensor<2xi64>
  %1 = edge.embedding(%w, %0) : (tensor<2x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}

// -----

// An operand that is computed at run time.
// CHECK-LABEL: func.func @run_time(
// CHECK:         edge.add.Scalar(%x)
func.func @run_time(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = edge.add.Scalar(%x) {other = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// A shape that is known only at run time.
// CHECK-LABEL: func.func @open_shape(
// CHECK:         edge.full_like(%x)
func.func @open_shape(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = edge.full_like(%x) {fill_value = 1 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

// An index out of range is an error when the program runs, and nothing to compute now.
// CHECK-LABEL: func.func @out_of_range(
// CHECK:         edge.embedding(
func.func @out_of_range() -> tensor<1x2xf32> {
  %w = edge.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %i = edge.constant dense<1> : tensor<1xi64>
  %0 = edge.embedding(%w, %i) : (tensor<1x2xf32>, tensor<1xi64>) -> tensor<1x2xf32>
  func.return %0 : tensor<1x2xf32>
}

// -----

// Not a number as integer: each machine has its own.
// CHECK-LABEL: func.func @conversion(
// CHECK:         edge._to_copy(
func.func @conversion() -> tensor<1xi64> {
  %x = edge.constant dense<0x7FC00000> : tensor<1xf32>
  %0 = edge._to_copy(%x) {dtype = i64} : (tensor<1xf32>) -> tensor<1xi64>
  func.return %0 : tensor<1xi64>
}

// -----

// 4 MB of zeros are better made when they are needed.
// CHECK-LABEL: func.func @large(
// CHECK:         edge.full(
func.func @large() -> tensor<1024x1024xf32> {
  %0 = edge.full() {size = array<i64: 1024, 1024>, fill_value = 0 : i64, dtype = f32} : () -> tensor<1024x1024xf32>
  func.return %0 : tensor<1024x1024xf32>
}

// -----

// What is gathered may be large beside larger weights, up to an eighth of these: the first table, not the second.
// CHECK-LABEL: func.func @beside_weights(
// CHECK:         edge.constant dense_resource<index_select> : tensor<300x1000xf32>
// CHECK:         edge.index_select(
// CHECK:         edge.expand(
func.func @beside_weights()
    -> (tensor<3000000xf32>, tensor<300x1000xf32>, tensor<300x1000xf32>, tensor<300x1000xf32>) {
  %w = edge.constant dense<1.0> : tensor<3000000xf32>
  %i = edge.constant dense<1> : tensor<300xi64>
  %x = edge.constant dense<2.0> : tensor<3x1000xf32>
  %y = edge.constant dense<3.0> : tensor<3x1000xf32>
  %z = edge.constant dense<4.0> : tensor<1x1000xf32>
  %0 = edge.index_select(%x, %i) {dim = 0 : i64} : (tensor<3x1000xf32>, tensor<300xi64>) -> tensor<300x1000xf32>
  %1 = edge.index_select(%y, %i) {dim = 0 : i64} : (tensor<3x1000xf32>, tensor<300xi64>) -> tensor<300x1000xf32>
  %2 = edge.expand(%z) {size = array<i64: 300, 1000>} : (tensor<1x1000xf32>) -> tensor<300x1000xf32>
  func.return %w, %0, %1, %2
    : tensor<3000000xf32>, tensor<300x1000xf32>, tensor<300x1000xf32>, tensor<300x1000xf32>
}

// -----

// numpy has no bf16.
// CHECK-LABEL: func.func @bf16(
// CHECK:         edge.neg(
func.func @bf16() -> tensor<2xbf16> {
  %x = edge.constant dense<1.0> : tensor<2xbf16>
  %0 = edge.neg(%x) : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %0 : tensor<2xbf16>
}

// -----

// The element of a constant is a number.
// CHECK-LABEL: func.func @item(
// CHECK-NOT:     [
// CHECK:         edge.mul.Scalar(%x) {other = 2.500000e+00 : f64} : (tensor<4xf32>) -> tensor<4xf32>
func.func @item(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.constant dense<2.5> : tensor<f32>
  %1 = edge._local_scalar_dense(%0) : (tensor<f32>) -> f64
  %2 = edge.mul.Scalar(%x)[%1] {other} : (tensor<4xf32>, f64) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// -----

// Integers are rearranged before they are dequantised, along with the dimension of their scales: a plane of a quantised
// filter is a quantised filter.
// CHECK-LABEL: func.func @plane(
// CHECK:         %[[Q:.*]] = edge.constant dense<{{\[\[}}2, 4], [6, 8]]> : tensor<2x2xi8>
// CHECK:         %[[W:.*]] = edge.quantized_decomposed.dequantize_per_channel(%[[Q]], %{{.*}}, %{{.*}}) {axis = 0 : i64
// CHECK-SAME:      -> tensor<2x2xf32>
// CHECK-NOT:     edge.select.int
func.func @plane() -> tensor<2x2xf32> {
  %q = edge.constant dense<[[[1, 3], [5, 7]], [[2, 4], [6, 8]]]> : tensor<2x2x2xi8>
  %s = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %z = edge.constant dense<0> : tensor<2xi64>
  %0 = edge.quantized_decomposed.dequantize_per_channel(%q, %s, %z)
       {axis = 1 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8}
       : (tensor<2x2x2xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x2x2xf32>
  %1 = edge.select.int(%0) {dim = 0 : i64, index = 1 : i64} : (tensor<2x2x2xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}

// -----

// One channel has one of the scales: it is taken of the numbers.
// CHECK-LABEL: func.func @channel(
// CHECK:         edge.select.int(
func.func @channel() -> tensor<2xf32> {
  %q = edge.constant dense<[[1, 3], [5, 7]]> : tensor<2x2xi8>
  %s = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %z = edge.constant dense<0> : tensor<2xi64>
  %0 = edge.quantized_decomposed.dequantize_per_channel(%q, %s, %z)
       {axis = 0 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8}
       : (tensor<2x2xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %1 = edge.select.int(%0) {dim = 0 : i64, index = 1 : i64} : (tensor<2x2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// Dimensions count from the end as well.
// CHECK-LABEL: func.func @transposed(
// CHECK:         %[[Q:.*]] = edge.constant dense<{{\[\[}}1, 5], [3, 7]]> : tensor<2x2xi8>
// CHECK:         edge.quantized_decomposed.dequantize_per_channel(%[[Q]], %{{.*}}, %{{.*}}) {axis = 0 : i64
// CHECK-NOT:     edge.permute
func.func @transposed() -> tensor<2x2xf32> {
  %q = edge.constant dense<[[1, 3], [5, 7]]> : tensor<2x2xi8>
  %s = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %z = edge.constant dense<0> : tensor<2xi64>
  %0 = edge.quantized_decomposed.dequantize_per_channel(%q, %s, %z)
       {axis = -1 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8}
       : (tensor<2x2xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %1 = edge.permute(%0) {dims = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}

// -----

// Which plane is known at run time.
// CHECK-LABEL: func.func @some_plane(
// CHECK:         edge.select.int(%{{.*}})[%i]
func.func @some_plane(%i: i64) -> tensor<2x2xf32> {
  %q = edge.constant dense<[[[1, 3], [5, 7]], [[2, 4], [6, 8]]]> : tensor<2x2x2xi8>
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%q)
       {scale = 0.5 : f64, zero_point = 0 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8}
       : (tensor<2x2x2xi8>) -> tensor<2x2x2xf32>
  %1 = edge.select.int(%0)[%i] {dim = 0 : i64, index = -9223372036854775808 : i64}
       : (tensor<2x2x2xf32>, i64) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}

// -----

// A table that is read as it is, too, would be there twice.
// CHECK-LABEL: func.func @shared(
// CHECK:         edge.permute(
func.func @shared() -> (tensor<2x3xf32>, tensor<3x2xf32>) {
  %q = edge.constant dense<[[1, 3, 5], [7, 9, 11]]> : tensor<2x3xi8>
  %0 = edge.quantized_decomposed.dequantize_per_tensor(%q)
       {scale = 0.5 : f64, zero_point = 0 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8}
       : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.permute(%0) {dims = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %0, %1 : tensor<2x3xf32>, tensor<3x2xf32>
}

// -----

// Channels in another order would need their scales in that order.
// CHECK-LABEL: func.func @mirrored_channels(
// CHECK:         edge.flip(
func.func @mirrored_channels() -> tensor<2x2xf32> {
  %q = edge.constant dense<[[1, 3], [5, 7]]> : tensor<2x2xi8>
  %s = edge.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %z = edge.constant dense<0> : tensor<2xi64>
  %0 = edge.quantized_decomposed.dequantize_per_channel(%q, %s, %z)
       {axis = 0 : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8}
       : (tensor<2x2xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %1 = edge.flip(%0) {dims = array<i64: -2>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}
