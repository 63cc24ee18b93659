// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// A product with a constant is a fully connected node, one with a computed matrix a batch matrix product.
// CHECK-LABEL: func.func @products(
// CHECK:         xnnpack.fully_connected %{{.*}}, %{{.*}}, %{{.*}} : (tensor<3x2xf32>, tensor<4x2xf32>, tensor<4xf32>) -> tensor<3x4xf32>
// CHECK:         xnnpack.fully_connected %{{.*}}, %{{.*}}, %{{.*}} {transpose_weights} : (tensor<3x4xf32>, tensor<4x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
// CHECK:         xnnpack.fully_connected %{{.*}}, %{{.*}} {transpose_weights} : (tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT:    xnnpack.batch_matrix_multiply %{{.*}}, %{{.*}} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
func.func @products(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = edge.constant dense<1.0> : tensor<4x2xf32>
  %b = edge.constant dense<1.0> : tensor<4xf32>
  %0 = edge.linear(%x, %w, %b) : (tensor<3x2xf32>, tensor<4x2xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %c = edge.constant dense<1.0> : tensor<2xf32>
  %1 = edge.addmm(%c, %0, %w) : (tensor<2xf32>, tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %v = edge.constant dense<1.0> : tensor<2x3xf32>
  %2 = edge.mm(%1, %v) : (tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  %3 = edge.mm(%2, %x) : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %3 : tensor<3x2xf32>
}

// -----

// XNNPACK packs a computed weight at each run; a computed bias is a node of its own.
// CHECK-LABEL: func.func @computed_weight(
// CHECK:         %[[P:.*]] = xnnpack.fully_connected %{{.*}}, %{{.*}} : (tensor<3x2xf32>, tensor<4x2xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    xnnpack.binary add %[[P]], %{{.*}} : tensor<3x4xf32>, tensor<4xf32> -> tensor<3x4xf32>
func.func @computed_weight(%x: tensor<3x2xf32>, %w: tensor<4x2xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = edge.linear(%x, %w, %b) : (tensor<3x2xf32>, tensor<4x2xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}

// -----

// A bias that is one number, or one for each column, is the node's; one that differs by row is added.
// CHECK-LABEL: func.func @biases(
// CHECK:         xnnpack.fully_connected %{{.*}}, %{{.*}}, %{{.*}} {transpose_weights} : (tensor<3x2xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
// CHECK:         %[[P:.*]] = xnnpack.fully_connected %{{.*}}, %{{.*}} {transpose_weights} : (tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
// CHECK:         xnnpack.binary add %[[P]], %{{.*}} : tensor<3x3xf32>, tensor<3x1xf32> -> tensor<3x3xf32>
// CHECK:         xnnpack.batch_matrix_multiply
// CHECK-NOT:     xnnpack.binary add
// CHECK:         xnnpack.yield
func.func @biases(%x: tensor<3x2xf32>, %y: tensor<2x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) {
  %n = edge.constant dense<1.0> : tensor<1x1xf32>
  %b = edge.constant dense<1.0> : tensor<3x1xf32>
  %w = edge.constant dense<1.0> : tensor<2x3xf32>
  %0 = edge.addmm(%n, %x, %w) : (tensor<1x1xf32>, tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  %1 = edge.addmm(%b, %x, %w) : (tensor<3x1xf32>, tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  %2 = edge.addmm(%b, %x, %y) {beta = 0 : i64} : (tensor<3x1xf32>, tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  func.return %0, %1, %2 : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>
}

// -----

// A vector as weight is one row, which leaves no output dimension.
// CHECK-LABEL: func.func @vector_weight(
// CHECK:         %[[P:.*]] = xnnpack.fully_connected %{{.*}}, %{{.*}} : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x1xf32>
// CHECK-NEXT:    xnnpack.static_reshape %[[P]] {new_shape = array<i32: 3>}
func.func @vector_weight(%x: tensor<3x2xf32>) -> tensor<3xf32> {
  %w = edge.constant dense<1.0> : tensor<2xf32>
  %0 = edge.linear(%x, %w, none) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// Softmax is over the last dimension; another one is moved there and back.
// CHECK-LABEL: func.func @softmax(
// CHECK:         %[[A:.*]] = xnnpack.softmax %{{.*}} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:    %[[T:.*]] = xnnpack.static_transpose %[[A]] {perm = array<i32: 1, 2, 0>}
// CHECK-NEXT:    %[[B:.*]] = xnnpack.softmax %[[T]]
// CHECK-NEXT:    xnnpack.static_transpose %[[B]] {perm = array<i32: 2, 0, 1>}
func.func @softmax(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = edge._softmax(%x) {dim = -1 : i64, half_to_float = false} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = edge._softmax(%0) {dim = 0 : i64, half_to_float = false} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return %1 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @softmax_of_a_scalar(
// CHECK:         edge._softmax
func.func @softmax_of_a_scalar(%x: tensor<f32>) -> tensor<f32> {
  // expected-remark @+1 {{edge._softmax not delegated: softmax needs at least one dimension}}
  %0 = edge._softmax(%x) {dim = 0 : i64, half_to_float = false} : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @attention(
// CHECK:         xnnpack.batch_matrix_multiply %{{.*}}, %{{.*}} {transpose_b}
// CHECK:         xnnpack.softmax
// CHECK-NEXT:    xnnpack.batch_matrix_multiply
func.func @attention(%q: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %q, %q, none) : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}

// -----

// Four query heads over two of keys and values: two heads of twice the length.
// CHECK-LABEL: func.func @grouped_attention(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 6, 8>}
// CHECK:         xnnpack.batch_matrix_multiply %{{.*}}, %{{.*}} {transpose_b} : (tensor<1x2x6x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x6x5xf32>
// CHECK-NEXT:    xnnpack.softmax
// CHECK-NEXT:    %[[R:.*]] = xnnpack.batch_matrix_multiply
// CHECK-NEXT:    xnnpack.static_reshape %[[R]] {new_shape = array<i32: 1, 4, 3, 8>}
func.func @grouped_attention(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>) -> tensor<1x4x3x8xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %k, %k, none) {enable_gqa = true} : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x4x3x8xf32>
  func.return %0 : tensor<1x4x3x8xf32>
}

// -----

// A row that sees nothing is 0, and not the softmax of −∞.
// CHECK-LABEL: func.func @hidden_row(
// CHECK:         %[[R:.*]] = xnnpack.constant dense<{{\[\[}}1.000000e+00], [0.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT:    %[[M:.*]] = xnnpack.constant dense<{{\[\[}}0.000000e+00, 0xFF800000], [0.000000e+00, 0.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT:    xnnpack.binary add %{{.*}}, %[[M]]
// CHECK:         xnnpack.binary multiply %{{.*}}, %[[R]]
func.func @hidden_row(%q: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %m = edge.constant dense<[[true, false], [false, false]]> : tensor<2x2xi1>
  %0 = edge.scaled_dot_product_attention(%q, %q, %q, %m) : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<2x2xi1>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @other_attentions(
// CHECK-COUNT-2: edge.scaled_dot_product_attention
func.func @other_attentions(%q: tensor<1x2x4xf32>, %m: tensor<2x2xi1>) -> tensor<1x2x4xf32> {
  // expected-remark @+1 {{it drops elements at random (export the module in eval() mode)}}
  %0 = edge.scaled_dot_product_attention(%q, %q, %q, none) {dropout_p = 0.5 : f64} : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  // expected-remark @+1 {{its mask is computed at run time, and XNNPACK has no booleans}}
  %1 = edge.scaled_dot_product_attention(%0, %q, %q, %m) : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<2x2xi1>) -> tensor<1x2x4xf32>
  func.return %1 : tensor<1x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @bmm(
// CHECK:         xnnpack.batch_matrix_multiply
// CHECK-NEXT:    xnnpack.yield
func.func @bmm(%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  %0 = edge.bmm(%x, %y) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// -----

// CHECK-LABEL: func.func @baddbmm(
// CHECK:         xnnpack.batch_matrix_multiply
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.binary multiply
// CHECK:         xnnpack.binary add
// CHECK-NEXT:    xnnpack.yield
func.func @baddbmm(%x: tensor<3x5xf32>, %y: tensor<2x3x4xf32>, %z: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  %0 = edge.baddbmm(%x, %y, %z) {beta = 2 : i64, alpha = 5.000000e-01 : f64} : (tensor<3x5xf32>, tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}

// -----

// CHECK-LABEL: func.func @matmul(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 4>}
// CHECK:         xnnpack.batch_matrix_multiply
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 3>}
// CHECK-NEXT:    xnnpack.yield
func.func @matmul(%x: tensor<4xf32>, %y: tensor<2x4x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.matmul(%x, %y) : (tensor<4xf32>, tensor<2x4x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
