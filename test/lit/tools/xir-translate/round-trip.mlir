// Text to a file and back, through every kind of constant.
// RUN: xir-translate --mlir-to-pte %s | xir-translate --pte-to-mlir | filecheck %s
// RUN: xir-translate --mlir-to-pte %s | xir-translate --pte-to-mlir --mlir-elide-resource-strings-if-larger=0 | filecheck %s --check-prefix=ELIDED

// CHECK:      pte.named_data "notes" dense_resource<notes> : tensor<3xi8>
// CHECK-NEXT: pte.execution_plan @forward arenas [0, 128] attributes {encoded_out_str = "T1#1($)"} {
// CHECK-NEXT:   pte.delegate @forward_0 "XnnpackBackend" {
// CHECK:          %[[C:.*]] = xnnpack.constant dense_resource<[[KEY:.*]]> : tensor<4xf32>
// CHECK-NEXT:     %[[R:.*]] = xnnpack.binary add %{{.*}}, %[[C]] {output_min = 0.000000e+00 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
// CHECK:        pte.delegate @forward_1 "CoreMLBackend" processed dense_resource<forward_1> : tensor<2xi8>
// CHECK:        %{{.*}} = pte.tensor tensor<4xf32> data dense_resource<constant_1> : tensor<4xf32>
// CHECK:          pte.delegate_call @forward_0
// CHECK-NEXT:     pte.kernel_call "aten::mul.out"
// CHECK:      {-#
// CHECK-DAG:    notes: "0x40000000010203"
// CHECK-DAG:    constant_1: "0x400000000000803F000000400000404000008040"

// ELIDED:     pte.program
// ELIDED-NOT: dialect_resources
pte.program {
  pte.named_data "notes" dense<[1, 2, 3]> : tensor<3xi8>
  pte.execution_plan @forward arenas [0, 128] attributes {encoded_out_str = "T1#1($)"} {
    pte.delegate @graph "XnnpackBackend" {
    ^bb0(%0: tensor<4xf32>):
      %1 = xnnpack.subgraph(%0) : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%2: tensor<4xf32>):
        %3 = xnnpack.constant dense<[4.0, 3.0, 2.0, 1.0]> : tensor<4xf32>
        %4 = xnnpack.binary add %2, %3 {output_min = 0.0 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
        xnnpack.yield %4 : tensor<4xf32>
      }
      pte.yield %1 : tensor<4xf32>
    }
    pte.delegate @other "CoreMLBackend" processed dense<[7, 7]> : tensor<2xi8>
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %w = pte.tensor tensor<4xf32> data dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %y = pte.tensor tensor<4xf32> planned <1, 16>
    pte.chain {
      pte.delegate_call @graph (%x, %y)
      pte.kernel_call "aten::mul.out" (%y, %w, %x, %x)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}
