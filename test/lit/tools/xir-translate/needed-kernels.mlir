// The portable kernels that files call, each once, as CMake's XIR_KERNELS takes them; none for a delegated file.
//
// RUN: xir-opt --lower-to-pte --plan-memory %s | xir-translate --mlir-to-pte -o %t.pte
// RUN: xir-translate --needed-kernels %t.pte | filecheck %s --check-prefix=ONE
// RUN: xir-translate --needed-kernels %t.pte %S/../../../../backend_cpp/tests/data/stock_portable.pte | filecheck %s --check-prefix=TWO
// RUN: xir-translate --needed-kernels %S/../../../../backend_cpp/tests/data/stock_q8.pte %S/../../../../backend_cpp/tests/data/stock_small.pte | filecheck %s --check-prefix=STOCK
// RUN: sed s/aten::mul/mine::mul/ %t.pte > %t.own.pte
// RUN: xir-translate --needed-kernels %t.own.pte 2>&1 | filecheck %s --check-prefix=OWN
// RUN: not xir-translate --needed-kernels %t.pte %s 2>&1 | filecheck %s --check-prefix=NOT-A-PTE
// RUN: not xir-translate --pte-to-mlir %t.pte %t.pte 2>&1 | filecheck %s --check-prefix=SEVERAL

// ONE:       {{^}}aten::mul.out;aten::neg.out{{$}}
// TWO:       {{^aten::.*;aten::mul.out;.*aten::neg.out.*$}}
// STOCK:     {{^}}aten::mean.out{{$}}
// OWN-DAG:   needed-kernels.mlir{{.*}}own.pte: warning: 'mine::mul.out' is no kernel of the runtime: the application or a library has to provide it
// OWN-DAG:   {{^}}aten::neg.out{{$}}
// NOT-A-PTE: needed-kernels.mlir: error: the file identifier is {{.*}}, expected 'ET12' at byte 4 in Program
// NOT-A-PTE-NOT: aten
// SEVERAL:   xir-translate: error: --pte-to-mlir takes one file, not 2
func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.mul.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.mul.Tensor(%0, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.neg(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
