// RUN: xir-opt %s --split-input-file --skip-masked-keys=overhead=0 --verify-diagnostics | filecheck %s
// RUN: xir-opt %s --split-input-file --skip-masked-keys=overhead=1000 | filecheck %s --check-prefix FEW

// Packing keys twice would take longer than what is spared.
// FEW-LABEL: func.func @halves(
// FEW-NOT:     xir.composed
// FEW-LABEL: func.func @padded(

// Of 128 queries the first half sees the first key, the second half the second key.
// CHECK-LABEL: func.func @halves(
// CHECK:       ^bb0(%[[Q:.*]]: tensor<3x128x4xf32>, %[[K:.*]]: tensor<3x2x4xf32>, %[[V:.*]]: tensor<3x5x2xf32>):
// CHECK:         %[[SCALE:.*]] = xnnpack.constant dense<5.000000e-01> : tensor<f32>
// CHECK:         %[[Q0:.*]] = xnnpack.static_slice %[[Q]] {offsets = array<i32: 0, 0, 0>, sizes = array<i32: 3, 64, 4>, xir.composed = "attention in 2 blocks of queries"}
// CHECK:         %[[K0:.*]] = xnnpack.static_slice %[[K]] {offsets = array<i32: 0, 0, 0>, sizes = array<i32: 3, 1, 4>,
// CHECK:         %[[V0:.*]] = xnnpack.static_slice %[[V]] {offsets = array<i32: 0, 0, 0>, sizes = array<i32: 3, 5, 1>,
// CHECK:         %[[S0:.*]] = xnnpack.batch_matrix_multiply %[[Q0]], %[[K0]] {transpose_b, {{.*}} -> tensor<3x64x1xf32>
// CHECK:         %[[P0:.*]] = xnnpack.binary multiply %[[S0]], %[[SCALE]]
// CHECK:         %[[M0:.*]] = xnnpack.constant dense{{.*}} : tensor<64x1xf32>
// CHECK:         %[[A0:.*]] = xnnpack.binary add %[[M0]], %[[P0]]
// CHECK:         %[[W0:.*]] = xnnpack.softmax %[[A0]]
// CHECK:         %[[Y0:.*]] = xnnpack.batch_matrix_multiply %[[W0]], %[[V0]] {transpose_b, {{.*}} -> tensor<3x64x5xf32>
// CHECK:         xnnpack.static_slice %[[Q]] {offsets = array<i32: 0, 64, 0>, sizes = array<i32: 3, 64, 4>,
// CHECK:         xnnpack.static_slice %[[K]] {offsets = array<i32: 0, 1, 0>, sizes = array<i32: 3, 1, 4>,
// CHECK:         %[[V1:.*]] = xnnpack.static_slice %[[V]] {offsets = array<i32: 0, 0, 1>, sizes = array<i32: 3, 5, 1>,
// CHECK:         %[[Y1:.*]] = xnnpack.batch_matrix_multiply %{{.*}}, %[[V1]] {transpose_b,
// CHECK:         %[[Y:.*]] = xnnpack.concatenate %[[Y0]], %[[Y1]] {axis = 1 : i32, {{.*}} -> tensor<3x128x5xf32>
// CHECK:         xnnpack.yield %[[Y]]
func.func @halves(%q: tensor<3x128x4xf32>, %k: tensor<3x2x4xf32>, %v: tensor<3x5x2xf32>) -> tensor<3x128x5xf32> {
  %y = xnnpack.subgraph(%q, %k, %v) : (tensor<3x128x4xf32>, tensor<3x2x4xf32>, tensor<3x5x2xf32>) -> tensor<3x128x5xf32> {
  ^bb0(%a: tensor<3x128x4xf32>, %b: tensor<3x2x4xf32>, %c: tensor<3x5x2xf32>):
    %half = xnnpack.constant dense<0.5> : tensor<f32>
    %mask = xnnpack.constant dense<"0x00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000000080FF00000000"> : tensor<128x2xf32>
    %0 = xnnpack.batch_matrix_multiply %a, %b {transpose_b} : (tensor<3x128x4xf32>, tensor<3x2x4xf32>) -> tensor<3x128x2xf32>
    %1 = xnnpack.binary multiply %0, %half : tensor<3x128x2xf32>, tensor<f32> -> tensor<3x128x2xf32>
    %2 = xnnpack.binary add %mask, %1 : tensor<128x2xf32>, tensor<3x128x2xf32> -> tensor<3x128x2xf32>
    // expected-remark @+1 {{skip-masked-keys: xnnpack.softmax is computed as 2 blocks of queries, 50 % of the scores}}
    %3 = xnnpack.softmax %2 : tensor<3x128x2xf32> -> tensor<3x128x2xf32>
    %4 = xnnpack.batch_matrix_multiply %3, %c {transpose_b} : (tensor<3x128x2xf32>, tensor<3x5x2xf32>) -> tensor<3x128x5xf32>
    xnnpack.yield %4 : tensor<3x128x5xf32>
  }
  func.return %y : tensor<3x128x5xf32>
}

// -----

// Nobody sees the last two of four keys.
// CHECK-LABEL: func.func @padded(
// CHECK:       ^bb0(%[[Q:.*]]: tensor<8x4xf32>,
// CHECK:         xnnpack.batch_matrix_multiply %[[Q]], %{{.*}} {xir.composed = "attention in 1 block of queries"} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
// CHECK:         xnnpack.constant dense{{.*}} : tensor<2xf32>
// CHECK-NOT:     xnnpack.concatenate
func.func @padded(%q: tensor<8x4xf32>, %k: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %y = xnnpack.subgraph(%q, %k) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x4xf32>):
    %mask = xnnpack.constant dense<[0.0, 0.0, -3.0e38, -3.0e38]> : tensor<4xf32>
    %0 = xnnpack.batch_matrix_multiply %a, %b : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %1 = xnnpack.binary add %0, %mask : tensor<8x4xf32>, tensor<4xf32> -> tensor<8x4xf32>
    // expected-remark @+1 {{skip-masked-keys: xnnpack.softmax is computed as 1 block of queries, 50 % of the scores}}
    %2 = xnnpack.softmax %1 : tensor<8x4xf32> -> tensor<8x4xf32>
    %3 = xnnpack.batch_matrix_multiply %2, %b : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    xnnpack.yield %3 : tensor<8x4xf32>
  }
  func.return %y : tensor<8x4xf32>
}

// -----

// A query that sees no key would be NaN, or the mean of all values: what it is now stays. So do scores that others read.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     xir.composed
func.func @others(%q: tensor<2x4xf32>, %k: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %y:3 = xnnpack.subgraph(%q, %k) : (tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<4x4xf32>):
    %mask = xnnpack.constant dense<[[0.0, 0.0, -3.0e38, -3.0e38], [-3.0e38, -3.0e38, -3.0e38, -3.0e38]]> : tensor<2x4xf32>
    %0 = xnnpack.batch_matrix_multiply %a, %b : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = xnnpack.binary add %0, %mask : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %2 = xnnpack.softmax %1 : tensor<2x4xf32> -> tensor<2x4xf32>
    %3 = xnnpack.batch_matrix_multiply %2, %b : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %padding = xnnpack.constant dense<[0.0, 0.0, -3.0e38, -3.0e38]> : tensor<4xf32>
    %4 = xnnpack.batch_matrix_multiply %a, %b : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %5 = xnnpack.binary add %4, %padding : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
    %6 = xnnpack.softmax %5 : tensor<2x4xf32> -> tensor<2x4xf32>
    %7 = xnnpack.batch_matrix_multiply %6, %b : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    xnnpack.yield %3, %6, %7 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  }
  func.return %y#0, %y#1, %y#2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
