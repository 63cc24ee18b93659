// RUN: xir-opt %s --split-input-file --widen-depthwise=cpu=zen3 --verify-diagnostics | filecheck %s
// RUN: xir-opt %s --split-input-file --widen-depthwise=cpu=zen3 --remarks-filter-missed=widen-depthwise 2>&1 | filecheck %s --check-prefix MISSED
// RUN: xir-opt %s --split-input-file --widen-depthwise=cpu=%S/Inputs/floats.toml | filecheck %s --check-prefix RULE
// RUN: xir-opt %s --split-input-file --widen-depthwise=cpu=generic-arm --remarks-filter-missed=widen-depthwise 2>&1 | filecheck %s --check-prefix ARM

// A profile with kernels on integers decides by its figures: nine taps of neighbouring pixels are faster in fp32.
// CHECK-LABEL: func.func @neighbours(
// CHECK:         %[[X:.*]] = xnnpack.convert %a : tensor<1x28x28x120x!quant.uniform<i8:f32, 5.000000e-01>> -> tensor<1x28x28x120xf32>
// CHECK:         %[[Y:.*]] = xnnpack.depthwise_conv2d %[[X]], {{.*}} -> tensor<1x28x28x120xf32>
// CHECK-NEXT:    xnnpack.convert %[[Y]] : tensor<1x28x28x120xf32> -> tensor<1x28x28x120x!quant.uniform<i8:f32, 1.000000e+00>>
// Without figures nine taps stay on integers.
// RULE-LABEL: func.func @neighbours(
// RULE-NOT:     xnnpack.convert
// On Arm they are faster, and figures that nobody measured would have to say more.
// ARM:          Function=neighbours | {{.*}}which has to be 23 % less
// ARM-LABEL:    func.func @neighbours(
// ARM-NOT:      xnnpack.convert
func.func @neighbours(%x: tensor<1x28x28x120xi8>) -> tensor<1x28x28x120xi8> {
  %y = xnnpack.subgraph(%x) : (tensor<1x28x28x120xi8>) -> tensor<1x28x28x120xi8> {
  ^bb0(%a: tensor<1x28x28x120x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<1> : tensor<1x3x3x120xi8> -> tensor<1x3x3x120x!quant.uniform<i8:f32, 0.25>>
    // expected-remark-re @+1 {{computes in floating point: int8 {{[0-9.]+}} µs, fp32 with conversions {{[0-9.]+}} µs}}
    %0 = xnnpack.depthwise_conv2d %a, %w {padding = array<i32: 1, 1, 1, 1>, groups = 120 : i32}
         : (tensor<1x28x28x120x!quant.uniform<i8:f32, 0.5>>, tensor<1x3x3x120x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x28x28x120x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %0 : tensor<1x28x28x120x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %y : tensor<1x28x28x120xi8>
}

// -----

// With a stride, four times as much is converted as is computed.
// CHECK-LABEL: func.func @strided(
// CHECK-NOT:     xnnpack.convert
// MISSED: [Missed] stays-integer | Category:widen-depthwise | Function=strided | IntegerMicroseconds={{[0-9.]+}}, Microseconds={{[0-9.]+}}, Reason="int8 {{[0-9.]+}} µs, fp32 with conversions {{[0-9.]+}} µs, which has to be 10 % less", Remark="xnnpack.depthwise_conv2d computes on integers"
func.func @strided(%x: tensor<1x28x28x120xi8>) -> tensor<1x14x14x120xi8> {
  %y = xnnpack.subgraph(%x) : (tensor<1x28x28x120xi8>) -> tensor<1x14x14x120xi8> {
  ^bb0(%a: tensor<1x28x28x120x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<1> : tensor<1x3x3x120xi8> -> tensor<1x3x3x120x!quant.uniform<i8:f32, 0.25>>
    %0 = xnnpack.depthwise_conv2d %a, %w {padding = array<i32: 1, 0, 0, 1>, stride = array<i32: 2, 2>, groups = 120 : i32}
         : (tensor<1x28x28x120x!quant.uniform<i8:f32, 0.5>>, tensor<1x3x3x120x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x14x14x120x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %0 : tensor<1x14x14x120x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %y : tensor<1x14x14x120xi8>
}

// -----

// Sizes that are not known have no figures: 25 taps compute in fp32, nine do not.
// CHECK-LABEL: func.func @open(
// CHECK:         xnnpack.convert
// CHECK:         xnnpack.depthwise_conv2d {{.*}} : (tensor<1x?x9x1xf32>, tensor<1x5x5x1xf32>) -> tensor<1x?x5x1xf32>
// CHECK:         xnnpack.depthwise_conv2d {{.*}} : (tensor<1x?x9x1x!quant
// RULE-LABEL: func.func @open(
// RULE:         xnnpack.depthwise_conv2d {{.*}} : (tensor<1x?x9x1xf32>, tensor<1x5x5x1xf32>) -> tensor<1x?x5x1xf32>
// RULE:         xnnpack.depthwise_conv2d {{.*}} : (tensor<1x?x9x1x!quant
func.func @open(%x: tensor<1x?x9x1xi8>) -> (tensor<1x?x5x1xi8>, tensor<1x?x7x1xi8>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<1x?x9x1xi8>) -> (tensor<1x?x5x1xi8>, tensor<1x?x7x1xi8>) {
  ^bb0(%a: tensor<1x?x9x1x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<1> : tensor<1x5x5x1xi8> -> tensor<1x5x5x1x!quant.uniform<i8:f32, 0.25>>
    %v = xnnpack.constant dense<1> : tensor<1x3x3x1xi8> -> tensor<1x3x3x1x!quant.uniform<i8:f32, 0.25>>
    // expected-remark @+1 {{with this many taps, XNNPACK's x86 kernels take longer on 8-bit integers}}
    %0 = xnnpack.depthwise_conv2d %a, %w
         : (tensor<1x?x9x1x!quant.uniform<i8:f32, 0.5>>, tensor<1x5x5x1x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x?x5x1x!quant.uniform<i8:f32, 1.0>>
    %1 = xnnpack.depthwise_conv2d %a, %v
         : (tensor<1x?x9x1x!quant.uniform<i8:f32, 0.5>>, tensor<1x3x3x1x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x?x7x1x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %0, %1 : tensor<1x?x5x1x!quant.uniform<i8:f32, 1.0>>, tensor<1x?x7x1x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %y#0, %y#1 : tensor<1x?x5x1xi8>, tensor<1x?x7x1xi8>
}
