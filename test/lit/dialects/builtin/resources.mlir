// Resources survive a pipe; their data is left out when asked for, and on a terminal.
// RUN: xir-opt %s --allow-unregistered-dialect --mlir-elide-resource-strings-if-larger=0 | filecheck %s --check-prefixes=CHECK,ELIDED
// RUN: xir-opt %s --allow-unregistered-dialect | xir-opt --allow-unregistered-dialect | filecheck %s --check-prefixes=CHECK,ALL
// RUN: xir-opt %s --allow-unregistered-dialect --print-resources | filecheck %s --check-prefixes=CHECK,ALL
// RUN: xir-opt %s --allow-unregistered-dialect --print-resources | xir-opt --allow-unregistered-dialect --print-resources | filecheck %s --check-prefixes=CHECK,ALL
// RUN: xir-opt %s --allow-unregistered-dialect --mlir-elide-resource-strings-if-larger=18 | filecheck %s --check-prefixes=CHECK,SMALL

// CHECK: value = dense_resource<features.0.weight> : tensor<2xf32>
"test.op"() {value = dense_resource<features.0.weight> : tensor<2xf32>} : () -> ()
// CHECK: value = [dense_resource<"0.bias"> : tensor<4xi8>, dense_resource<features.0.weight> : tensor<2xf32>]
"test.op"() {value = [dense_resource<"0.bias"> : tensor<4xi8>, dense_resource<features.0.weight> : tensor<2xf32>]} : () -> ()
// CHECK: value = dense_resource<without_data> : tensor<4xi8>
"test.op"() {value = dense_resource<without_data> : tensor<4xi8>} : () -> ()

// ELIDED-NOT: dialect_resources
// ALL: {-#
// ALL-NEXT: dialect_resources: {
// ALL-NEXT: builtin: {
// ALL-NEXT: "0.bias": "0x4000000001020304",
// ALL-NEXT: features.0.weight: "0x400000000000803F000000C0"
// ALL-NEXT: }
// ALL-NEXT: }
// ALL-NEXT: #-}
// SMALL: builtin: {
// SMALL-NEXT: "0.bias": "0x4000000001020304"
// SMALL-NEXT: }
{-#
  dialect_resources: {
    builtin: {
      features.0.weight: "0x040000000000803f000000c0",
      "0.bias": "0x0100000001020304",
      nobody_uses_this: "0x01000000"
    }
  }
#-}
