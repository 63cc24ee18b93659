// RUN: xir-opt %s --split-input-file --widen-depthwise=cpu=x86 --verify-diagnostics | filecheck %s
// RUN: xir-opt %s --split-input-file --widen-depthwise | filecheck %s --check-prefix ANY

// 25 taps compute in fp32 on x86: filter and bias are dequantised, bounds stay.
// CHECK-LABEL: func.func @five_by_five(
// CHECK:         %[[X:.*]] = xnnpack.convert %a : tensor<1x5x5x1x!quant.uniform<i8:f32, 5.000000e-01:3>> -> tensor<1x5x5x1xf32>
// CHECK-DAG:     %[[W:.*]] = xnnpack.constant dense_resource<{{.*}}> : tensor<1x5x5x2xf32>
// CHECK-DAG:     %[[B:.*]] = xnnpack.constant dense<[1.000000e+00, -1.000000e+00]> : tensor<2xf32>
// CHECK:         %[[Y:.*]] = xnnpack.depthwise_conv2d %[[X]], %[[W]], %[[B]] {output_min = 0.000000e+00 : f32} : (tensor<1x5x5x1xf32>, tensor<1x5x5x2xf32>, tensor<2xf32>) -> tensor<1x1x1x2xf32>
// CHECK-NEXT:    xnnpack.convert %[[Y]] : tensor<1x1x1x2xf32> -> tensor<1x1x1x2x!quant.uniform<i8:f32, 1.000000e+00:-128>>
// ANY-LABEL: func.func @five_by_five(
// ANY-NOT:     xnnpack.convert
func.func @five_by_five(%x: tensor<1x5x5x1xi8>) -> tensor<1x1x1x2xi8> {
  %y = xnnpack.subgraph(%x) : (tensor<1x5x5x1xi8>) -> tensor<1x1x1x2xi8> {
  ^bb0(%a: tensor<1x5x5x1x!quant.uniform<i8:f32, 0.5:3>>):
    %w = xnnpack.constant dense<2> : tensor<1x5x5x2xi8> -> tensor<1x5x5x2x!quant.uniform<i8:f32, 0.25>>
    %b = xnnpack.constant dense<[8, -8]> : tensor<2xi32> -> tensor<2x!quant.uniform<i32:f32, 0.125>>
    // expected-remark @+1 {{widen-depthwise: xnnpack.depthwise_conv2d computes in floating point: with this many taps, XNNPACK's x86 kernels take longer on 8-bit integers}}
    %0 = xnnpack.depthwise_conv2d %a, %w, %b {output_min = 0.0 : f32}
         : (tensor<1x5x5x1x!quant.uniform<i8:f32, 0.5:3>>, tensor<1x5x5x2x!quant.uniform<i8:f32, 0.25>>, tensor<2x!quant.uniform<i32:f32, 0.125>>)
         -> tensor<1x1x1x2x!quant.uniform<i8:f32, 1.0:-128>>
    xnnpack.yield %0 : tensor<1x1x1x2x!quant.uniform<i8:f32, 1.0:-128>>
  }
  func.return %y : tensor<1x1x1x2xi8>
}

// -----

// Nine taps are faster on integers, and a filter that is computed stays as it is.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     xnnpack.convert
func.func @others(%x: tensor<1x5x5x1xi8>, %f: tensor<1x5x5x1xi8>) -> (tensor<1x3x3x1xi8>, tensor<1x1x1x1xi8>) {
  %y:2 = xnnpack.subgraph(%x, %f) : (tensor<1x5x5x1xi8>, tensor<1x5x5x1xi8>) -> (tensor<1x3x3x1xi8>, tensor<1x1x1x1xi8>) {
  ^bb0(%a: tensor<1x5x5x1x!quant.uniform<i8:f32, 0.5>>, %c: tensor<1x5x5x1x!quant.uniform<i8:f32, 0.5>>):
    %w = xnnpack.constant dense<1> : tensor<1x3x3x1xi8> -> tensor<1x3x3x1x!quant.uniform<i8:f32, 0.25>>
    %0 = xnnpack.depthwise_conv2d %a, %w
         : (tensor<1x5x5x1x!quant.uniform<i8:f32, 0.5>>, tensor<1x3x3x1x!quant.uniform<i8:f32, 0.25>>)
         -> tensor<1x3x3x1x!quant.uniform<i8:f32, 1.0>>
    %1 = xnnpack.depthwise_conv2d %a, %c
         : (tensor<1x5x5x1x!quant.uniform<i8:f32, 0.5>>, tensor<1x5x5x1x!quant.uniform<i8:f32, 0.5>>)
         -> tensor<1x1x1x1x!quant.uniform<i8:f32, 1.0>>
    xnnpack.yield %0, %1 : tensor<1x3x3x1x!quant.uniform<i8:f32, 1.0>>, tensor<1x1x1x1x!quant.uniform<i8:f32, 1.0>>
  }
  func.return %y#0, %y#1 : tensor<1x3x3x1xi8>, tensor<1x1x1x1xi8>
}
