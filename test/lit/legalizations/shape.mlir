// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics=only-expected | filecheck %s

// A node joins five tensors at most; more are joined in rounds.
// CHECK-LABEL: func.func @concatenate(
// CHECK:         %[[F:.*]] = xnnpack.concatenate %[[A:.*]], %[[A]], %[[A]], %[[A]], %[[A]] {axis = 0 : i32}
// CHECK-NEXT:    xnnpack.concatenate %[[F]], %[[A]] {axis = 0 : i32}
func.func @concatenate(%a: tensor<2xf32>) -> tensor<12xf32> {
  %0 = edge.cat([%a, %a, %a, %a, %a, %a]) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<12xf32>
  func.return %0 : tensor<12xf32>
}

// -----

// CHECK-LABEL: func.func @slice(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 1>, sizes = array<i32: 4, 2>} : tensor<4x6xf32> -> tensor<4x2xf32>
func.func @slice(%x: tensor<4x6xf32>) -> tensor<4x2xf32> {
  %0 = edge.slice.Tensor(%x) {dim = 1 : i64, start = 1 : i64, end = -3 : i64} : (tensor<4x6xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}

// -----

// Six elements are three rows of two; a row that the tensor's end cuts is filled first.
// CHECK-LABEL: func.func @steps(
// CHECK:         %[[R:.*]] = xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 4, 3, 2, 1>} : tensor<4x6xf32> -> tensor<4x3x2x1xf32>
// CHECK-NEXT:    %[[S:.*]] = xnnpack.static_slice %[[R]] {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 4, 3, 1, 1>}
// CHECK-NEXT:    xnnpack.static_reshape %[[S]] {new_shape = array<i32: 4, 3>} : tensor<4x3x1x1xf32> -> tensor<4x3xf32>
func.func @steps(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  %0 = edge.slice.Tensor(%x) {dim = 1 : i64, step = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  func.return %0 : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func @flip(
// CHECK:         xnnpack.static_slice %[[X:.*]] {offsets = array<i32: 1, 0>, sizes = array<i32: 1, 2>}
// CHECK-NEXT:    xnnpack.static_slice %[[X]] {offsets = array<i32: 0, 0>, sizes = array<i32: 1, 2>}
// CHECK-NEXT:    xnnpack.concatenate
func.func @flip(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = edge.flip(%x) {dims = array<i64: 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @long_flip(
// CHECK:         edge.flip
func.func @long_flip(%x: tensor<257xf32>) -> tensor<257xf32> {
  // expected-remark @+1 {{edge.flip not delegated: it takes 257 separate runs of elements; the limit is 256}}
  %0 = edge.flip(%x) {dims = array<i64: 0>} : (tensor<257xf32>) -> tensor<257xf32>
  func.return %0 : tensor<257xf32>
}

// -----

// Neighbours are one slice.
// CHECK-LABEL: func.func @index_select(
// CHECK:         %[[A:.*]] = xnnpack.static_slice %[[X:.*]] {offsets = array<i32: 1>, sizes = array<i32: 2>}
// CHECK-NEXT:    %[[B:.*]] = xnnpack.static_slice %[[X]] {offsets = array<i32: 0>, sizes = array<i32: 1>}
// CHECK-NEXT:    xnnpack.concatenate %[[A]], %[[B]]
func.func @index_select(%x: tensor<4xf32>) -> tensor<3xf32> {
  %i = edge.constant dense<[1, 2, 0]> : tensor<3xi64>
  %0 = edge.index_select(%x, %i) {dim = 0 : i64} : (tensor<4xf32>, tensor<3xi64>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @index_at_run_time(
// CHECK:         edge.index_select
func.func @index_at_run_time(%x: tensor<4xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  // expected-remark @+1 {{edge.index_select not delegated: its index is not a constant}}
  %0 = edge.index_select(%x, %i) {dim = 0 : i64} : (tensor<4xf32>, tensor<3xi64>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @index_out_of_range(
// CHECK:         edge.index_select
func.func @index_out_of_range(%x: tensor<4xf32>) -> tensor<1xf32> {
  %i = edge.constant dense<4> : tensor<1xi64>
  // expected-remark @+1 {{edge.index_select not delegated: its index leaves the dimension of size 4}}
  %0 = edge.index_select(%x, %i) {dim = 0 : i64} : (tensor<4xf32>, tensor<1xi64>) -> tensor<1xf32>
  func.return %0 : tensor<1xf32>
}

// -----

// Negative padding cuts, and ATen counts from the last dimension.
// CHECK-LABEL: func.func @pad(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 1>, sizes = array<i32: 4, 5>}
// CHECK-NEXT:    xnnpack.static_constant_pad %{{.*}} {post_paddings = array<i32: 0, 3>, pre_paddings = array<i32: 2, 0>} : tensor<4x5xf32> -> tensor<6x8xf32>
func.func @pad(%x: tensor<4x6xf32>) -> tensor<6x8xf32> {
  %0 = edge.constant_pad_nd(%x) {pad = array<i64: -1, 3, 2, 0>} : (tensor<4x6xf32>) -> tensor<6x8xf32>
  func.return %0 : tensor<6x8xf32>
}

// -----

// CHECK-LABEL: func.func @negative_border(
// CHECK:         edge.reflection_pad1d
func.func @negative_border(%x: tensor<4x6xf32>) -> tensor<4x5xf32> {
  // expected-remark @+1 {{edge.reflection_pad1d not delegated: its padding is negative}}
  %0 = edge.reflection_pad1d(%x) {padding = array<i64: 0, -1>} : (tensor<4x6xf32>) -> tensor<4x5xf32>
  func.return %0 : tensor<4x5xf32>
}

// -----

// Without dimensions all elements move in a row.
// CHECK-LABEL: func.func @roll(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 24>}
// CHECK:         xnnpack.concatenate
// CHECK-NEXT:    xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 4, 6>}
func.func @roll(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = edge.roll(%x) {shifts = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %0 : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: func.func @pixel_shuffle(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 2, 2, 3>}
// CHECK-NEXT:    xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 3, 1, 4, 2>}
// CHECK-NEXT:    xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 4, 6>}
func.func @pixel_shuffle(%x: tensor<4x2x3xf32>) -> tensor<1x4x6xf32> {
  %0 = edge.pixel_shuffle(%x) {upscale_factor = 2 : i64} : (tensor<4x2x3xf32>) -> tensor<1x4x6xf32>
  func.return %0 : tensor<1x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT:    xnnpack.subgraph(%x)
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 0>} : tensor<?x4xf32> -> tensor<?xf32>
// CHECK-NEXT:    xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 0>} : tensor<?xf32> -> tensor<2x?xf32>
func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<2x?xf32> {
  %0 = edge.view(%x) {size = array<i64: -1>} : (tensor<?x4xf32>) -> tensor<?xf32>
  %1 = edge.sym_size.int(%0) {dim = 0 : i64} : (tensor<?xf32>) -> i64
  %2 = edge.executorch_prim.floordiv.Scalar()[%1] {a = -9223372036854775808 : i64, b = 2 : i64} : (i64) -> i64
  %3 = edge.view(%0)[%2] {size = array<i64: 2, -9223372036854775808>} : (tensor<?xf32>, i64) -> tensor<2x?xf32>
  func.return %3 : tensor<2x?xf32>
}

// -----

// Slices of dynamic dimensions count from the start. An element before the end needs the bound.
// CHECK-LABEL: func.func @dynamic_slice(
// CHECK:         edge.slice.Tensor(%x) {end = -1 : i64
// CHECK:         edge.select.int(%x) {dim = 0 : i64, index = -1 : i64
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 1, 0>, sizes = array<i32: 0, 4>} : tensor<?x4xf32> -> tensor<?x4xf32>
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 1>, sizes = array<i32: 0, 2>} : tensor<?x4xf32> -> tensor<?x2xf32>
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} {offsets = array<i32: 3, 0>, sizes = array<i32: 1, 4>} : tensor<?x4xf32> -> tensor<1x4xf32>
func.func @dynamic_slice(%x: tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<4xf32>, tensor<?x4xf32>, tensor<4xf32>) {
  %0 = edge.slice.Tensor(%x) {start = 1 : i64, end = 9223372036854775807 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = edge.slice.Tensor(%0) {dim = 1 : i64, start = 1 : i64, end = 3 : i64} : (tensor<?x4xf32>) -> tensor<?x2xf32>
  %2 = edge.select.int(%x) {dim = 0 : i64, index = 3 : i64} : (tensor<?x4xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{edge.slice.Tensor not delegated: it counts from the end of a dynamic dimension}}
  %3 = edge.slice.Tensor(%x) {end = -1 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // expected-remark @+1 {{edge.select.int not delegated: it counts along a dynamic dimension, whose bound is unknown}}
  %4 = edge.select.int(%x) {dim = 0 : i64, index = -1 : i64} : (tensor<?x4xf32>) -> tensor<4xf32>
  func.return %1, %2, %3, %4 : tensor<?x2xf32>, tensor<4xf32>, tensor<?x4xf32>, tensor<4xf32>
}

// -----

// The last element but one is the largest, once −∞ is added to all others.
// CHECK-LABEL: func.func @before_the_end(
// CHECK:         %[[PADDED:.*]] = xnnpack.static_constant_pad %{{.*}} {padding_value = 0xFF800000 : f32, post_paddings = array<i32: 0, 0>, pre_paddings = array<i32: 0, 1>} : tensor<?x1xf32> -> tensor<?x2xf32>
// CHECK-NEXT:    %[[HIDDEN:.*]] = xnnpack.static_slice %[[PADDED]] {offsets = array<i32: 0, 0>, sizes = array<i32: 0, 1>}
// CHECK-NEXT:    %[[ONE:.*]] = xnnpack.static_constant_pad %[[HIDDEN]] {post_paddings = array<i32: 1, 0>, pre_paddings = array<i32: 0, 0>}
// CHECK-NEXT:    %[[TWO:.*]] = xnnpack.static_constant_pad %[[ONE]] {padding_value = 0xFF800000 : f32, post_paddings = array<i32: 1, 0>
// CHECK-NEXT:    %[[SHOWN:.*]] = xnnpack.static_slice %[[TWO]] {offsets = array<i32: 2, 0>, sizes = array<i32: 0, 1>}
// CHECK:         xnnpack.binary add %{{.*}} : tensor<?x4xf32>, tensor<?x1xf32> -> tensor<?x4xf32>
// CHECK:         xnnpack.max_pooling2d
func.func @before_the_end(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 8, 4>}) -> tensor<4xf32> {
  %0 = edge.select.int(%x) {dim = 0 : i64, index = -2 : i64} : (tensor<?x4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @two_dynamic(
// CHECK:         edge.view(%x)
func.func @two_dynamic(%x: tensor<?x?x4xf32>) -> tensor<?x?xf32> {
  // expected-remark @+1 {{edge.view not delegated: it splits or merges one of several dynamic dimensions; XNNPACK infers one size}}
  %0 = edge.view(%x) {size = array<i64: 3, -1>} : (tensor<?x?x4xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func.func @select_scatter(
// CHECK:         %[[S:.*]] = xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2>}
// CHECK-NEXT:    %[[A:.*]] = xnnpack.static_slice %[[X:.*]] {offsets = array<i32: 0, 0>, sizes = array<i32: 1, 2>}
// CHECK-NEXT:    %[[B:.*]] = xnnpack.static_slice %[[X]] {offsets = array<i32: 2, 0>, sizes = array<i32: 1, 2>}
// CHECK-NEXT:    xnnpack.concatenate %[[A]], %[[S]], %[[B]] {axis = 0 : i32}
func.func @select_scatter(%x: tensor<3x2xf32>, %y: tensor<2xf32>) -> tensor<3x2xf32> {
  %0 = edge.select_scatter(%x, %y) {dim = 0 : i64, index = 1 : i64} : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func @slice_scatter(
// CHECK:         %[[A:.*]] = xnnpack.static_slice %{{.*}} {offsets = array<i32: 0>, sizes = array<i32: 1>}
// CHECK-NEXT:    xnnpack.concatenate %[[A]], %{{.*}} {axis = 0 : i32}
func.func @slice_scatter(%x: tensor<3xf32>, %y: tensor<2xf32>) -> tensor<3xf32> {
  %0 = edge.slice_scatter(%x, %y) {start = 1 : i64} : (tensor<3xf32>, tensor<2xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// Every second element of src, between them what was there.
// CHECK-LABEL: func.func @scattered_steps(
// CHECK:         xnnpack.concatenate %{{.*}}, %{{.*}} {axis = 2 : i32} : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x2x1xf32>
func.func @scattered_steps(%x: tensor<3xf32>, %y: tensor<2xf32>) -> tensor<3xf32> {
  %0 = edge.slice_scatter(%x, %y) {step = 2 : i64} : (tensor<3xf32>, tensor<2xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// What is overwritten does not matter.
// CHECK-LABEL: func.func @copy(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 3>} : tensor<3xf32> -> tensor<1x3xf32>
// CHECK:         xnnpack.binary multiply %{{.*}} : tensor<1x3xf32>, tensor<2x1xf32> -> tensor<2x3xf32>
func.func @copy(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = edge.copy(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @converting_copy(
// CHECK:         edge.copy
func.func @converting_copy(%x: tensor<2xf64>, %y: tensor<2xf32>) -> tensor<2xf64> {
  // expected-remark @+1 {{edge.copy not delegated: XNNPACK does not compute it on f64}}
  %0 = edge.copy(%x, %y) : (tensor<2xf64>, tensor<2xf32>) -> tensor<2xf64>
  func.return %0 : tensor<2xf64>
}

// -----

// Two neighbouring dimensions become one, of which a static index is runs of neighbours.
// CHECK-LABEL: func.func @index(
// CHECK:         %[[F:.*]] = xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 12>}
// CHECK-NEXT:    xnnpack.static_slice %[[F]] {offsets = array<i32: 0, 1>, sizes = array<i32: 2, 2>}
// CHECK-NEXT:    xnnpack.static_slice %[[F]] {offsets = array<i32: 0, 11>, sizes = array<i32: 2, 1>}
// CHECK-NEXT:    xnnpack.concatenate
func.func @index(%x: tensor<2x3x4xf32>) -> tensor<2x3xf32> {
  %i = edge.constant dense<[0, 0, -1]> : tensor<3xi64>
  %j = edge.constant dense<[1, 2, 3]> : tensor<3xi64>
  %0 = edge.index.Tensor(%x, [none, %i, %j]) : (tensor<2x3x4xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @other_indices(
// CHECK-COUNT-3: edge.index.Tensor
func.func @other_indices(%x: tensor<3x4x3xf32>) -> (tensor<1x4xf32>, tensor<1x4x3xf32>, tensor<2x4x3xf32>) {
  %i = edge.constant dense<0> : tensor<1xi64>
  // expected-remark @+1 {{edge.index.Tensor not delegated: it indexes dimensions that are not neighbours}}
  %0 = edge.index.Tensor(%x, [%i, none, %i]) : (tensor<3x4x3xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4xf32>
  %j = edge.constant dense<3> : tensor<1xi64>
  // expected-remark @+1 {{edge.index.Tensor not delegated: its index leaves the dimensions of sizes [3]}}
  %1 = edge.index.Tensor(%x, [%j]) : (tensor<3x4x3xf32>, tensor<1xi64>) -> tensor<1x4x3xf32>
  %m = edge.constant dense<[true, false, true]> : tensor<3xi1>
  // expected-remark @+1 {{edge.index.Tensor not delegated: it indexes by a mask (index by numbers)}}
  %2 = edge.index.Tensor(%x, [%m]) : (tensor<3x4x3xf32>, tensor<3xi1>) -> tensor<2x4x3xf32>
  func.return %0, %1, %2 : tensor<1x4xf32>, tensor<1x4x3xf32>, tensor<2x4x3xf32>
}

// -----

// CHECK-LABEL: func.func @gather(
// CHECK:         edge.gather
// CHECK:         %[[F:.*]] = xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 6>}
// CHECK-NEXT:    xnnpack.static_slice %[[F]] {offsets = array<i32: 2>, sizes = array<i32: 2>}
// CHECK-NEXT:    xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 1>}
func.func @gather(%x: tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<1x1xf32>) {
  %i = edge.constant dense<[[2], [0]]> : tensor<2x1xi64>
  %0 = edge.gather(%x, %i) {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<2x1xf32>
  %j = edge.constant dense<3> : tensor<1x1xi64>
  // expected-remark @+1 {{edge.gather not delegated: its index leaves the dimension of size 3}}
  %1 = edge.gather(%x, %j) {dim = 1 : i64} : (tensor<2x3xf32>, tensor<1x1xi64>) -> tensor<1x1xf32>
  func.return %0, %1 : tensor<2x1xf32>, tensor<1x1xf32>
}

// -----

// Elements of one distance, the first of each row of as many.
// CHECK-LABEL: func.func @diagonal(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 9>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 2, 4, 1>}
// CHECK-NEXT:    xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 2, 1, 1>}
func.func @diagonal(%x: tensor<3x3xf32>) -> tensor<2xf32> {
  %0 = edge.diagonal(%x) {offset = 1 : i64} : (tensor<3x3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// As many copies as the input has rows, known only at run time: ones of that number are padding beside the input's rows.
// CHECK-LABEL: func.func @dynamic_expand(
// CHECK-NEXT:    edge.constant
// CHECK-NEXT:    xnnpack.subgraph(%x)
// CHECK:         %[[ROW:.*]] = xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0>, sizes = array<i32: 0, 1>} : tensor<?x4xf32> -> tensor<?x1xf32>
// CHECK-NEXT:    %[[PADDED:.*]] = xnnpack.static_constant_pad %[[ROW]] {padding_value = 1.000000e+00 : f32, post_paddings = array<i32: 0, 0>, pre_paddings = array<i32: 0, 1>} : tensor<?x1xf32> -> tensor<?x2xf32>
// CHECK-NEXT:    %[[ONES:.*]] = xnnpack.static_slice %[[PADDED]] {offsets = array<i32: 0, 0>, sizes = array<i32: 0, 1>} : tensor<?x2xf32> -> tensor<?x1xf32>
// CHECK:         xnnpack.binary multiply %{{.*}}, %[[ONES]] : tensor<1x4xf32>, tensor<?x1xf32> -> tensor<?x4xf32>
func.func @dynamic_expand(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = edge.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %1 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  %2 = edge.expand(%0)[%1] {size = array<i64: -9223372036854775808, 4>} : (tensor<1x4xf32>, i64) -> tensor<?x4xf32>
  %3 = edge.cat([%2, %x]) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %3 : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_expand_by_tokens(
// CHECK:         edge.expand
func.func @dynamic_expand_by_tokens(%x: tensor<?xi64>, %y: tensor<1x4xf32>) -> tensor<?x4xf32> {
  %0 = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?xi64>) -> i64
  // expected-remark @+1 {{edge.expand not delegated: it has a dynamic size that no earlier floating-point value has}}
  %1 = edge.expand(%y)[%0] {size = array<i64: -9223372036854775808, 4>} : (tensor<1x4xf32>, i64) -> tensor<?x4xf32>
  func.return %1 : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @unsafe_view(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 6>}
// CHECK-NEXT:    xnnpack.yield
func.func @unsafe_view(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = edge._unsafe_view(%x) {size = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}

// -----

// CHECK-LABEL: func.func @squeeze(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 3>}
// CHECK-NEXT:    xnnpack.yield
func.func @squeeze(%x: tensor<1x3x1xf32>) -> tensor<3xf32> {
  %0 = edge.squeeze(%x) : (tensor<1x3x1xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @squeeze_dims(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 3, 1>}
// CHECK-NEXT:    xnnpack.yield
func.func @squeeze_dims(%x: tensor<1x3x1xf32>) -> tensor<3x1xf32> {
  %0 = edge.squeeze.dims(%x) {dim = array<i64: 0>} : (tensor<1x3x1xf32>) -> tensor<3x1xf32>
  func.return %0 : tensor<3x1xf32>
}

// -----

// CHECK-LABEL: func.func @t(
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 1, 0>}
// CHECK-NEXT:    xnnpack.yield
func.func @t(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = edge.t(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func @transpose_int(
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 2, 1, 0>}
// CHECK-NEXT:    xnnpack.yield
func.func @transpose_int(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %0 = edge.transpose.int(%x) {dim0 = 0 : i64, dim1 = -1 : i64} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  func.return %0 : tensor<4x3x2xf32>
}

// -----

// CHECK-LABEL: func.func @stack(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 1, 3>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 1, 3>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 1 : i32}
// CHECK-NEXT:    xnnpack.yield
func.func @stack(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x2x3xf32> {
  %0 = edge.stack([%x, %y]) {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2x3xf32>
  func.return %0 : tensor<2x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @repeat(
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 0 : i32}
// CHECK-NEXT:    xnnpack.yield
func.func @repeat(%x: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %0 = edge.repeat(%x) {repeats = array<i64: 2, 1>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return %0 : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func @split_Tensor(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0>, sizes = array<i32: 2, 2>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 2>, sizes = array<i32: 2, 1>}
// CHECK-NEXT:    xnnpack.yield
func.func @split_Tensor(%x: tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x1xf32>) {
  %0, %1 = edge.split.Tensor(%x) {split_size = 2 : i64, dim = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x1xf32>)
  func.return %0, %1 : tensor<2x2xf32>, tensor<2x1xf32>
}

// -----

// CHECK-LABEL: func.func @split_with_sizes(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0>, sizes = array<i32: 2, 1>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 1>, sizes = array<i32: 2, 2>}
// CHECK-NEXT:    xnnpack.yield
func.func @split_with_sizes(%x: tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>) {
  %0, %1 = edge.split_with_sizes(%x) {split_sizes = array<i64: 1, 2>, dim = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>)
  func.return %0, %1 : tensor<2x1xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @unbind_int(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0>, sizes = array<i32: 1, 3>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 3>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 1, 0>, sizes = array<i32: 1, 3>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 3>}
// CHECK-NEXT:    xnnpack.yield
func.func @unbind_int(%x: tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0, %1 = edge.unbind.int(%x) : (tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @pixel_unshuffle(
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 2, 2, 2, 2, 2>}
// CHECK:         xnnpack.static_transpose %{{.*}} {perm = array<i32: 0, 2, 4, 1, 3>}
// CHECK:         xnnpack.static_reshape %{{.*}} {new_shape = array<i32: 1, 8, 2, 2>}
// CHECK-NEXT:    xnnpack.yield
func.func @pixel_unshuffle(%x: tensor<1x2x4x4xf32>) -> tensor<1x8x2x2xf32> {
  %0 = edge.pixel_unshuffle(%x) {downscale_factor = 2 : i64} : (tensor<1x2x4x4xf32>) -> tensor<1x8x2x2xf32>
  func.return %0 : tensor<1x8x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @reflection_pad2d(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 2, 0>, sizes = array<i32: 1, 2, 1, 4>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 1, 0>, sizes = array<i32: 1, 2, 1, 4>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 2 : i32}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 1>, sizes = array<i32: 1, 2, 6, 1>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 3 : i32}
// CHECK-NEXT:    xnnpack.yield
func.func @reflection_pad2d(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x6x5xf32> {
  %0 = edge.reflection_pad2d(%x) {padding = array<i64: 1, 0, 0, 2>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x6x5xf32>
  func.return %0 : tensor<1x2x6x5xf32>
}

// -----

// CHECK-LABEL: func.func @replication_pad2d(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 3, 0>, sizes = array<i32: 1, 2, 1, 4>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 3, 0>, sizes = array<i32: 1, 2, 1, 4>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 2 : i32}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 2, 6, 1>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 3 : i32}
// CHECK-NEXT:    xnnpack.yield
func.func @replication_pad2d(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x6x5xf32> {
  %0 = edge.replication_pad2d(%x) {padding = array<i64: 1, 0, 0, 2>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x6x5xf32>
  func.return %0 : tensor<1x2x6x5xf32>
}

// -----

// CHECK-LABEL: func.func @replication_pad1d(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0>, sizes = array<i32: 1, 2, 1>}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0>, sizes = array<i32: 1, 2, 1>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 2 : i32}
// CHECK-NEXT:    xnnpack.yield
func.func @replication_pad1d(%x: tensor<1x2x6xf32>) -> tensor<1x2x8xf32> {
  %0 = edge.replication_pad1d(%x) {padding = array<i64: 2, 0>} : (tensor<1x2x6xf32>) -> tensor<1x2x8xf32>
  func.return %0 : tensor<1x2x8xf32>
}

// -----

// CHECK-LABEL: func.func @reflection_pad3d(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 1, 2, 3>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 1 : i32}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 1>, sizes = array<i32: 1, 3, 2, 1>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 3 : i32}
// CHECK-NEXT:    xnnpack.yield
func.func @reflection_pad3d(%x: tensor<1x2x2x3xf32>) -> tensor<1x3x2x4xf32> {
  %0 = edge.reflection_pad3d(%x) {padding = array<i64: 1, 0, 0, 0, 0, 1>} : (tensor<1x2x2x3xf32>) -> tensor<1x3x2x4xf32>
  func.return %0 : tensor<1x3x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @replication_pad3d(
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 1, 0, 0>, sizes = array<i32: 1, 1, 2, 3>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 1 : i32}
// CHECK:         xnnpack.static_slice %{{.*}} {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 3, 2, 1>}
// CHECK:         xnnpack.concatenate %{{.*}} {axis = 3 : i32}
// CHECK-NEXT:    xnnpack.yield
func.func @replication_pad3d(%x: tensor<1x2x2x3xf32>) -> tensor<1x3x2x4xf32> {
  %0 = edge.replication_pad3d(%x) {padding = array<i64: 1, 0, 0, 0, 0, 1>} : (tensor<1x2x2x3xf32>) -> tensor<1x3x2x4xf32>
  func.return %0 : tensor<1x3x2x4xf32>
}

// -----

// A scalar has no dimensions to exchange, and counts as a vector where elements are taken by an index.
// CHECK-LABEL: func.func @of_a_scalar(
// CHECK:         ^bb0(%[[X:.*]]: tensor<f32>):
// CHECK-NEXT:    %[[C:.*]] = xnnpack.static_reshape %[[X]] {new_shape = array<i32: 1>}
// CHECK-NEXT:    %[[A:.*]] = xnnpack.unary abs %[[X]]
// CHECK-NEXT:    %[[B:.*]] = xnnpack.unary exp %[[X]]
// CHECK-NEXT:    xnnpack.yield %[[C]], %[[A]], %[[B]]
func.func @of_a_scalar(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<1xf32>) {
  %i = edge.constant dense<0> : tensor<1xi64>
  %0 = edge.transpose.int(%x) {dim0 = 0 : i64, dim1 = -1 : i64} : (tensor<f32>) -> tensor<f32>
  %1 = edge.index_select(%x, %i) {dim = 0 : i64} : (tensor<f32>, tensor<1xi64>) -> tensor<f32>
  %2 = edge.gather(%x, %i) {dim = 0 : i64} : (tensor<f32>, tensor<1xi64>) -> tensor<1xf32>
  %a = edge.abs(%0) : (tensor<f32>) -> tensor<f32>
  %b = edge.exp(%1) : (tensor<f32>) -> tensor<f32>
  func.return %a, %b, %2 : tensor<f32>, tensor<f32>, tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @long_gather(
// CHECK:         edge.gather
func.func @long_gather(%x: tensor<2xf32>) -> tensor<100000xf32> {
  %index = edge.constant dense<0> : tensor<100000xi64>
  // expected-remark @+1 {{edge.gather not delegated: it takes at least 50000 separate runs of elements; the limit is 256}}
  %0 = edge.gather(%x, %index) {dim = 0 : i64} : (tensor<2xf32>, tensor<100000xi64>) -> tensor<100000xf32>
  func.return %0 : tensor<100000xf32>
}

// -----

// What a border mirrors before an open end is picked by a product.
// CHECK-LABEL: func.func @mirrored_end(
// CHECK:         %[[BEFORE:.*]] = xnnpack.static_slice %[[X:.*]] {offsets = array<i32: 0, 0, 1>, sizes = array<i32: 0, 3, 1>}
// CHECK:         %[[BEHIND:.*]] = xnnpack.batch_matrix_multiply %[[X]], %{{.*}} {transpose_b} : (tensor<?x3x?xf32>, tensor<1x2x?xf32>) -> tensor<?x3x2xf32>
// CHECK-NEXT:    xnnpack.concatenate %[[BEFORE]], %[[X]], %[[BEHIND]] {axis = 2 : i32}
func.func @mirrored_end(%x: tensor<?x3x?xf32> {xir.max_shape = array<i64: 2, 3, 9>}) -> tensor<?x3x?xf32> {
  %0 = edge.reflection_pad1d(%x) {padding = array<i64: 1, 2>} : (tensor<?x3x?xf32>) -> tensor<?x3x?xf32>
  func.return %0 : tensor<?x3x?xf32>
}

// -----

// Up to an element before an open end: a window of an element and one of those behind the longest text.
// CHECK-LABEL: func.func @before_end(
// CHECK:         xnnpack.static_constant_pad %{{.*}} {padding_value = 0xFF800000 : f32, post_paddings = array<i32: 0, 6, 0, 0>
// CHECK-NEXT:    xnnpack.max_pooling2d %{{.*}} {dilation = array<i32: 8, 1>, kernel = array<i32: 2, 1>}
func.func @before_end(%x: tensor<?x?x3xf32> {xir.max_shape = array<i64: 2, 9, 3>}) -> tensor<?x?x3xf32> {
  %0 = edge.slice.Tensor(%x) {dim = 1 : i64, start = 1 : i64, end = -2 : i64} : (tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  %1 = edge.relu(%0) : (tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  func.return %1 : tensor<?x?x3xf32>
}

// -----

// Behind too many elements at the largest size it is no matter of nodes.
// CHECK-LABEL: func.func @before_a_far_end(
// CHECK:         edge.slice.Tensor
func.func @before_a_far_end(%x: tensor<?x?x300xf32> {xir.max_shape = array<i64: 2, 9000, 300>}) -> tensor<?x?x300xf32> {
  // expected-remark @+1 {{edge.slice.Tensor not delegated: it counts from the end of a dynamic dimension}}
  %0 = edge.slice.Tensor(%x) {dim = 1 : i64, end = -1 : i64} : (tensor<?x?x300xf32>) -> tensor<?x?x300xf32>
  %1 = edge.relu(%0) : (tensor<?x?x300xf32>) -> tensor<?x?x300xf32>
  func.return %1 : tensor<?x?x300xf32>
}

// -----

// Every second element where no reshape makes pairs: a stride.
// CHECK-LABEL: func.func @every_second(
// CHECK:         xnnpack.depthwise_conv2d %{{.*}}, %{{.*}} {stride = array<i32: 1, 2>} : (tensor<?x?x3x1xf32>, tensor<1x1x1x1xf32>) -> tensor<?x?x2x1xf32>
func.func @every_second(%x: tensor<?x?x4xf32> {xir.max_shape = array<i64: 2, 9, 4>}) -> tensor<?x?x2xf32> {
  %0 = edge.slice.Tensor(%x) {dim = 2 : i64, start = 1 : i64, step = 2 : i64} : (tensor<?x?x4xf32>) -> tensor<?x?x2xf32>
  %1 = edge.relu(%0) : (tensor<?x?x2xf32>) -> tensor<?x?x2xf32>
  func.return %1 : tensor<?x?x2xf32>
}

// -----

// A border around two open dimensions.
// CHECK-LABEL: func.func @around(
// CHECK:         xnnpack.static_constant_pad %{{.*}} {post_paddings = array<i32: 0, 0, 1, 2>, pre_paddings = array<i32: 0, 0, 1, 2>}
func.func @around(%x: tensor<1x2x?x?xf32> {xir.max_shape = array<i64: 1, 2, 6, 4>}) -> tensor<1x2x?x?xf32> {
  %0 = edge.constant_pad_nd(%x) {pad = array<i64: 2, 2, 1, 1>, value = 0.0 : f64} : (tensor<1x2x?x?xf32>) -> tensor<1x2x?x?xf32>
  %1 = edge.relu(%0) : (tensor<1x2x?x?xf32>) -> tensor<1x2x?x?xf32>
  func.return %1 : tensor<1x2x?x?xf32>
}
