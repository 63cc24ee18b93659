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

// -----

// Twenty nodes are three chains, of nine nodes at most.
// CHECK-LABEL: func.func @long(
// CHECK-COUNT-9:   xnnpack.unary gelu
// CHECK-NEXT:      %[[A:.*]] = xnnpack.static_transpose %{{.*}} {perm = array<i32: 0>}
// CHECK-NEXT:      xnnpack.unary gelu %[[A]]
// CHECK-COUNT-8:   xnnpack.unary gelu
// CHECK-NEXT:      %[[B:.*]] = xnnpack.static_transpose
// CHECK-NEXT:      xnnpack.unary gelu %[[B]]
// CHECK-NEXT:      xnnpack.unary gelu
// CHECK-NEXT:      xnnpack.yield
func.func @long(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.0625>>):
    %0 = xnnpack.unary gelu %a : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %1 = xnnpack.unary gelu %0 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %2 = xnnpack.unary gelu %1 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %3 = xnnpack.unary gelu %2 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %4 = xnnpack.unary gelu %3 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %5 = xnnpack.unary gelu %4 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %6 = xnnpack.unary gelu %5 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %7 = xnnpack.unary gelu %6 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %8 = xnnpack.unary gelu %7 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %9 = xnnpack.unary gelu %8 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %10 = xnnpack.unary gelu %9 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %11 = xnnpack.unary gelu %10 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %12 = xnnpack.unary gelu %11 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %13 = xnnpack.unary gelu %12 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %14 = xnnpack.unary gelu %13 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %15 = xnnpack.unary gelu %14 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %16 = xnnpack.unary gelu %15 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %17 = xnnpack.unary gelu %16 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %18 = xnnpack.unary gelu %17 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %19 = xnnpack.unary gelu %18 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    xnnpack.yield %19 : tensor<4x!quant.uniform<i8:f32, 0.0625>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// Nine are one.
// CHECK-LABEL: func.func @nine(
// CHECK-NOT:       xnnpack.static_transpose
func.func @nine(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.0625>>):
    %0 = xnnpack.unary gelu %a : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %1 = xnnpack.unary gelu %0 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %2 = xnnpack.unary gelu %1 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %3 = xnnpack.unary gelu %2 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %4 = xnnpack.unary gelu %3 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %5 = xnnpack.unary gelu %4 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %6 = xnnpack.unary gelu %5 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %7 = xnnpack.unary gelu %6 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %8 = xnnpack.unary gelu %7 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    xnnpack.yield %8 : tensor<4x!quant.uniform<i8:f32, 0.0625>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// Cut where the numbers are of 8 bits, where that can be.
// CHECK-LABEL: func.func @behind_integers(
// CHECK:           xnnpack.unary gelu %a
// CHECK-NEXT:      xnnpack.convert
// CHECK-COUNT-7:   xnnpack.unary gelu
// CHECK-NEXT:      xnnpack.static_transpose
// CHECK-NEXT:      xnnpack.unary gelu
// CHECK-NEXT:      xnnpack.convert
func.func @behind_integers(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.0625>>):
    %0 = xnnpack.unary gelu %a : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    %1 = xnnpack.convert %0 : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4xf32>
    %2 = xnnpack.unary gelu %1 : tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.unary gelu %2 : tensor<4xf32> -> tensor<4xf32>
    %4 = xnnpack.unary gelu %3 : tensor<4xf32> -> tensor<4xf32>
    %5 = xnnpack.unary gelu %4 : tensor<4xf32> -> tensor<4xf32>
    %6 = xnnpack.unary gelu %5 : tensor<4xf32> -> tensor<4xf32>
    %7 = xnnpack.unary gelu %6 : tensor<4xf32> -> tensor<4xf32>
    %8 = xnnpack.unary gelu %7 : tensor<4xf32> -> tensor<4xf32>
    %9 = xnnpack.unary gelu %8 : tensor<4xf32> -> tensor<4xf32>
    %10 = xnnpack.convert %9 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    xnnpack.yield %10 : tensor<4x!quant.uniform<i8:f32, 0.0625>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// A bound on a result is a node of XNNPACK's.
// CHECK-LABEL: func.func @bounds(
// CHECK-COUNT-4:   xnnpack.binary add
// CHECK-NEXT:      xnnpack.static_transpose
// CHECK-NEXT:      xnnpack.convert
func.func @bounds(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.0625>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4xf32>
    %1 = xnnpack.binary add %0, %0 {output_max = 6.0 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.binary add %1, %1 {output_max = 6.0 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.binary add %2, %2 {output_max = 6.0 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %4 = xnnpack.binary add %3, %3 {output_max = 6.0 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %5 = xnnpack.convert %4 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    xnnpack.yield %5 : tensor<4x!quant.uniform<i8:f32, 0.0625>>
  }
  func.return %z : tensor<4xi8>
}

// -----

// What gives no 8-bit numbers is no chain.
// CHECK-LABEL: func.func @ends_in_floats(
// CHECK-NOT:       xnnpack.static_transpose
func.func @ends_in_floats(%x: tensor<4xi8>) -> tensor<4xi8> {
  %z = xnnpack.subgraph(%x) : (tensor<4xi8>) -> tensor<4xi8> {
  ^bb0(%a: tensor<4x!quant.uniform<i8:f32, 0.0625>>):
    %0 = xnnpack.convert %a : tensor<4x!quant.uniform<i8:f32, 0.0625>> -> tensor<4xf32>
    %1 = xnnpack.unary gelu %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = xnnpack.unary gelu %1 : tensor<4xf32> -> tensor<4xf32>
    %3 = xnnpack.unary gelu %2 : tensor<4xf32> -> tensor<4xf32>
    %4 = xnnpack.unary gelu %3 : tensor<4xf32> -> tensor<4xf32>
    %5 = xnnpack.unary gelu %4 : tensor<4xf32> -> tensor<4xf32>
    %6 = xnnpack.unary gelu %5 : tensor<4xf32> -> tensor<4xf32>
    %7 = xnnpack.unary gelu %6 : tensor<4xf32> -> tensor<4xf32>
    %8 = xnnpack.unary gelu %7 : tensor<4xf32> -> tensor<4xf32>
    %9 = xnnpack.unary gelu %8 : tensor<4xf32> -> tensor<4xf32>
    %10 = xnnpack.unary gelu %9 : tensor<4xf32> -> tensor<4xf32>
    %11 = xnnpack.unary gelu %10 : tensor<4xf32> -> tensor<4xf32>
    %12 = xnnpack.unary gelu %11 : tensor<4xf32> -> tensor<4xf32>
    %13 = xnnpack.softmax %12 : tensor<4xf32> -> tensor<4xf32>
    %14 = xnnpack.convert %13 : tensor<4xf32> -> tensor<4x!quant.uniform<i8:f32, 0.0625>>
    xnnpack.yield %14 : tensor<4x!quant.uniform<i8:f32, 0.0625>>
  }
  func.return %z : tensor<4xi8>
}
