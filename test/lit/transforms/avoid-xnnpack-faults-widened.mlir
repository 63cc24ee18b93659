// RUN: xir-opt --pass-pipeline='builtin.module(delegate)' %s | filecheck %s

// What XNNPACK takes for halves is yielded as a copy: the result in fp32 of an operand that another node reads as well.
// CHECK-LABEL: func.func @forward
// CHECK: %[[WIDE:.*]] = xnnpack.convert
// CHECK: %[[COPY:.*]] = xnnpack.static_slice %[[WIDE]]
// CHECK: xnnpack.yield %[[COPY]], %{{.*}}
func.func @forward(%x: tensor<1x4x6x6xf16>) -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf16>) {
  %0 = edge.abs(%x) : (tensor<1x4x6x6xf16>) -> tensor<1x4x6x6xf16>
  %1 = edge._to_copy(%0) {dtype = f32} : (tensor<1x4x6x6xf16>) -> tensor<1x4x6x6xf32>
  %2 = edge.neg(%0) : (tensor<1x4x6x6xf16>) -> tensor<1x4x6x6xf16>
  func.return %1, %2 : tensor<1x4x6x6xf32>, tensor<1x4x6x6xf16>
}

// Alone it stays.
// CHECK-LABEL: func.func @alone
// CHECK: xnnpack.convert
// CHECK-NOT: edge._to_copy
func.func @alone(%x: tensor<1x4x6x6xf16>) -> tensor<1x4x6x6xf32> {
  %0 = edge.abs(%x) : (tensor<1x4x6x6xf16>) -> tensor<1x4x6x6xf16>
  %1 = edge._to_copy(%0) {dtype = f32} : (tensor<1x4x6x6xf16>) -> tensor<1x4x6x6xf32>
  func.return %1 : tensor<1x4x6x6xf32>
}
