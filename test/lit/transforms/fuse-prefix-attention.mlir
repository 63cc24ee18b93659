// RUN: xir-opt %s --fuse-prefix-attention=target=xir --split-input-file | filecheck %s
// RUN: xir-opt %s --fuse-prefix-attention --split-input-file | filecheck %s --check-prefix STOCK

// A step of generation. Stock ExecuTorch lacks the kernel.
// CHECK-LABEL: func.func @step
// CHECK-NOT: edge.slice.Tensor
// CHECK: %{{.*}} = edge.xir.attend_prefix(%q, %k, %v, %mask, none, none) {scale = 2.500000e-01 : f64} : (tensor<1x4x1x3xf32>, tensor<1x2x8x3xf32>, tensor<1x2x8x5xf32>, tensor<1x1x1x?xi1>) -> tensor<1x4x1x5xf32>
// STOCK-LABEL: func.func @step
// STOCK: edge.scaled_dot_product_attention
func.func @step(%q: tensor<1x4x1x3xf32>, %k: tensor<1x2x8x3xf32>, %v: tensor<1x2x8x5xf32>, %mask: tensor<1x1x1x?xi1> {xir.max_shape = array<i64: 1, 1, 1, 8>}) -> tensor<1x4x1x5xf32> {
  %live = edge.sym_size.int(%mask) {dim = 3 : i64} : (tensor<1x1x1x?xi1>) -> i64
  %0 = edge.slice.Tensor(%k)[%live] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x3xf32>, i64) -> tensor<1x2x?x3xf32>
  %1 = edge.slice.Tensor(%v)[%live] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x5xf32>, i64) -> tensor<1x2x?x5xf32>
  %2 = edge.scaled_dot_product_attention(%q, %0, %1, %mask) {enable_gqa = true, scale = 0.25 : f64} : (tensor<1x4x1x3xf32>, tensor<1x2x?x3xf32>, tensor<1x2x?x5xf32>, tensor<1x1x1x?xi1>) -> tensor<1x4x1x5xf32>
  func.return %2 : tensor<1x4x1x5xf32>
}

// -----

// 9 queries of 2 heads share one of keys.
// CHECK-LABEL: func.func @many_queries
// CHECK: edge.scaled_dot_product_attention
func.func @many_queries(%q: tensor<1x4x9x3xf32>, %k: tensor<1x2x16x3xf32>, %mask: tensor<9x?xf32>, %live: i64) -> tensor<1x4x9x3xf32> {
  %0 = edge.slice.Tensor(%k)[%live] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x16x3xf32>, i64) -> tensor<1x2x?x3xf32>
  %1 = edge.scaled_dot_product_attention(%q, %0, %0, %mask) {enable_gqa = true} : (tensor<1x4x9x3xf32>, tensor<1x2x?x3xf32>, tensor<1x2x?x3xf32>, tensor<9x?xf32>) -> tensor<1x4x9x3xf32>
  func.return %1 : tensor<1x4x9x3xf32>
}

// -----

// Prefixes of different lengths, and one that does not begin at the beginning.
// CHECK-LABEL: func.func @other_slices
// CHECK-COUNT-2: edge.scaled_dot_product_attention
func.func @other_slices(%q: tensor<1x2x1x3xf32>, %k: tensor<1x2x8x3xf32>, %mask: tensor<1x?xf32>, %a: i64, %b: i64) -> (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>) {
  %0 = edge.slice.Tensor(%k)[%a] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x3xf32>, i64) -> tensor<1x2x?x3xf32>
  %1 = edge.slice.Tensor(%k)[%b] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x3xf32>, i64) -> tensor<1x2x?x3xf32>
  %2 = edge.slice.Tensor(%k)[%a] {dim = 2 : i64, start = 1 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x3xf32>, i64) -> tensor<1x2x?x3xf32>
  %3 = edge.scaled_dot_product_attention(%q, %0, %1, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x?x3xf32>, tensor<1x2x?x3xf32>, tensor<1x?xf32>) -> tensor<1x2x1x3xf32>
  %4 = edge.scaled_dot_product_attention(%q, %2, %2, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x?x3xf32>, tensor<1x2x?x3xf32>, tensor<1x?xf32>) -> tensor<1x2x1x3xf32>
  func.return %3, %4 : tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>
}

// -----

// A cache of a shorter type, which the kernel converts.
// CHECK-LABEL: func.func @halves
// CHECK: edge.xir.attend_prefix(%q, %k, %k, %mask, none, none) : (tensor<1x2x1x3xf32>, tensor<1x2x8x3xf16>, tensor<1x2x8x3xf16>, tensor<1x?xf32>)
func.func @halves(%q: tensor<1x2x1x3xf32>, %k: tensor<1x2x8x3xf16>, %mask: tensor<1x?xf32>, %live: i64) -> tensor<1x2x1x3xf32> {
  %0 = edge.slice.Tensor(%k)[%live] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x3xf16>, i64) -> tensor<1x2x?x3xf16>
  %1 = edge._to_copy(%0) {dtype = f32} : (tensor<1x2x?x3xf16>) -> tensor<1x2x?x3xf32>
  %2 = edge.scaled_dot_product_attention(%q, %1, %1, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x?x3xf32>, tensor<1x2x?x3xf32>, tensor<1x?xf32>) -> tensor<1x2x1x3xf32>
  func.return %2 : tensor<1x2x1x3xf32>
}

// -----

// A cache of integers with a scale for each position and head.
// CHECK-LABEL: func.func @integers
// CHECK-NOT: edge.slice.Tensor
// CHECK: edge.xir.attend_prefix(%q, %k, %v, %mask, %ks, %vs) : (tensor<1x4x1x3xf32>, tensor<1x2x8x3xi8>, tensor<1x2x8x5xi8>, tensor<1x?xf32>, tensor<1x2x8x1xf32>, tensor<1x2x8x1xf32>) -> tensor<1x4x1x5xf32>
// STOCK-LABEL: func.func @integers
// STOCK: edge.scaled_dot_product_attention
func.func @integers(%q: tensor<1x4x1x3xf32>, %k: tensor<1x2x8x3xi8>, %ks: tensor<1x2x8x1xf32>, %v: tensor<1x2x8x5xi8>, %vs: tensor<1x2x8x1xf32>, %mask: tensor<1x?xf32> {xir.max_shape = array<i64: 1, 8>}) -> tensor<1x4x1x5xf32> {
  %live = edge.sym_size.int(%mask) {dim = 1 : i64} : (tensor<1x?xf32>) -> i64
  %0 = edge.slice.Tensor(%k)[%live] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x3xi8>, i64) -> tensor<1x2x?x3xi8>
  %1 = edge.slice.Tensor(%ks)[%live] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x1xf32>, i64) -> tensor<1x2x?x1xf32>
  %2 = edge._to_copy(%0) {dtype = f32} : (tensor<1x2x?x3xi8>) -> tensor<1x2x?x3xf32>
  %3 = edge.mul.Tensor(%2, %1) : (tensor<1x2x?x3xf32>, tensor<1x2x?x1xf32>) -> tensor<1x2x?x3xf32>
  %4 = edge.slice.Tensor(%v)[%live] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x5xi8>, i64) -> tensor<1x2x?x5xi8>
  %5 = edge.slice.Tensor(%vs)[%live] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x1xf32>, i64) -> tensor<1x2x?x1xf32>
  %6 = edge._to_copy(%4) {dtype = f32} : (tensor<1x2x?x5xi8>) -> tensor<1x2x?x5xf32>
  %7 = edge.mul.Tensor(%6, %5) : (tensor<1x2x?x5xf32>, tensor<1x2x?x1xf32>) -> tensor<1x2x?x5xf32>
  %8 = edge.scaled_dot_product_attention(%q, %3, %7, %mask) {enable_gqa = true} : (tensor<1x4x1x3xf32>, tensor<1x2x?x3xf32>, tensor<1x2x?x5xf32>, tensor<1x?xf32>) -> tensor<1x4x1x5xf32>
  func.return %8 : tensor<1x4x1x5xf32>
}

// -----

// Scales of other keys, scales for each feature, integers without scales, and unsigned ones.
// CHECK-LABEL: func.func @other_scales
// CHECK-COUNT-4: edge.scaled_dot_product_attention
func.func @other_scales(%q: tensor<1x2x1x3xf32>, %k: tensor<1x2x8x3xi8>, %u: tensor<1x2x8x3xui8>, %s: tensor<1x2x8x1xf32>, %f: tensor<1x2x8x3xf32>, %mask: tensor<1x?xf32>, %a: i64, %b: i64) -> (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>) {
  %0 = edge.slice.Tensor(%k)[%a] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x3xi8>, i64) -> tensor<1x2x?x3xi8>
  %1 = edge._to_copy(%0) {dtype = f32} : (tensor<1x2x?x3xi8>) -> tensor<1x2x?x3xf32>
  %2 = edge.slice.Tensor(%s)[%b] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x1xf32>, i64) -> tensor<1x2x?x1xf32>
  %3 = edge.mul.Tensor(%1, %2) : (tensor<1x2x?x3xf32>, tensor<1x2x?x1xf32>) -> tensor<1x2x?x3xf32>
  %4 = edge.slice.Tensor(%f)[%a] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x3xf32>, i64) -> tensor<1x2x?x3xf32>
  %5 = edge.mul.Tensor(%1, %4) : (tensor<1x2x?x3xf32>, tensor<1x2x?x3xf32>) -> tensor<1x2x?x3xf32>
  %6 = edge.slice.Tensor(%u)[%a] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x3xui8>, i64) -> tensor<1x2x?x3xui8>
  %7 = edge._to_copy(%6) {dtype = f32} : (tensor<1x2x?x3xui8>) -> tensor<1x2x?x3xf32>
  %8 = edge.slice.Tensor(%s)[%a] {dim = 2 : i64, start = 0 : i64, end = -9223372036854775808 : i64} : (tensor<1x2x8x1xf32>, i64) -> tensor<1x2x?x1xf32>
  %9 = edge.mul.Tensor(%7, %8) : (tensor<1x2x?x3xf32>, tensor<1x2x?x1xf32>) -> tensor<1x2x?x3xf32>
  %10 = edge.scaled_dot_product_attention(%q, %3, %3, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x?x3xf32>, tensor<1x2x?x3xf32>, tensor<1x?xf32>) -> tensor<1x2x1x3xf32>
  %11 = edge.scaled_dot_product_attention(%q, %5, %5, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x?x3xf32>, tensor<1x2x?x3xf32>, tensor<1x?xf32>) -> tensor<1x2x1x3xf32>
  %12 = edge.scaled_dot_product_attention(%q, %1, %1, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x?x3xf32>, tensor<1x2x?x3xf32>, tensor<1x?xf32>) -> tensor<1x2x1x3xf32>
  %13 = edge.scaled_dot_product_attention(%q, %9, %9, %mask) : (tensor<1x2x1x3xf32>, tensor<1x2x?x3xf32>, tensor<1x2x?x3xf32>, tensor<1x?xf32>) -> tensor<1x2x1x3xf32>
  func.return %10, %11, %12, %13 : tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>
}
