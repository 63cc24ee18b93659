// RUN: xir-opt %s --split-input-file | filecheck %s
// RUN: xir-opt %s --split-input-file --mlir-print-op-generic | xir-opt --split-input-file | filecheck %s

// Integers outside of the subgraph are quantised numbers inside.
// CHECK-LABEL: func.func @border(
// CHECK:         xnnpack.subgraph(%{{.*}}) : (tensor<4xi8>) -> tensor<4xui8> {
// CHECK-NEXT:    ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>):
// CHECK-NEXT:      xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>> -> tensor<4x!quant.uniform<u8:f32, 2.500000e-01>>
func.func @border(%x: tensor<4xi8>) -> tensor<4xui8> {
  %y = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xui8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5:3>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5:3>> -> tensor<4x!quant.uniform<u8:f32, 0.25>>
    xnnpack.yield %0 : tensor<4x!quant.uniform<u8:f32, 0.25>>
  }
  func.return %y : tensor<4xui8>
}

// -----

// Rows quantised at run time, with weights in 4 bits by channel and by block.
// CHECK-LABEL: func.func @run_time(
// CHECK:         %[[Q:.*]] = xnnpack.convert %{{.*}} : tensor<2x64xf32> -> tensor<2x64x!xnnpack.qd<i8, 1>>
// CHECK-NEXT:    xnnpack.fully_connected %[[Q]], %{{.*}} : (tensor<2x64x!xnnpack.qd<i8, 1>>, tensor<1x64x!quant.uniform<i4:f32:0, {5.000000e-01}>>) -> tensor<2x1xf32>
// CHECK-NEXT:    xnnpack.fully_connected %[[Q]], %{{.*}} : (tensor<2x64x!xnnpack.qd<i8, 1>>, tensor<1x64x!quant.uniform<i4:f32:{0:1, 1:32}, {{.*}}5.000000e-01, 2.500000e-01}}>>) -> tensor<2x1xf32>
func.func @run_time(%x: tensor<2x64xf32>, %w: tensor<1x64x!quant.uniform<i4:f32:0, {0.5}>>, %v: tensor<1x64x!quant.uniform<i4:f32:{0:1, 1:32}, {{0.5, 0.25}}>>) {
  %0 = xnnpack.convert %x : tensor<2x64xf32> -> tensor<2x64x!xnnpack.qd<i8, 1>>
  %1 = xnnpack.fully_connected %0, %w : (tensor<2x64x!xnnpack.qd<i8, 1>>, tensor<1x64x!quant.uniform<i4:f32:0, {0.5}>>) -> tensor<2x1xf32>
  %2 = xnnpack.fully_connected %0, %v : (tensor<2x64x!xnnpack.qd<i8, 1>>, tensor<1x64x!quant.uniform<i4:f32:{0:1, 1:32}, {{0.5, 0.25}}>>) -> tensor<2x1xf32>
  func.return
}
