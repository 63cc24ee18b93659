// RUN: xir-opt --fuse-conv-relu --mlir-debug-counter=fuse-conv-relu-count=1 %s | filecheck %s
// RUN: xir-opt --fuse-conv-relu --mlir-print-debug-counter %s 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not xir-opt --mlir-debug-counter=fuse-conv-relu=1 %s 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not xir-opt --mlir-debug-counter=fuse-relu-count=1 %s 2>&1 | filecheck %s --check-prefix=NAME

// COUNT:      DebugCounter counters:
// COUNT-NEXT:   fuse-conv-relu                  : 2

// FORM: a debug counter is <pass>-count=N, got 'fuse-conv-relu=1'
// NAME: there is no pass 'fuse-relu' to count the rewrites of

// CHECK:      %c = xnnpack.binary add %b, %b {output_max = 3.000000e+00 : f32, output_min = 1.000000e+00 : f32}
// CHECK-NEXT: %e = xnnpack.binary add %c, %c :
// CHECK-NEXT: %f = xnnpack.clamp %e
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %b = xnnpack.clamp %a {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %c = xnnpack.binary add %b, %b {output_min = 1.0 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %d = xnnpack.clamp %c {output_max = 3.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %e = xnnpack.binary add %d, %d : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %f = xnnpack.clamp %e {output_max = 5.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %f : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
