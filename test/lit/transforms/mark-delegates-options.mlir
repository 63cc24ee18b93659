// RUN: xir-opt %s --mark-delegates="backend=xnnpack exclude=edge.abs" | filecheck %s --check-prefix=EXCLUDE
// RUN: xir-opt %s --mark-delegates="backend=xnnpack target=xir" | filecheck %s --check-prefix=XIR
// RUN: not xir-opt %s --mark-delegates 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not xir-opt %s --mark-delegates=backend=xnpack 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not xir-opt %s --mark-delegates="backend=xnnpack ops=edge.abbs" 2>&1 | filecheck %s --check-prefix=OP
// RUN: not xir-opt %s --mark-delegates="backend=xnnpack exclude=aten::erfin" 2>&1 | filecheck %s --check-prefix=TORCH
// RUN: xir-opt %s --mark-delegates="backend=xnnpack exclude=aten::erfinv,aten::abs" | filecheck %s --check-prefix=CALLED
// RUN: xir-opt %s --mark-delegates=backend=xnnpack --mlir-debug-counter=mark-delegates-count=0 | filecheck %s --check-prefix=COUNTER

// Operators without an op have torch's names, which the program tells from mistakes.

// EXCLUDE: edge.abs(%x) {xir.reason = "the option exclude names it"}
// EXCLUDE: edge.atan2(%{{.*}}) {xir.reason = "stock ExecuTorch has no node for it"}
// XIR:     edge.abs(%x) {xir.backend = "xnnpack"}
// XIR:     edge.atan2(%{{.*}}) {xir.backend = "xnnpack"}
// COUNTER: edge.abs(%x) {xir.reason = "a debug counter keeps it outside"}
// MISSING: error: 'mark-delegates' needs the option 'backend'
// UNKNOWN: error: there is no backend 'xnpack', did you mean 'xnnpack'?
// OP:      error: there is no op 'edge.abbs', did you mean 'edge.abs'?
// TORCH:   error: there is no op 'aten::erfin' in the program, did you mean 'aten::erfinv'?
// CALLED:  edge.abs(%x) {xir.reason = "the option exclude names it"}
// CALLED:  edge.opaque {{.*}} {xir.reason = "the option exclude names it"}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.atan2(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.opaque "aten::erfinv(Tensor self) -> Tensor" (%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
