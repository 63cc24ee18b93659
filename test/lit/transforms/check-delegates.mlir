// RUN: xir-opt %s --split-input-file --check-delegates=backend=xnnpack --verify-diagnostics | filecheck %s

// The backend is shown each of its graphs, a dynamic one at its largest shape.
func.func @refused(%x: tensor<1x1x?x1xf32> {xir.max_shape = array<i64: 1, 1, 16777216, 1>}) -> tensor<1x2x4x1xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<1x1x?x1xf32>) -> tensor<1x2x4x1xf32> {
  ^bb0(%a: tensor<1x1x?x1xf32>):
    // expected-error @+1 {{check-delegates: XNNPACK refuses to run at these shapes: unsupported parameter}}
    %1 = xnnpack.static_resize_bilinear2d %a {new_height = 2 : i32, new_width = 4 : i32}
       : tensor<1x1x?x1xf32> -> tensor<1x2x4x1xf32>
    xnnpack.yield %1 : tensor<1x2x4x1xf32>
  }
  func.return %0 : tensor<1x2x4x1xf32>
}

// -----

// What it does not refuse stays as it is, dynamic dimensions included.
// CHECK-LABEL: func.func @taken(
// CHECK:         xnnpack.unary abs %{{.*}} : tensor<?xf32> -> tensor<?xf32>
func.func @taken(%x: tensor<?xf32> {xir.max_shape = array<i64: 8>}) -> tensor<?xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    %1 = xnnpack.unary abs %a : tensor<?xf32> -> tensor<?xf32>
    xnnpack.yield %1 : tensor<?xf32>
  }
  func.return %0 : tensor<?xf32>
}
