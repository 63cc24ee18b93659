// RUN: xir-opt %s --split-input-file --pad-channels=cpu=zen3 | filecheck %s
// RUN: xir-opt %s --split-input-file --pad-channels | filecheck %s --check-prefix NONE
// RUN: xir-opt %s --split-input-file --pad-channels=cpu=zen3 --remarks-filter=pad-channels 2>&1 | filecheck %s --check-prefix REMARK
// RUN: xir-opt %s --split-input-file --pad-channels=cpu=zen3 --remarks-filter-missed=pad-channels 2>&1 | filecheck %s --check-prefix MISSED

// 24 channels are one tile of 16 and a half: with 32, both the product that makes them and the one behind it are whole.
// What both multiply by is zero for the new ones.
// CHECK-LABEL: func.func @between(
// CHECK:         %[[W:.*]] = xnnpack.constant dense_resource<padded> : tensor<32x1x1x16xf32>
// CHECK:         %[[B:.*]] = xnnpack.constant {{.*}} : tensor<32xf32>
// CHECK:         %[[V:.*]] = xnnpack.constant dense_resource<padded_2> : tensor<16x1x1x32xf32>
// CHECK:         %[[X:.*]] = xnnpack.conv2d %{{.*}}, %[[W]], %[[B]] : {{.*}} -> tensor<1x56x56x32xf32>
// CHECK:         %[[Y:.*]] = xnnpack.unary hardswish %[[X]] : tensor<1x56x56x32xf32> -> tensor<1x56x56x32xf32>
// CHECK:         xnnpack.conv2d %[[Y]], %[[V]] : {{.*}} -> tensor<1x56x56x16xf32>
// NONE-LABEL:  func.func @between(
// NONE-NOT:      x56x56x32xf32>
// REMARK:      remark: [Passed] padded | Category:pad-channels | Function=between | Channels=24, Microseconds={{[0-9.]+}}, Padded=32, Remark="24 channels of xnnpack.conv2d are padded to 32
func.func @between(%x: tensor<1x56x56x16xf32>) -> tensor<1x56x56x16xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x56x56x16xf32>) -> tensor<1x56x56x16xf32> {
  ^bb0(%a: tensor<1x56x56x16xf32>):
    %w = xnnpack.constant dense<0.5> : tensor<24x1x1x16xf32>
    %b = xnnpack.constant dense<0.25> : tensor<24xf32>
    %v = xnnpack.constant dense<0.125> : tensor<16x1x1x24xf32>
    %0 = xnnpack.conv2d %a, %w, %b : (tensor<1x56x56x16xf32>, tensor<24x1x1x16xf32>, tensor<24xf32>) -> tensor<1x56x56x24xf32>
    %1 = xnnpack.unary hardswish %0 : tensor<1x56x56x24xf32> -> tensor<1x56x56x24xf32>
    %2 = xnnpack.conv2d %1, %v : (tensor<1x56x56x24xf32>, tensor<16x1x1x24xf32>) -> tensor<1x56x56x16xf32>
    xnnpack.yield %2 : tensor<1x56x56x16xf32>
  }
  func.return %y : tensor<1x56x56x16xf32>
}

// -----

// Through a depthwise convolution, its mean over the image, and the product of both, as in squeeze and excitation.
// CHECK-LABEL: func.func @through(
// CHECK:         xnnpack.conv2d {{.*}} -> tensor<1x28x28x48xf32>
// CHECK:         xnnpack.depthwise_conv2d {{.*}}groups = 48 : i32{{.*}} -> tensor<1x28x28x48xf32>
// CHECK:         xnnpack.global_average_pooling2d {{.*}} -> tensor<1x1x1x48xf32>
// CHECK:         xnnpack.conv2d {{.*}}(tensor<1x1x1x48xf32>, tensor<8x1x1x48xf32>) -> tensor<1x1x1x8xf32>
// CHECK:         xnnpack.conv2d {{.*}}(tensor<1x1x1x8xf32>, tensor<48x1x1x8xf32>) -> tensor<1x1x1x48xf32>
// CHECK:         xnnpack.binary multiply {{.*}} -> tensor<1x28x28x48xf32>
// CHECK:         xnnpack.conv2d {{.*}} -> tensor<1x28x28x32xf32>
func.func @through(%x: tensor<1x28x28x16xf32>) -> tensor<1x28x28x32xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x28x28x16xf32>) -> tensor<1x28x28x32xf32> {
  ^bb0(%a: tensor<1x28x28x16xf32>):
    %w = xnnpack.constant dense<0.5> : tensor<40x1x1x16xf32>
    %d = xnnpack.constant dense<0.25> : tensor<1x3x3x40xf32>
    %s = xnnpack.constant dense<0.25> : tensor<8x1x1x40xf32>
    %e = xnnpack.constant dense<0.25> : tensor<40x1x1x8xf32>
    %v = xnnpack.constant dense<0.125> : tensor<32x1x1x40xf32>
    %0 = xnnpack.conv2d %a, %w : (tensor<1x28x28x16xf32>, tensor<40x1x1x16xf32>) -> tensor<1x28x28x40xf32>
    %1 = xnnpack.depthwise_conv2d %0, %d {groups = 40 : i32, padding = array<i32: 1, 1, 1, 1>} : (tensor<1x28x28x40xf32>, tensor<1x3x3x40xf32>) -> tensor<1x28x28x40xf32>
    %2 = xnnpack.global_average_pooling2d %1 {keep_dims} : tensor<1x28x28x40xf32> -> tensor<1x1x1x40xf32>
    %3 = xnnpack.conv2d %2, %s : (tensor<1x1x1x40xf32>, tensor<8x1x1x40xf32>) -> tensor<1x1x1x8xf32>
    %4 = xnnpack.conv2d %3, %e : (tensor<1x1x1x8xf32>, tensor<40x1x1x8xf32>) -> tensor<1x1x1x40xf32>
    %5 = xnnpack.unary sigmoid %4 : tensor<1x1x1x40xf32> -> tensor<1x1x1x40xf32>
    %6 = xnnpack.binary multiply %1, %5 : tensor<1x28x28x40xf32>, tensor<1x1x1x40xf32> -> tensor<1x28x28x40xf32>
    %7 = xnnpack.conv2d %6, %v : (tensor<1x28x28x40xf32>, tensor<32x1x1x40xf32>) -> tensor<1x28x28x32xf32>
    xnnpack.yield %7 : tensor<1x28x28x32xf32>
  }
  func.return %y : tensor<1x28x28x32xf32>
}

// -----

// What the delegate returns has the channels that it has.
// CHECK-LABEL: func.func @returned(
// CHECK-NOT:     x32xf32>
func.func @returned(%x: tensor<1x56x56x16xf32>) -> tensor<1x56x56x24xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x56x56x16xf32>) -> tensor<1x56x56x24xf32> {
  ^bb0(%a: tensor<1x56x56x16xf32>):
    %w = xnnpack.constant dense<0.5> : tensor<24x1x1x16xf32>
    %0 = xnnpack.conv2d %a, %w : (tensor<1x56x56x16xf32>, tensor<24x1x1x16xf32>) -> tensor<1x56x56x24xf32>
    xnnpack.yield %0 : tensor<1x56x56x24xf32>
  }
  func.return %y : tensor<1x56x56x24xf32>
}

// -----

// A quotient of two zeros is no number, and no number by a weight of zero is none either.
// CHECK-LABEL: func.func @divided(
// CHECK-NOT:     x32xf32>
func.func @divided(%x: tensor<1x56x56x16xf32>) -> tensor<1x56x56x16xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x56x56x16xf32>) -> tensor<1x56x56x16xf32> {
  ^bb0(%a: tensor<1x56x56x16xf32>):
    %w = xnnpack.constant dense<0.5> : tensor<24x1x1x16xf32>
    %v = xnnpack.constant dense<0.125> : tensor<16x1x1x24xf32>
    %0 = xnnpack.conv2d %a, %w : (tensor<1x56x56x16xf32>, tensor<24x1x1x16xf32>) -> tensor<1x56x56x24xf32>
    %1 = xnnpack.binary divide %0, %0 : tensor<1x56x56x24xf32>, tensor<1x56x56x24xf32> -> tensor<1x56x56x24xf32>
    %2 = xnnpack.conv2d %1, %v : (tensor<1x56x56x24xf32>, tensor<16x1x1x24xf32>) -> tensor<1x56x56x16xf32>
    xnnpack.yield %2 : tensor<1x56x56x16xf32>
  }
  func.return %y : tensor<1x56x56x16xf32>
}

// -----

// A bound of 1e30, squared as it is multiplied by itself, is infinite.
// CHECK-LABEL: func.func @large(
// CHECK-NOT:     x32xf32>
func.func @large(%x: tensor<1x56x56x16xf32>) -> tensor<1x56x56x16xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x56x56x16xf32>) -> tensor<1x56x56x16xf32> {
  ^bb0(%a: tensor<1x56x56x16xf32>):
    %w = xnnpack.constant dense<0.5> : tensor<24x1x1x16xf32>
    %v = xnnpack.constant dense<0.125> : tensor<16x1x1x24xf32>
    %0 = xnnpack.conv2d %a, %w {output_min = 1.0e30 : f32} : (tensor<1x56x56x16xf32>, tensor<24x1x1x16xf32>) -> tensor<1x56x56x24xf32>
    %1 = xnnpack.binary multiply %0, %0 : tensor<1x56x56x24xf32>, tensor<1x56x56x24xf32> -> tensor<1x56x56x24xf32>
    %2 = xnnpack.conv2d %1, %v : (tensor<1x56x56x24xf32>, tensor<16x1x1x24xf32>) -> tensor<1x56x56x16xf32>
    xnnpack.yield %2 : tensor<1x56x56x16xf32>
  }
  func.return %y : tensor<1x56x56x16xf32>
}

// -----

// Eight channels are a whole tile of the narrow kernel; twice as many would take as long with the other one.
// CHECK-LABEL: func.func @eight(
// CHECK-NOT:     xnnpack.conv2d {{.*}} -> tensor<1x28x28x16xf32>
// MISSED:      remark: [Missed] padded | Category:pad-channels | Function=eight | Channels=8, Microseconds={{[0-9.]+}}, Padded=16, Reason="2 nodes take {{[0-9.]+}} µs, {{[0-9.]+}} µs with 16 channels"
func.func @eight(%x: tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32> {
  ^bb0(%a: tensor<1x28x28x64xf32>):
    %w = xnnpack.constant dense<0.5> : tensor<8x1x1x64xf32>
    %v = xnnpack.constant dense<0.125> : tensor<64x1x1x8xf32>
    %0 = xnnpack.conv2d %a, %w : (tensor<1x28x28x64xf32>, tensor<8x1x1x64xf32>) -> tensor<1x28x28x8xf32>
    %1 = xnnpack.conv2d %0, %v : (tensor<1x28x28x8xf32>, tensor<64x1x1x8xf32>) -> tensor<1x28x28x64xf32>
    xnnpack.yield %1 : tensor<1x28x28x64xf32>
  }
  func.return %y : tensor<1x28x28x64xf32>
}

// -----

// A convolution of two groups reads 12 channels in each: with more behind them, they would be others.
// CHECK-LABEL: func.func @groups(
// CHECK-NOT:     x32xf32>
func.func @groups(%x: tensor<1x56x56x16xf32>) -> tensor<1x56x56x16xf32> {
  %y = xnnpack.subgraph(%x) : (tensor<1x56x56x16xf32>) -> tensor<1x56x56x16xf32> {
  ^bb0(%a: tensor<1x56x56x16xf32>):
    %w = xnnpack.constant dense<0.5> : tensor<24x1x1x16xf32>
    %v = xnnpack.constant dense<0.125> : tensor<16x1x1x12xf32>
    %0 = xnnpack.conv2d %a, %w : (tensor<1x56x56x16xf32>, tensor<24x1x1x16xf32>) -> tensor<1x56x56x24xf32>
    %1 = xnnpack.conv2d %0, %v {groups = 2 : i32} : (tensor<1x56x56x24xf32>, tensor<16x1x1x12xf32>) -> tensor<1x56x56x16xf32>
    xnnpack.yield %1 : tensor<1x56x56x16xf32>
  }
  func.return %y : tensor<1x56x56x16xf32>
}
