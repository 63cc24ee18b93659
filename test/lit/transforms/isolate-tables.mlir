// RUN: xir-opt %s --split-input-file --isolate-tables | filecheck %s

// Both chains get a conversion of their own; softmax is no function of one number.
// CHECK-LABEL: func.func @chains(
// CHECK:           %[[A:.*]] = xnnpack.convert %a
// CHECK:           %[[B:.*]] = xnnpack.convert %a
// CHECK-NEXT:      %[[E:.*]] = xnnpack.unary exp %[[B]]
// CHECK-NEXT:      xnnpack.convert %[[E]]
// CHECK-NEXT:      %[[C:.*]] = xnnpack.convert %a
// CHECK-NEXT:      %[[L:.*]] = xnnpack.leaky_relu %[[C]]
// CHECK-NEXT:      xnnpack.convert %[[L]]
// CHECK-NEXT:      xnnpack.softmax %[[A]]
func.func @chains(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xf32>) {
  %z:3 = xnnpack.subgraph(%x) : (tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xf32>) {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.unary exp %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.convert %1 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    %3 = xnnpack.leaky_relu %0 {negative_slope = 0.1 : f32} : tensor<4xf32> -> tensor<4xf32>
    %4 = xnnpack.convert %3 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    %5 = xnnpack.softmax %0 : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %2, %4, %5 : tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4xf32>
  }
  func.return %z#0, %z#1, %z#2 : tensor<4xi8>, tensor<4xi8>, tensor<4xf32>
}

// -----

// A value between the ends that is read twice makes no table, whoever converts.
// CHECK-LABEL: func.func @read_twice(
// CHECK:           %[[A:.*]] = xnnpack.convert %a
// CHECK-NEXT:      %[[E:.*]] = xnnpack.unary exp %[[A]]
// CHECK-NEXT:      xnnpack.convert %[[E]]
// CHECK-NEXT:      xnnpack.softmax %[[A]]
// CHECK-NEXT:      xnnpack.softmax %[[E]]
func.func @read_twice(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xf32>, tensor<4xf32>) {
  %z:3 = xnnpack.subgraph(%x) : (tensor<4xi8>) -> (tensor<4xi8>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4xf32>
    %1 = xnnpack.unary exp %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.convert %1 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
    %3 = xnnpack.softmax %0 : tensor<4xf32> -> tensor<4xf32>
    %4 = xnnpack.softmax %1 : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %2, %3, %4 : tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %z#0, %z#1, %z#2 : tensor<4xi8>, tensor<4xf32>, tensor<4xf32>
}
