// RUN: xir-opt %s --split-input-file --partition-xnnpack=check=false --verify-diagnostics=only-expected | filecheck %s

// Several dynamic dimensions, which a reshape node does not infer.

// Another dimension of size 1: a product with a one of higher rank.
// CHECK-LABEL: func.func @unsqueeze(
// CHECK:         %[[ONE:.*]] = xnnpack.constant dense<1.000000e+00> : tensor<1x1x1x1xf32>
// CHECK-NEXT:    %[[LIFTED:.*]] = xnnpack.binary multiply %{{.*}}, %[[ONE]] : tensor<?x?x4xf32>, tensor<1x1x1x1xf32> -> tensor<1x?x?x4xf32>
// CHECK-NEXT:    xnnpack.static_transpose %[[LIFTED]] {perm = array<i32: 1, 2, 0, 3>} : tensor<1x?x?x4xf32> -> tensor<?x?x1x4xf32>
func.func @unsqueeze(%x: tensor<?x?x4xf32>) -> tensor<?x?x1x4xf32> {
  %0 = edge.unsqueeze(%x) {dim = 2 : i64} : (tensor<?x?x4xf32>) -> tensor<?x?x1x4xf32>
  func.return %0 : tensor<?x?x1x4xf32>
}

// -----

// One less: a mean over two of them.
// CHECK-LABEL: func.func @squeeze(
// CHECK:         xnnpack.binary multiply %{{.*}}, %{{.*}} : tensor<1x?x?x4xf32>, tensor<1x1x1x1x1xf32> -> tensor<1x1x?x?x4xf32>
// CHECK-NEXT:    xnnpack.static_transpose %{{.*}} {perm = array<i32: 2, 3, 0, 1, 4>} : tensor<1x1x?x?x4xf32> -> tensor<?x?x1x1x4xf32>
// CHECK-NEXT:    xnnpack.global_average_pooling2d %{{.*}} : tensor<?x?x1x1x4xf32> -> tensor<?x?x4xf32>
func.func @squeeze(%x: tensor<?x1x?x4xf32>) -> tensor<?x?x4xf32> {
  %0 = edge.squeeze.dim(%x) {dim = 1 : i64} : (tensor<?x1x?x4xf32>) -> tensor<?x?x4xf32>
  func.return %0 : tensor<?x?x4xf32>
}

// -----

// Features to heads: a slice each, joined along a new dimension.
// CHECK-LABEL: func.func @split(
// CHECK:         xnnpack.binary multiply %{{.*}}, %{{.*}} : tensor<?x?x6xf32>, tensor<1x1x1x1xf32> -> tensor<1x?x?x6xf32>
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 0, 0, 3>} : tensor<1x?x?x6xf32> -> tensor<1x?x?x3xf32>
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 3>, sizes = array<i32: 1, 0, 0, 3>} : tensor<1x?x?x6xf32> -> tensor<1x?x?x3xf32>
// CHECK-NEXT:    xnnpack.concatenate %{{.*}}, %{{.*}} {axis = 0 : i32} : (tensor<1x?x?x3xf32>, tensor<1x?x?x3xf32>) -> tensor<2x?x?x3xf32>
// CHECK-NEXT:    xnnpack.static_transpose %{{.*}} {perm = array<i32: 1, 2, 0, 3>} : tensor<2x?x?x3xf32> -> tensor<?x?x2x3xf32>
func.func @split(%x: tensor<?x?x6xf32>) -> tensor<?x?x2x3xf32> {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x?x6xf32>) -> i64
  %1 = edge.sym_size.int(%x) {dim = 1 : i64} : (tensor<?x?x6xf32>) -> i64
  %2 = edge.view(%x)[%0, %1] {size = array<i64: -9223372036854775808, -9223372036854775808, 2, 3>} : (tensor<?x?x6xf32>, i64, i64) -> tensor<?x?x2x3xf32>
  func.return %2 : tensor<?x?x2x3xf32>
}

// -----

// And back.
// CHECK-LABEL: func.func @merge(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 0, 0, 1, 3>} : tensor<?x?x2x3xf32> -> tensor<?x?x1x3xf32>
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 1, 0>, sizes = array<i32: 0, 0, 1, 3>} : tensor<?x?x2x3xf32> -> tensor<?x?x1x3xf32>
// CHECK-NEXT:    xnnpack.concatenate %{{.*}}, %{{.*}} {axis = 3 : i32} : (tensor<?x?x1x3xf32>, tensor<?x?x1x3xf32>) -> tensor<?x?x1x6xf32>
// CHECK:         xnnpack.global_average_pooling2d %{{.*}} : tensor<?x?x1x1x6xf32> -> tensor<?x?x6xf32>
func.func @merge(%x: tensor<?x?x2x3xf32>) -> tensor<?x?x6xf32> {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x?x2x3xf32>) -> i64
  %1 = edge.sym_size.int(%x) {dim = 1 : i64} : (tensor<?x?x2x3xf32>) -> i64
  %2 = edge.view(%x)[%0, %1] {size = array<i64: -9223372036854775808, -9223372036854775808, 6>} : (tensor<?x?x2x3xf32>, i64, i64) -> tensor<?x?x6xf32>
  func.return %2 : tensor<?x?x6xf32>
}

// -----

// A view that leaves the sizes as they are is nothing, however many of them are dynamic.
// CHECK-LABEL: func.func @same(
// CHECK-NEXT:    func.return %x
func.func @same(%x: tensor<?x?x4xf32>) -> tensor<?x?x4xf32> {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x?x4xf32>) -> i64
  %1 = edge.view(%x)[%0] {size = array<i64: -9223372036854775808, -1, 4>} : (tensor<?x?x4xf32>, i64) -> tensor<?x?x4xf32>
  func.return %1 : tensor<?x?x4xf32>
}

// -----

// The names of dimensions say that twice %x has as many rows as %y, so the view is nothing.
// CHECK-LABEL: func.func @named(
// CHECK:         %[[JOINED:.*]] = xnnpack.concatenate
// CHECK-NEXT:    xnnpack.yield %[[JOINED]]
func.func @named(
    %x: tensor<?x?x4xf32> {xir.dim_names = ["n", "t", ""]}, %y: tensor<?x4xf32> {xir.dim_names = ["2*n", ""]}
  ) -> tensor<?x?x4xf32> {
  %0 = edge.cat([%x, %x]) {dim = 0 : i64} : (tensor<?x?x4xf32>, tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %1 = edge.sym_size.int(%y) {dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  %2 = edge.view(%0)[%1] {size = array<i64: -9223372036854775808, -1, 4>} : (tensor<?x?x4xf32>, i64) -> tensor<?x?x4xf32>
  func.return %2 : tensor<?x?x4xf32>
}

// -----

// CHECK-LABEL: func.func @too_many_pieces(
// CHECK:         edge.view(%x)
func.func @too_many_pieces(%x: tensor<?x?x130xf32>) -> tensor<?x?x65x2xf32> {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x?x130xf32>) -> i64
  %1 = edge.sym_size.int(%x) {dim = 1 : i64} : (tensor<?x?x130xf32>) -> i64
  // expected-remark @+1 {{edge.view not delegated: it splits or merges one of several dynamic dimensions; XNNPACK infers one size}}
  %2 = edge.view(%x)[%0, %1] {size = array<i64: -9223372036854775808, -9223372036854775808, 65, 2>} : (tensor<?x?x130xf32>, i64, i64) -> tensor<?x?x65x2xf32>
  func.return %2 : tensor<?x?x65x2xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_merged(
// CHECK:         edge.view(%x)
func.func @dynamic_merged(%x: tensor<?x?x2x3xf32>) -> tensor<?x?x3xf32> {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x?x2x3xf32>) -> i64
  // expected-remark @+1 {{edge.view not delegated: it splits or merges one of several dynamic dimensions; XNNPACK infers one size}}
  %1 = edge.view(%x)[%0] {size = array<i64: -9223372036854775808, -1, 3>} : (tensor<?x?x2x3xf32>, i64) -> tensor<?x?x3xf32>
  func.return %1 : tensor<?x?x3xf32>
}
