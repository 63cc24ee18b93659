// RUN: xir-opt %s | filecheck %s
// RUN: xir-opt %s --mlir-print-op-generic | xir-opt | filecheck %s

// Nodes that stock ExecuTorch lacks.
// CHECK-LABEL: func.func @nodes(
// CHECK:         xnnpack.subgraph({{.*}}) {target = "xir"}
// CHECK:         xnnpack.static_reduce max %{{.*}} {axes = array<i32: 1>} : tensor<2x3x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:    xnnpack.static_reduce mean %{{.*}} {axes = array<i32: 0, 2>, keep_dims} : tensor<2x3x4xf32> -> tensor<1x3x1xf32>
// CHECK-NEXT:    xnnpack.static_reduce mean_squared
// CHECK-NEXT:    xnnpack.static_reduce min
// CHECK-NEXT:    xnnpack.static_reduce sum
// CHECK-NEXT:    xnnpack.static_reduce sum_squared %{{.*}} {axes = array<i32: 0, 1, 2>} : tensor<2x3x4xf32> -> tensor<f32>
// CHECK-NEXT:    xnnpack.unary approxgelu
// CHECK-NEXT:    xnnpack.unary bankers_rounding
// CHECK-NEXT:    xnnpack.unary bitwise_not
// CHECK-NEXT:    xnnpack.unary sign
// CHECK-NEXT:    xnnpack.binary atan2
// CHECK-NEXT:    xnnpack.binary bitwise_and
// CHECK-NEXT:    xnnpack.binary bitwise_or
// CHECK-NEXT:    xnnpack.binary bitwise_xor
// CHECK-NEXT:    xnnpack.binary modulus
// CHECK-NEXT:    xnnpack.binary pow
// CHECK-NEXT:    xnnpack.binary squared_difference
func.func @nodes(%x: tensor<2x3x4xf32>, %y: tensor<2xi32>) -> tensor<2x4xf32> {
  %0 = xnnpack.subgraph(%x, %y) {target = "xir"} : (tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x3x4xf32>, %i: tensor<2xi32>):
    %1 = xnnpack.static_reduce max %a {axes = array<i32: 1>} : tensor<2x3x4xf32> -> tensor<2x4xf32>
    %2 = xnnpack.static_reduce mean %a {axes = array<i32: 0, 2>, keep_dims} : tensor<2x3x4xf32> -> tensor<1x3x1xf32>
    %3 = xnnpack.static_reduce mean_squared %a {axes = array<i32: 1>} : tensor<2x3x4xf32> -> tensor<2x4xf32>
    %4 = xnnpack.static_reduce min %a {axes = array<i32: 1>} : tensor<2x3x4xf32> -> tensor<2x4xf32>
    %5 = xnnpack.static_reduce sum %a {axes = array<i32: 1>} : tensor<2x3x4xf32> -> tensor<2x4xf32>
    %6 = xnnpack.static_reduce sum_squared %a {axes = array<i32: 0, 1, 2>} : tensor<2x3x4xf32> -> tensor<f32>
    %7 = xnnpack.unary approxgelu %a : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    %8 = xnnpack.unary bankers_rounding %a : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    %9 = xnnpack.unary bitwise_not %i : tensor<2xi32> -> tensor<2xi32>
    %10 = xnnpack.unary sign %a : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    %11 = xnnpack.binary atan2 %a, %a : tensor<2x3x4xf32>, tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    %12 = xnnpack.binary bitwise_and %i, %i : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
    %13 = xnnpack.binary bitwise_or %i, %i : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
    %14 = xnnpack.binary bitwise_xor %i, %i : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
    %15 = xnnpack.binary modulus %a, %a : tensor<2x3x4xf32>, tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    %16 = xnnpack.binary pow %a, %a : tensor<2x3x4xf32>, tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    %17 = xnnpack.binary squared_difference %a, %a : tensor<2x3x4xf32>, tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    xnnpack.yield %1 : tensor<2x4xf32>
  }
  func.return %0 : tensor<2x4xf32>
}
