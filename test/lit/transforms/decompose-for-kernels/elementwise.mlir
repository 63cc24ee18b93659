// RUN: xir-opt %s --decompose-for-kernels --split-input-file | filecheck %s

// CHECK-LABEL:  func.func @exp2(
// CHECK-NEXT:     %[[V0:.*]] = edge.pow.Scalar(%x) {self = 2.000000e+00 : f64}
// CHECK-NEXT:     func.return %[[V0]]
func.func @exp2(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.exp2(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:  func.func @exp2_of_integers(
// CHECK-NEXT:     %[[V0:.*]] = edge._to_copy(%x) {dtype = f32}
// CHECK-NEXT:     %[[V1:.*]] = edge.pow.Scalar(%[[V0]]) {self = 2.000000e+00 : f64}
// CHECK-NEXT:     func.return %[[V1]]
func.func @exp2_of_integers(%x: tensor<4xi64>) -> tensor<4xf32> {
  %0 = edge.exp2(%x) : (tensor<4xi64>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:  func.func @square(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Tensor(%x, %x)
// CHECK-NEXT:     func.return %[[V0]]
func.func @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.square(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:  func.func @hardsigmoid(
// CHECK-NEXT:     %[[V0:.*]] = edge.add.Scalar(%x) {other = 3 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.hardtanh(%[[V0]]) {max_val = 6 : i64, min_val = 0 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.mul.Scalar(%[[V1]]) {other = 0.16666666666666666 : f64}
// CHECK-NEXT:     func.return %[[V2]]
func.func @hardsigmoid(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.hardsigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:  func.func @hardswish(
// CHECK-NEXT:     %[[V0:.*]] = edge.add.Scalar(%x) {other = 3 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.hardtanh(%[[V0]]) {max_val = 6 : i64, min_val = 0 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.mul.Tensor(%x, %[[V1]])
// CHECK-NEXT:     %[[V3:.*]] = edge.mul.Scalar(%[[V2]]) {other = 0.16666666666666666 : f64}
// CHECK-NEXT:     func.return %[[V3]]
func.func @hardswish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.hardswish(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:  func.func @silu(
// CHECK-NEXT:     %[[V0:.*]] = edge.sigmoid(%x)
// CHECK-NEXT:     %[[V1:.*]] = edge.mul.Tensor(%x, %[[V0]])
// CHECK-NEXT:     func.return %[[V1]]
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.silu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:  func.func @softplus(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Scalar(%x) {other = 2 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.exp(%[[V0]])
// CHECK-NEXT:     %[[V2:.*]] = edge.log1p(%[[V1]])
// CHECK-NEXT:     %[[V3:.*]] = edge.div.Scalar(%[[V2]]) {other = 2 : i64}
// CHECK-NEXT:     %[[V4:.*]] = edge.gt.Scalar(%[[V0]]) {other = 20 : i64}
// CHECK-NEXT:     %[[V5:.*]] = edge.where.self(%[[V4]], %x, %[[V3]])
// CHECK-NEXT:     func.return %[[V5]]
func.func @softplus(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.softplus(%x) {beta = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:  func.func @mish(
// CHECK-NEXT:     %[[V0:.*]] = edge.exp(%x)
// CHECK-NEXT:     %[[V1:.*]] = edge.log1p(%[[V0]])
// CHECK-NEXT:     %[[V2:.*]] = edge.gt.Scalar(%x) {other = 20 : i64}
// CHECK-NEXT:     %[[V3:.*]] = edge.where.self(%[[V2]], %x, %[[V1]])
// CHECK-NEXT:     %[[V4:.*]] = edge.tanh(%[[V3]])
// CHECK-NEXT:     %[[V5:.*]] = edge.mul.Tensor(%x, %[[V4]])
// CHECK-NEXT:     func.return %[[V5]]
func.func @mish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.mish(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// The weight lies along dimension 1.
// CHECK-LABEL:  func.func @prelu(
// CHECK-NEXT:     %[[V0:.*]] = edge.view(%w) {size = array<i64: 3, 1, 1>}
// CHECK-NEXT:     %[[V1:.*]] = edge.gt.Scalar(%x) {other = 0 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.mul.Tensor(%x, %[[V0]])
// CHECK-NEXT:     %[[V3:.*]] = edge.where.self(%[[V1]], %x, %[[V2]])
// CHECK-NEXT:     func.return %[[V3]]
func.func @prelu(%x: tensor<2x3x4x5xf32>, %w: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
  %0 = edge.prelu(%x, %w) : (tensor<2x3x4x5xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>
  func.return %0 : tensor<2x3x4x5xf32>
}

// One weight for all channels adds no dimension.
// CHECK-LABEL:  func.func @prelu_of_one_weight(
// CHECK-NEXT:     %[[V0:.*]] = edge.view(%w) {size = array<i64>}
// CHECK-NEXT:     %[[V1:.*]] = edge.gt.Scalar(%x) {other = 0 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.mul.Tensor(%x, %[[V0]])
// CHECK-NEXT:     %[[V3:.*]] = edge.where.self(%[[V1]], %x, %[[V2]])
// CHECK-NEXT:     func.return %[[V3]]
func.func @prelu_of_one_weight(%x: tensor<4xf32>, %w: tensor<1xf32>) -> tensor<4xf32> {
  %0 = edge.prelu(%x, %w) : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:  func.func @masked_fill(
// CHECK-NEXT:     %[[V0:.*]] = edge._to_copy(%v) {dtype = f32}
// CHECK-NEXT:     %[[V1:.*]] = edge.where.self(%m, %[[V0]], %x)
// CHECK-NEXT:     func.return %[[V1]]
func.func @masked_fill(%x: tensor<4xf32>, %m: tensor<4xi1>, %v: tensor<f64>) -> tensor<4xf32> {
  %0 = edge.masked_fill.Tensor(%x, %m, %v) : (tensor<4xf32>, tensor<4xi1>, tensor<f64>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL:  func.func @triu(
// CHECK-NEXT:     %[[V0:.*]] = edge.transpose.int(%x) {dim0 = -2 : i64, dim1 = -1 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.tril(%[[V0]]) {diagonal = -1 : i64}
// CHECK-NEXT:     %[[V2:.*]] = edge.transpose.int(%[[V1]]) {dim0 = -2 : i64, dim1 = -1 : i64}
// CHECK-NEXT:     func.return %[[V2]]
func.func @triu(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = edge.triu(%x) {diagonal = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}

// ExecuTorch's kernels add no fraction to integers.
// CHECK-LABEL:  func.func @integers_and_fraction(
// CHECK-NEXT:     %[[V0:.*]] = edge._to_copy(%x) {dtype = f32}
// CHECK-NEXT:     %[[V1:.*]] = edge.sub.Scalar(%[[V0]]) {other = 5.000000e-01 : f64}
// CHECK-NEXT:     func.return %[[V1]]
func.func @integers_and_fraction(%x: tensor<4xi64>) -> tensor<4xf32> {
  %0 = edge.sub.Scalar(%x) {other = 0.5 : f64} : (tensor<4xi64>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// ExecuTorch's kernel scales the wrong side if it broadcasts the left one.
// CHECK-LABEL:  func.func @alpha(
// CHECK-NEXT:     %[[V0:.*]] = edge.mul.Scalar(%y) {other = 2 : i64}
// CHECK-NEXT:     %[[V1:.*]] = edge.add.Tensor(%x, %[[V0]])
// CHECK-NEXT:     %[[V2:.*]] = edge.add.Tensor(%[[V1]], %x) {alpha = 2 : i64}
// CHECK-NEXT:     %[[V3:.*]] = edge.add.Tensor(%x, %[[V2]])
// CHECK-NEXT:     func.return %[[V3]]
func.func @alpha(%x: tensor<1xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.add.Tensor(%x, %y) {alpha = 2 : i64} : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.add.Tensor(%0, %x) {alpha = 2 : i64} : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %2 = edge.add.Tensor(%x, %1) : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// What has a kernel stays.
// CHECK-LABEL:  func.func @others(
// CHECK-NEXT:     %[[V0:.*]] = edge.add.Scalar(%x) {other = 5.000000e-01 : f64}
// CHECK-NEXT:     %[[V1:.*]] = edge.gelu(%[[V0]])
// CHECK-NEXT:     func.return %[[V1]]
func.func @others(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.add.Scalar(%x) {other = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.gelu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
