// RUN: xir-opt %s --split-input-file --widen-products=cpu=zen3 --verify-diagnostics | filecheck %s
// RUN: xir-opt %s --split-input-file --widen-products='cpu=zen3 max-growth=0' | filecheck %s --check-prefix SAME
// RUN: xir-opt %s --split-input-file --widen-products=cpu=%S/Inputs/floats.toml | filecheck %s --check-prefix SAME
// RUN: xir-opt %s --split-input-file --widen-products=cpu=x86 | filecheck %s --check-prefix SAME
// RUN: xir-opt %s --split-input-file --widen-products='cpu=zen3 max-growth=0' --remarks-filter-missed=widen-products 2>&1 | filecheck %s --check-prefix MISSED

// With AVX2, a 1x1 convolution of few channels is faster in fp32: filter and bias are dequantised, bounds stay.
// CHECK-LABEL: func.func @few_channels(
// CHECK:         %[[X:.*]] = xnnpack.convert %a : tensor<1x56x56x4x!quant.uniform<i8:f32, 5.000000e-01:3>> -> tensor<1x56x56x4xf32>
// CHECK-DAG:     %[[W:.*]] = xnnpack.constant dense_resource<{{.*}}> : tensor<8x1x1x4xf32>
// CHECK-DAG:     %[[B:.*]] = xnnpack.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK:         %[[Y:.*]] = xnnpack.conv2d %[[X]], %[[W]], %[[B]] {output_min = 0.000000e+00 : f32} : {{.*}} -> tensor<1x56x56x8xf32>
// CHECK-NEXT:    xnnpack.convert %[[Y]] : tensor<1x56x56x8xf32> -> tensor<1x56x56x8x!quant.uniform<i8:f32, 1.000000e+00:5>>
// Filters in fp32 take more bytes, and a profile without kernels on integers tells nothing.
// SAME-LABEL: func.func @few_channels(
// SAME-NOT:     xnnpack.convert
// MISSED: [Missed] stays-integer | Category:widen-products | Function=few_channels | Reason="int8 {{[0-9.]+}} µs, fp32 with conversions {{[0-9.]+}} µs, but its filter in fp32 has more bytes than max-growth leaves", Remark="xnnpack.conv2d computes on integers"
func.func @few_channels(%x: tensor<1x56x56x4xi8>) -> tensor<1x56x56x8xi8> {
  %y = xnnpack.subgraph(%x) : (tensor<1x56x56x4xi8>) -> tensor<1x56x56x8xi8> {
  ^bb0(%a: tensor<1x56x56x4x!quant.uniform<i8:f32, 0.5:3>>):
    %w = xnnpack.constant dense<2> : tensor<8x1x1x4xi8> -> tensor<8x1x1x4x!quant.uniform<i8:f32, 0.25>>
    %b = xnnpack.constant dense<8> : tensor<8xi32> -> tensor<8x!quant.uniform<i32:f32, 0.125>>
    // expected-remark-re @+1 {{widen-products: xnnpack.conv2d computes in floating point: int8 {{[0-9.]+}} µs, fp32 with conversions {{[0-9.]+}} µs}}
    %0 = xnnpack.conv2d %a, %w, %b {output_min = 0.0 : f32}
         : (tensor<1x56x56x4x!quant.uniform<i8:f32, 0.5:3>>, tensor<8x1x1x4x!quant.uniform<i8:f32, 0.25>>, tensor<8x!quant.uniform<i32:f32, 0.125>>)
         -> tensor<1x56x56x8x!quant.uniform<i8:f32, 1.0:5>>
    xnnpack.yield %0 : tensor<1x56x56x8x!quant.uniform<i8:f32, 1.0:5>>
  }
  func.return %y : tensor<1x56x56x8xi8>
}

// -----

// A linear layer of many rows is such a product, too.
// CHECK-LABEL: func.func @linear(
// CHECK:         xnnpack.fully_connected {{.*}} : (tensor<2x400x8xf32>, tensor<16x8xf32>) -> tensor<2x400x16xf32>
// SAME-LABEL: func.func @linear(
// SAME-NOT:     xnnpack.convert
func.func @linear(%x: tensor<2x400x8xi8>) -> tensor<2x400x16xi8> {
  %y = xnnpack.subgraph(%x) : (tensor<2x400x8xi8>) -> tensor<2x400x16xi8> {
  ^bb0(%a: tensor<2x400x8x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<1> : tensor<16x8xi8> -> tensor<16x8x!quant.uniform<i8:f32, 0.25>>
    // expected-remark @+1 {{widen-products: xnnpack.fully_connected computes in floating point}}
    %0 = xnnpack.fully_connected %a, %w
         : (tensor<2x400x8x!quant.uniform<i8:f32, 0.5>>, tensor<16x8x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<2x400x16x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %0 : tensor<2x400x16x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %y : tensor<2x400x16xi8>
}

// -----

// An open number of images counts as one; with an open height nothing is known.
// CHECK-LABEL: func.func @open(
// CHECK:         xnnpack.conv2d {{.*}} : (tensor<?x56x56x4xf32>, {{.*}}) -> tensor<?x56x56x8xf32>
// CHECK:         xnnpack.conv2d {{.*}} -> tensor<1x?x56x8x!quant
func.func @open(%x: tensor<?x56x56x4xi8>, %z: tensor<1x?x56x4xi8>) -> (tensor<?x56x56x8xi8>, tensor<1x?x56x8xi8>) {
  %y:2 = xnnpack.subgraph(%x, %z) : (tensor<?x56x56x4xi8>, tensor<1x?x56x4xi8>) -> (tensor<?x56x56x8xi8>, tensor<1x?x56x8xi8>) {
  ^bb0(%a: tensor<?x56x56x4x!quant.uniform<i8:f32, 0.5>>, %c: tensor<1x?x56x4x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<2> : tensor<8x1x1x4xi8> -> tensor<8x1x1x4x!quant.uniform<i8:f32, 0.25>>
    // expected-remark @+1 {{widen-products: xnnpack.conv2d computes in floating point}}
    %0 = xnnpack.conv2d %a, %w
         : (tensor<?x56x56x4x!quant.uniform<i8:f32, 0.5>>, tensor<8x1x1x4x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<?x56x56x8x!quant.uniform<i8:f32, 1.0>>
    %1 = xnnpack.conv2d %c, %w
         : (tensor<1x?x56x4x!quant.uniform<i8:f32, 0.5>>, tensor<8x1x1x4x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x?x56x8x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %0, %1 : tensor<?x56x56x8x!quant.uniform<i8:f32, 1.0>>, tensor<1x?x56x8x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %y#0, %y#1 : tensor<?x56x56x8xi8>, tensor<1x?x56x8xi8>
}

// -----

// Many channels are as fast on integers, other kernels have no figures here, and a filter that is computed stays.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     xnnpack.convert
// MISSED: [Missed] stays-integer | Category:widen-products | Function=others | IntegerMicroseconds={{[0-9.]+}}, Microseconds={{[0-9.]+}}, Reason="int8 {{[0-9.]+}} µs, fp32 with conversions {{[0-9.]+}} µs, which has to be 10 % less", Remark="xnnpack.conv2d computes on integers"
func.func @others(%x: tensor<1x7x7x640xi8>, %z: tensor<1x56x56x4xi8>) -> (tensor<1x7x7x640xi8>, tensor<1x54x54x8xi8>) {
  %y:2 = xnnpack.subgraph(%x, %z) : (tensor<1x7x7x640xi8>, tensor<1x56x56x4xi8>) -> (tensor<1x7x7x640xi8>, tensor<1x54x54x8xi8>) {
  ^bb0(%a: tensor<1x7x7x640x!quant.uniform<i8:f32, 0.5>>, %c: tensor<1x56x56x4x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<2> : tensor<640x1x1x640xi8> -> tensor<640x1x1x640x!quant.uniform<i8:f32, 0.25>>
    %v = xnnpack.constant dense<2> : tensor<8x3x3x4xi8> -> tensor<8x3x3x4x!quant.uniform<i8:f32, 0.25>>
    %0 = xnnpack.conv2d %a, %w
         : (tensor<1x7x7x640x!quant.uniform<i8:f32, 0.5>>, tensor<640x1x1x640x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x7x7x640x!quant.uniform<i8:f32, 1.0>>
    %1 = xnnpack.conv2d %c, %v
         : (tensor<1x56x56x4x!quant.uniform<i8:f32, 0.5>>, tensor<8x3x3x4x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x54x54x8x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %0, %1 : tensor<1x7x7x640x!quant.uniform<i8:f32, 1.0>>, tensor<1x54x54x8x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %y#0, %y#1 : tensor<1x7x7x640xi8>, tensor<1x54x54x8xi8>
}
