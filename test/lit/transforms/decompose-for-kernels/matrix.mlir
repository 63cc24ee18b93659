// RUN: xir-opt %s --decompose-for-kernels --split-input-file | filecheck %s

// CHECK-LABEL:  func.func @vectors(
// CHECK-NEXT:     %[[V0:.*]] = edge.unsqueeze(%a) {dim = 0 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.unsqueeze(%b) {dim = 1 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.mm(%[[V0]], %[[V1]])
// CHECK-NEXT:     %[[V3:.*]] = edge.squeeze.dims(%[[V2]]) {dim = array<i64: -2, -1>}
// CHECK-NEXT:     func.return %[[V3]]
func.func @vectors(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<f32> {
  %0 = edge.matmul(%a, %b) : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK-LABEL:  func.func @matrices(
// CHECK-NEXT:     %[[V0:.*]] = edge.mm(%a, %b)
// CHECK-NEXT:     func.return %[[V0]]
func.func @matrices(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = edge.matmul(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// One matrix on the right multiplies all rows at once.
// CHECK-LABEL:  func.func @many_by_one(
// CHECK-NEXT:     %[[V0:.*]] = edge.view(%a) {size = array<i64: -1, 3>}
// CHECK-NEXT:     %[[V1:.*]] = edge.mm(%[[V0]], %b)
// CHECK-NEXT:     %[[V2:.*]] = edge.view(%[[V1]]) {size = array<i64: 5, 6, 2, 4>}
// CHECK-NEXT:     func.return %[[V2]]
func.func @many_by_one(%a: tensor<5x6x2x3xf32>, %b: tensor<3x4xf32>) -> tensor<5x6x2x4xf32> {
  %0 = edge.matmul(%a, %b) : (tensor<5x6x2x3xf32>, tensor<3x4xf32>) -> tensor<5x6x2x4xf32>
  func.return %0 : tensor<5x6x2x4xf32>
}

// CHECK-LABEL:  func.func @batch(
// CHECK-NEXT:     %[[V0:.*]] = edge.bmm(%a, %b)
// CHECK-NEXT:     func.return %[[V0]]
func.func @batch(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) -> tensor<5x2x4xf32> {
  %0 = edge.matmul(%a, %b) : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  func.return %0 : tensor<5x2x4xf32>
}

// CHECK-LABEL:  func.func @broadcast(
// CHECK-NEXT:     %[[V0:.*]] = edge.expand(%a) {size = array<i64: 6, 5, 2, 3>}
// CHECK-NEXT:     %[[V1:.*]] = edge.view(%[[V0]]) {size = array<i64: 30, 2, 3>}
// CHECK-NEXT:     %[[V2:.*]] = edge.expand(%b) {size = array<i64: 6, 5, 3, 4>}
// CHECK-NEXT:     %[[V3:.*]] = edge.view(%[[V2]]) {size = array<i64: 30, 3, 4>}
// CHECK-NEXT:     %[[V4:.*]] = edge.bmm(%[[V1]], %[[V3]])
// CHECK-NEXT:     %[[V5:.*]] = edge.view(%[[V4]]) {size = array<i64: 6, 5, 2, 4>}
// CHECK-NEXT:     func.return %[[V5]]
func.func @broadcast(%a: tensor<6x1x2x3xf32>, %b: tensor<5x3x4xf32>) -> tensor<6x5x2x4xf32> {
  %0 = edge.matmul(%a, %b) : (tensor<6x1x2x3xf32>, tensor<5x3x4xf32>) -> tensor<6x5x2x4xf32>
  func.return %0 : tensor<6x5x2x4xf32>
}

// CHECK-LABEL:  func.func @baddbmm(
// CHECK-NEXT:     %[[V0:.*]] = edge.bmm(%a, %b)
// CHECK-NEXT:     %[[V1:.*]] = edge.mul.Scalar(%[[V0]]) {other = 2 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.add.Tensor(%[[V1]], %x) {alpha = 3 : i64}
// CHECK-NEXT:     func.return %[[V2]]
func.func @baddbmm(%x: tensor<4xf32>, %a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) -> tensor<5x2x4xf32> {
  %0 = edge.baddbmm(%x, %a, %b) {alpha = 2 : i64, beta = 3 : i64} : (tensor<4xf32>, tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  func.return %0 : tensor<5x2x4xf32>
}

// A linear layer on a batch has a kernel, one on a vector has not.
// CHECK-LABEL:  func.func @linear(
// CHECK-NEXT:     %[[V0:.*]] = edge.linear(%x, %w, %b)
// CHECK-NEXT:     func.return %[[V0]]
func.func @linear(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = edge.linear(%x, %w, %b) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// CHECK-LABEL:  func.func @linear_of_vector(
// CHECK-NEXT:     %[[V0:.*]] = edge.t(%w)
// CHECK-NEXT:     %[[V1:.*]] = edge.unsqueeze(%x) {dim = 0 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.mm(%[[V1]], %[[V0]])
// CHECK-NEXT:     %[[V3:.*]] = edge.squeeze.dims(%[[V2]]) {dim = array<i64: -2>}
// CHECK-NEXT:     %[[V4:.*]] = edge.add.Tensor(%[[V3]], %b)
// CHECK-NEXT:     func.return %[[V4]]
func.func @linear_of_vector(%x: tensor<3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.linear(%x, %w, %b) : (tensor<3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:  func.func @attention(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Scalar(%q) {other = 2.500000e-01 : f64}
// CHECK-NEXT:     %[[V1:.*]] = edge.transpose.int(%k) {dim0 = -2 : i64, dim1 = -1 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.bmm(%[[V0]], %[[V1]])
// CHECK-NEXT:     %[[V3:.*]] = edge._softmax(%[[V2]]) {dim = -1 : i64, half_to_float = false}
// CHECK-NEXT:     %[[V4:.*]] = edge.bmm(%[[V3]], %v)
// CHECK-NEXT:     func.return %[[V4]]
func.func @attention(%q: tensor<2x5x16xf32>, %k: tensor<2x7x16xf32>, %v: tensor<2x7x6xf32>) -> tensor<2x5x6xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %k, %v, none) : (tensor<2x5x16xf32>, tensor<2x7x16xf32>, tensor<2x7x6xf32>) -> tensor<2x5x6xf32>
  func.return %0 : tensor<2x5x6xf32>
}

// Nobody looks ahead; everybody sees something.
// CHECK-LABEL:  func.func @causal(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Scalar(%q) {other = 2.500000e-01 : f64}
// CHECK-NEXT:     %[[V1:.*]] = edge.transpose.int(%k) {dim0 = -2 : i64, dim1 = -1 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.bmm(%[[V0]], %[[V1]])
// CHECK-NEXT:     %[[V3:.*]] = edge.full() {fill_value = true, size = array<i64: 5, 5>}
// CHECK-NEXT:     %[[V4:.*]] = edge.tril(%[[V3]])
// CHECK-NEXT:     %[[V5:.*]] = edge.logical_not(%[[V4]])
// CHECK-NEXT:     %[[V6:.*]] = edge.masked_fill.Scalar(%[[V2]], %[[V5]]) {value = 0xFFF0000000000000 : f64}
// CHECK-NEXT:     %[[V7:.*]] = edge._softmax(%[[V6]]) {dim = -1 : i64, half_to_float = false}
// CHECK-NEXT:     %[[V8:.*]] = edge.bmm(%[[V7]], %v)
// CHECK-NEXT:     func.return %[[V8]]
func.func @causal(%q: tensor<2x5x16xf32>, %k: tensor<2x5x16xf32>, %v: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %k, %v, none) {is_causal = true} : (tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  func.return %0 : tensor<2x5x6xf32>
}

// A query that may look at nothing gets 0.
// CHECK-LABEL:  func.func @masked(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Scalar(%q) {other = 5.000000e-01 : f64}
// CHECK-NEXT:     %[[V1:.*]] = edge.transpose.int(%k) {dim0 = -2 : i64, dim1 = -1 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.bmm(%[[V0]], %[[V1]])
// CHECK-NEXT:     %[[V3:.*]] = edge.logical_not(%m)
// CHECK-NEXT:     %[[V4:.*]] = edge.masked_fill.Scalar(%[[V2]], %[[V3]]) {value = 0xFFF0000000000000 : f64}
// CHECK-NEXT:     %[[V5:.*]] = edge._softmax(%[[V4]]) {dim = -1 : i64, half_to_float = false}
// CHECK-NEXT:     %[[V6:.*]] = edge.any.dim(%m) {dim = -1 : i64, keepdim = true}
// CHECK-NEXT:     %[[V7:.*]] = edge.logical_not(%[[V6]])
// CHECK-NEXT:     %[[V8:.*]] = edge.masked_fill.Scalar(%[[V5]], %[[V7]]) {value = 0 : i64}
// CHECK-NEXT:     %[[V9:.*]] = edge.bmm(%[[V8]], %v)
// CHECK-NEXT:     func.return %[[V9]]
func.func @masked(%q: tensor<2x5x16xf32>, %k: tensor<2x7x16xf32>, %v: tensor<2x7x6xf32>, %m: tensor<5x7xi1>) -> tensor<2x5x6xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %k, %v, %m) {scale = 0.5 : f64} : (tensor<2x5x16xf32>, tensor<2x7x16xf32>, tensor<2x7x6xf32>, tensor<5x7xi1>) -> tensor<2x5x6xf32>
  func.return %0 : tensor<2x5x6xf32>
}

// CHECK-LABEL:  func.func @added_mask(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Scalar(%q) {other = 5.000000e-01 : f64}
// CHECK-NEXT:     %[[V1:.*]] = edge.transpose.int(%k) {dim0 = -2 : i64, dim1 = -1 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.bmm(%[[V0]], %[[V1]])
// CHECK-NEXT:     %[[V3:.*]] = edge.ne.Scalar(%m) {other = 0xFFF0000000000000 : f64}
// CHECK-NEXT:     %[[V4:.*]] = edge.add.Tensor(%[[V2]], %m)
// CHECK-NEXT:     %[[V5:.*]] = edge._softmax(%[[V4]]) {dim = -1 : i64, half_to_float = false}
// CHECK-NEXT:     %[[V6:.*]] = edge.any.dim(%[[V3]]) {dim = -1 : i64, keepdim = true}
// CHECK-NEXT:     %[[V7:.*]] = edge.logical_not(%[[V6]])
// CHECK-NEXT:     %[[V8:.*]] = edge.masked_fill.Scalar(%[[V5]], %[[V7]]) {value = 0 : i64}
// CHECK-NEXT:     %[[V9:.*]] = edge.bmm(%[[V8]], %v)
// CHECK-NEXT:     func.return %[[V9]]
func.func @added_mask(%q: tensor<2x5x16xf32>, %k: tensor<2x7x16xf32>, %v: tensor<2x7x6xf32>, %m: tensor<5x7xf32>) -> tensor<2x5x6xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %k, %v, %m) {scale = 0.5 : f64} : (tensor<2x5x16xf32>, tensor<2x7x16xf32>, tensor<2x7x6xf32>, tensor<5x7xf32>) -> tensor<2x5x6xf32>
  func.return %0 : tensor<2x5x6xf32>
}

// Two query heads share a key head.
// CHECK-LABEL:  func.func @shared_heads(
// CHECK-NEXT:     %[[V0:.*]] = edge.unsqueeze(%k) {dim = -3 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.expand(%[[V0]]) {size = array<i64: 1, 2, 2, 5, 16>}
// CHECK-NEXT:     %[[V2:.*]] = edge.view(%[[V1]]) {size = array<i64: 1, 4, 5, 16>}
// CHECK-NEXT:     %[[V3:.*]] = edge.unsqueeze(%v) {dim = -3 : i64}
// CHECK-NEXT:     %[[V4:.*]] = edge.expand(%[[V3]]) {size = array<i64: 1, 2, 2, 5, 6>}
// CHECK-NEXT:     %[[V5:.*]] = edge.view(%[[V4]]) {size = array<i64: 1, 4, 5, 6>}
// CHECK-NEXT:     %[[V6:.*]] = edge.mul.Scalar(%q) {other = 2.500000e-01 : f64}
// CHECK-NEXT:     %[[V7:.*]] = edge.transpose.int(%[[V2]]) {dim0 = -2 : i64, dim1 = -1 : i64}
// CHECK-NEXT:     %[[V8:.*]] = edge.view(%[[V6]]) {size = array<i64: 4, 5, 16>}
// CHECK-NEXT:     %[[V9:.*]] = edge.view(%[[V7]]) {size = array<i64: 4, 16, 5>}
// CHECK-NEXT:     %[[V10:.*]] = edge.bmm(%[[V8]], %[[V9]])
// CHECK-NEXT:     %[[V11:.*]] = edge.view(%[[V10]]) {size = array<i64: 1, 4, 5, 5>}
// CHECK-NEXT:     %[[V12:.*]] = edge._softmax(%[[V11]]) {dim = -1 : i64, half_to_float = false}
// CHECK-NEXT:     %[[V13:.*]] = edge.view(%[[V12]]) {size = array<i64: 4, 5, 5>}
// CHECK-NEXT:     %[[V14:.*]] = edge.view(%[[V5]]) {size = array<i64: 4, 5, 6>}
// CHECK-NEXT:     %[[V15:.*]] = edge.bmm(%[[V13]], %[[V14]])
// CHECK-NEXT:     %[[V16:.*]] = edge.view(%[[V15]]) {size = array<i64: 1, 4, 5, 6>}
// CHECK-NEXT:     func.return %[[V16]]
func.func @shared_heads(%q: tensor<1x4x5x16xf32>, %k: tensor<1x2x5x16xf32>, %v: tensor<1x2x5x6xf32>) -> tensor<1x4x5x6xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %k, %v, none) {enable_gqa = true} : (tensor<1x4x5x16xf32>, tensor<1x2x5x16xf32>, tensor<1x2x5x6xf32>) -> tensor<1x4x5x6xf32>
  func.return %0 : tensor<1x4x5x6xf32>
}

// Random numbers are for training.
// CHECK-LABEL:  func.func @dropped(
// CHECK-NEXT:     %[[V0:.*]] = edge.scaled_dot_product_attention(%q, %k, %v, none) {dropout_p = 5.000000e-01 : f64}
// CHECK-NEXT:     func.return %[[V0]]
func.func @dropped(%q: tensor<2x5x16xf32>, %k: tensor<2x7x16xf32>, %v: tensor<2x7x6xf32>) -> tensor<2x5x6xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %k, %v, none) {dropout_p = 0.5 : f64} : (tensor<2x5x16xf32>, tensor<2x7x16xf32>, tensor<2x7x6xf32>) -> tensor<2x5x6xf32>
  func.return %0 : tensor<2x5x6xf32>
}

// -----

// Without elements the number of rows cannot be inferred.
// CHECK-LABEL:  func.func @matmul_of_nothing(
// CHECK-NEXT:     edge.view(%a) {size = array<i64: 10, 0>} : (tensor<5x2x0xf32>) -> tensor<10x0xf32>
// CHECK-NEXT:     edge.mm({{.*}}) : (tensor<10x0xf32>, tensor<0x4xf32>) -> tensor<10x4xf32>
func.func @matmul_of_nothing(%a: tensor<5x2x0xf32>, %b: tensor<0x4xf32>) -> tensor<5x2x4xf32> {
  %0 = edge.matmul(%a, %b) : (tensor<5x2x0xf32>, tensor<0x4xf32>) -> tensor<5x2x4xf32>
  func.return %0 : tensor<5x2x4xf32>
}

// -----

// CHECK-LABEL:  func.func @int_mm(
// CHECK-NEXT:     %[[V0:.*]] = edge._to_copy(%x) {dtype = i32}
// CHECK-NEXT:     %[[V1:.*]] = edge._to_copy(%w) {dtype = i32}
// CHECK-NEXT:     %[[V2:.*]] = edge.mm(%[[V0]], %[[V1]])
// CHECK-NEXT:     func.return %[[V2]]
func.func @int_mm(%x: tensor<2x8xui8>, %w: tensor<8x4xi8>) -> tensor<2x4xi32> {
  %0 = edge._int_mm(%x, %w) : (tensor<2x8xui8>, tensor<8x4xi8>) -> tensor<2x4xi32>
  func.return %0 : tensor<2x4xi32>
}
