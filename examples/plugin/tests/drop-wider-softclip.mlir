// RUN: xir-opt %s --drop-wider-softclip | filecheck %s
// RUN: xir-opt %s --drop-wider-softclip=ratio=100 | filecheck %s --check-prefix=WIDE
// RUN: xir-opt %s --delegate-softclip | filecheck %s --check-prefix=NODES

// The wider clip goes; what stays is where both were.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    %[[Y:.*]] = edge.softclip.softclip(%x) {limit = 6.000000e+00 : f64}
// CHECK-NEXT:    func.return %[[Y]]
// WIDE-COUNT-2:  edge.softclip.softclip
// NODES:         xnnpack.subgraph
// NODES-NOT:     edge.softclip
// NODES:         xnnpack.unary tanh
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.softclip.softclip(%x) {limit = 6.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.softclip.softclip(%0) {limit = 100.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
