// RUN: xir-opt %s --split-input-file --verify-diagnostics | filecheck %s

// What XNNPACK computes on besides fp32.

// CHECK-LABEL: func.func @half_weights(
// CHECK-NEXT:    xnnpack.fully_connected %{{.*}}, %{{.*}} : (tensor<1x4xf32>, tensor<2x4xf16>) -> tensor<1x2xf32>
// CHECK-NEXT:    xnnpack.fully_connected {{.*}} : (tensor<1x4xf16>, tensor<2x4xf16>, tensor<2xf32>) -> tensor<1x2xf16>
func.func @half_weights(%x: tensor<1x4xf32>, %h: tensor<1x4xf16>, %w: tensor<2x4xf16>, %b: tensor<2xf32>) {
  %0 = xnnpack.fully_connected %x, %w : (tensor<1x4xf32>, tensor<2x4xf16>) -> tensor<1x2xf32>
  %1 = xnnpack.fully_connected %h, %w, %b : (tensor<1x4xf16>, tensor<2x4xf16>, tensor<2xf32>) -> tensor<1x2xf16>
  func.return
}

// CHECK-LABEL: func.func @bf16_product(
func.func @bf16_product(%x: tensor<1x4xbf16>, %w: tensor<4x2xbf16>) {
  // CHECK-NEXT: xnnpack.batch_matrix_multiply {{.*}} : (tensor<1x4xbf16>, tensor<4x2xbf16>) -> tensor<1x2xf32>
  %0 = xnnpack.batch_matrix_multiply %x, %w : (tensor<1x4xbf16>, tensor<4x2xbf16>) -> tensor<1x2xf32>
  func.return
}

// CHECK-LABEL: func.func @integers(
func.func @integers(%x: tensor<4xi32>) {
  // CHECK-NEXT: xnnpack.unary abs {{.*}} : tensor<4xi32>
  %0 = xnnpack.unary abs %x : tensor<4xi32> -> tensor<4xi32>
  // CHECK-NEXT: xnnpack.binary add {{.*}} : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  %1 = xnnpack.binary add %x, %0 : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  // CHECK-NEXT: xnnpack.convert {{.*}} : tensor<4xi32> -> tensor<4xbf16>
  %2 = xnnpack.convert %1 : tensor<4xi32> -> tensor<4xbf16>
  func.return
}

// -----

func.func @invalid(%x: tensor<1x4x4x2xbf16>, %w: tensor<2x1x1x2xbf16>) {
  // expected-error @+1 {{XNNPACK does not compute it on bf16}}
  %0 = xnnpack.conv2d %x, %w : (tensor<1x4x4x2xbf16>, tensor<2x1x1x2xbf16>) -> tensor<1x4x4x2xbf16>
  func.return
}

// -----

func.func @invalid(%x: tensor<1x4x4x2xf16>, %w: tensor<2x1x1x2xf16>) {
  // expected-error @+1 {{XNNPACK does not compute it on f16, f16, f16 together}}
  %0 = xnnpack.deconv2d %x, %w : (tensor<1x4x4x2xf16>, tensor<2x1x1x2xf16>) -> tensor<1x4x4x2xf16>
  func.return
}

// -----

func.func @invalid(%x: tensor<2x4x4x2xf16>) {
  // expected-error @+1 {{XNNPACK does not compute it on f16}}
  %0, %1 = xnnpack.argmax_pooling2d %x {kernel = array<i32: 2, 2>} : (tensor<2x4x4x2xf16>) -> (tensor<2x2x2x2xf16>, tensor<2x2x2x2xi32>)
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi32>) {
  // expected-error @+1 {{XNNPACK does not compute it on i32}}
  %0 = xnnpack.unary sigmoid %x : tensor<4xi32> -> tensor<4xi32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi32>) {
  // expected-error @+1 {{XNNPACK does not clamp i32}}
  %0 = xnnpack.binary add %x, %x {output_min = 0.0 : f32} : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi32>) {
  // expected-error @+1 {{XNNPACK does not compute it on i32}}
  %0 = xnnpack.static_constant_pad %x {pre_paddings = array<i32: 1>, post_paddings = array<i32: 0>} : tensor<4xi32> -> tensor<5xi32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi64>) {
  // expected-error @+1 {{XNNPACK does not compute it on i64}}
  %0 = xnnpack.static_transpose %x {perm = array<i32: 0>} : tensor<4xi64> -> tensor<4xi64>
  func.return
}
