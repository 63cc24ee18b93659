// RUN: xir-opt --fuse-conv-relu --canonicalize --mlir-pass-statistics %s 2>&1 | filecheck %s
// RUN: xir-opt --fuse-conv-relu --canonicalize --fuse-conv-relu --mlir-pass-statistics --mlir-pass-statistics-display=list %s 2>&1 | filecheck %s --check-prefix=LIST
// RUN: xir-opt --fuse-conv-relu --canonicalize --log-actions-to=- %s | filecheck %s --check-prefix=LOG
// RUN: xir-opt --fuse-conv-relu --mlir-debug-counter=fuse-conv-relu-count=1 --log-actions-to=- --mlir-pass-statistics %s 2>&1 | filecheck %s --check-prefix=FIRST
// RUN: not xir-opt --log-actions-to=%t/nowhere/log %s 2>&1 | filecheck %s --check-prefix=NOWHERE

// CHECK:      ... Pass statistics report ...
// CHECK:      'builtin.module' Pipeline
// CHECK-NEXT:   fuse-conv-relu
// CHECK-NEXT:     (S)    2 num-rewrites   - Number of rewrites
// CHECK-NEXT:     (S)    9 num-ops-before - Number of operations before the pass
// CHECK-NEXT:     (S)    7 num-ops-after  - Number of operations after it
// CHECK-NEXT:   canonicalize
// CHECK-NEXT:     (S)    0 num-rewrites

// LIST:      ... Pass statistics report ...
// LIST:      canonicalize
// LIST:      fuse-conv-relu
// LIST-NEXT:   (S)    2 num-rewrites
// LIST-NEXT:   (S)   16 num-ops-before
// LIST-NEXT:   (S)   14 num-ops-after

// LOG:      begins action `pass-execution`: `fuse-conv-relu` on `builtin.module`
// LOG-NEXT:   action `apply-pattern`: `{{[A-Za-z]+}}` on `xnnpack.clamp` at {{.*}}statistics.mlir:
// LOG-NEXT:   action `apply-pattern`:
// LOG-NEXT: completed `pass-execution`: `fuse-conv-relu`
// LOG-NEXT: begins action `pass-execution`: `canonicalize` on `builtin.module`
// LOG-NEXT: completed `pass-execution`: `canonicalize`
// LOG-NEXT: builtin.module {

// FIRST:     (S)    1 num-rewrites
// FIRST:     action `apply-pattern`
// FIRST-NOT: action `apply-pattern`

// NOWHERE: xir-opt: error: cannot write '{{.*}}/nowhere/log': No such file or directory
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %b = xnnpack.binary add %a, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %c = xnnpack.clamp %b {output_max = 3.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    %d = xnnpack.binary add %c, %c : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %e = xnnpack.clamp %d {output_max = 5.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %e : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
