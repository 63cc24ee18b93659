// RUN: xir-opt %s --raise-items --split-input-file | filecheck %s

// CHECK-LABEL: func.func @product
// CHECK: %[[ONE:.*]] = edge.view(%s) {size = array<i64>} : (tensor<1xf32>) -> tensor<f32>
// CHECK-NEXT: edge.mul.Tensor(%x, %[[ONE]]) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
func.func @product(%x: tensor<2x3xf32>, %s: tensor<1xf32>) -> tensor<2x3xf32> {
  %n = edge._local_scalar_dense(%s) : (tensor<1xf32>) -> f64
  %0 = edge.mul.Scalar(%x)[%n] {other} : (tensor<2x3xf32>, f64) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @each
// CHECK: %[[A:.*]] = edge.add.Tensor(%x, %s) {alpha = 2 : i64}
// CHECK-NEXT: %[[B:.*]] = edge.sub.Tensor(%[[A]], %s)
// CHECK-NEXT: %[[C:.*]] = edge.sub.Tensor(%s, %[[B]]) {alpha = 3 : i64}
// CHECK-NEXT: %[[D:.*]] = edge.div.Tensor(%[[C]], %s)
// CHECK-NEXT: %[[E:.*]] = edge.masked_fill.Tensor(%[[D]], %m, %s)
// CHECK-NEXT: %[[F:.*]] = edge.expand(%s) {size = array<i64: 2, 3>}
// CHECK-NEXT: func.return %[[E]], %[[F]], %s
func.func @each(%x: tensor<2x3xf32>, %s: tensor<f32>, %m: tensor<2x3xi1>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) {
  %n = edge._local_scalar_dense(%s) : (tensor<f32>) -> f64
  %0 = edge.add.Scalar(%x)[%n] {other, alpha = 2 : i64} : (tensor<2x3xf32>, f64) -> tensor<2x3xf32>
  %1 = edge.sub.Scalar(%0)[%n] {other} : (tensor<2x3xf32>, f64) -> tensor<2x3xf32>
  %2 = edge.rsub.Scalar(%1)[%n] {other, alpha = 3 : i64} : (tensor<2x3xf32>, f64) -> tensor<2x3xf32>
  %3 = edge.div.Scalar(%2)[%n] {other} : (tensor<2x3xf32>, f64) -> tensor<2x3xf32>
  %4 = edge.masked_fill.Scalar(%3, %m)[%n] {value} : (tensor<2x3xf32>, tensor<2x3xi1>, f64) -> tensor<2x3xf32>
  %5 = edge.full()[%n] {size = array<i64: 2, 3>, fill_value, dtype = f32} : (f64) -> tensor<2x3xf32>
  %6 = edge.scalar_tensor()[%n] {s, dtype = f32} : (f64) -> tensor<f32>
  func.return %4, %5, %6 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>
}

// -----

// A number that is read of another type is rounded to that of the result, and a size is no element of a tensor.
// CHECK-LABEL: func.func @other_types
// CHECK: edge.mul.Scalar
// CHECK: edge.mul.Scalar
// CHECK: edge.mul.Scalar
func.func @other_types(%x: tensor<2x3xf16>, %y: tensor<2x3xf32>, %s: tensor<f32>, %i: tensor<i64>) -> (tensor<2x3xf16>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %n = edge._local_scalar_dense(%s) : (tensor<f32>) -> f64
  %0 = edge.mul.Scalar(%x)[%n] {other} : (tensor<2x3xf16>, f64) -> tensor<2x3xf16>
  %k = edge._local_scalar_dense(%i) : (tensor<i64>) -> i64
  %1 = edge.mul.Scalar(%y)[%k] {other} : (tensor<2x3xf32>, i64) -> tensor<2x3xf32>
  %z = edge.sym_size.int(%y) {dim = 0 : i64} : (tensor<2x3xf32>) -> i64
  %2 = edge.mul.Scalar(%y)[%z] {other} : (tensor<2x3xf32>, i64) -> tensor<2x3xf32>
  func.return %0, %1, %2 : tensor<2x3xf16>, tensor<2x3xf32>, tensor<2x3xf32>
}
