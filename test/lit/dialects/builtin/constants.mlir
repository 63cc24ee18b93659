// RUN: xir-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: xir-opt %s --allow-unregistered-dialect | xir-opt --allow-unregistered-dialect | filecheck %s
// RUN: xir-opt %s --allow-unregistered-dialect --mlir-print-op-generic | filecheck %s
// RUN: xir-opt %s --allow-unregistered-dialect --mlir-elide-elementsattrs-if-larger=3 | filecheck %s --check-prefix=ELIDED

// Hex literals are bit patterns.
// CHECK: value = dense<[0xFF800000, 1.500000e+00]> : tensor<2xf32>
"test.op"() {value = dense<[0xFF800000, 1.5]> : tensor<2xf32>} : () -> ()
// CHECK: value = dense<1.000000e+00> : tensor<2xf32>
"test.op"() {value = dense<0x3F800000> : tensor<2xf32>} : () -> ()
// CHECK: value = dense<[0x7FC0, 0x7F80, 1.000000e+00]> : tensor<3xbf16>
"test.op"() {value = dense<[0x7FC0, 0x7F80, 1.0]> : tensor<3xbf16>} : () -> ()
// CHECK: value = array<f32: 0xFF800000, 0x7F800000, 6.000000e+00>
"test.op"() {value = array<f32: 0xFF800000, 0x7F800000, 6.0>} : () -> ()
// CHECK: value = 0x7F800000 : f32
"test.op"() {value = 0x7F800000 : f32} : () -> ()

// A finite value reads back as itself.
// CHECK: value = dense<[1.000001e+06, 0.100000001, 16777217.0]> : tensor<3xf64>
"test.op"() {value = dense<[1000001.0, 0.100000001, 16777217.0]> : tensor<3xf64>} : () -> ()
// CHECK: value = dense<[16777216.0, 1.000000e-01]> : tensor<2xf32>
"test.op"() {value = dense<[16777217.0, 0.1]> : tensor<2xf32>} : () -> ()
// CHECK: value = 3.4028234663852886e+38 : f64
"test.op"() {value = 3.4028234663852886e+38} : () -> ()

// ELIDED: value = dense_resource<__elided__> : tensor<4xi32>
// CHECK: value = dense<[1, -2, 3, 4]> : tensor<4xi32>
"test.op"() {value = dense<[1, -2, 3, 4]> : tensor<4xi32>} : () -> ()
// ELIDED: value = dense<{{.*}}true, false, true{{.*}}> : tensor<3xi1>
// CHECK: value = dense<[true, false, true]> : tensor<3xi1>
"test.op"() {value = dense<[true, false, true]> : tensor<3xi1>} : () -> ()
