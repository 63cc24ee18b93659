// RUN: xir-opt %s --partition-xnnpack | filecheck %s --check-prefix=EXECUTORCH
// RUN: xir-opt %s --partition-xnnpack='target=xir' | filecheck %s --check-prefix=XIR
// RUN: not xir-opt %s --partition-xnnpack='target=tflite' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// EXECUTORCH: xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32>
// XIR: xnnpack.subgraph(%x) {target = "xir"} : (tensor<4xf32>) -> tensor<4xf32>
// UNKNOWN: option 'target' of 'partition-xnnpack': expected executorch or xir, got 'tflite'
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
