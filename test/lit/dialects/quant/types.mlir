// RUN: xir-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: xir-opt %s --allow-unregistered-dialect | xir-opt --allow-unregistered-dialect | filecheck %s

// CHECK: !quant.uniform<i8:f32, 2.000000e-03:5>
"test.op"() {type = !quant.uniform<i8:f32, 2.0e-3:5>} : () -> ()
// CHECK: !quant.uniform<u8:f32, 1.000000e-01>
"test.op"() {type = !quant.uniform<u8:f32, 0.1:0>} : () -> ()
// The range is printed only where it is not all that the storage type holds.
// CHECK: !quant.uniform<i8:f32, 1.000000e+00>
"test.op"() {type = !quant.uniform<i8<-128:127>:f32, 1.0>} : () -> ()
// CHECK: !quant.uniform<i8<-127:127>:f16, 1.000000e+00:-3>
"test.op"() {type = !quant.uniform<i8<-127:127>:f16, 1.0:-3>} : () -> ()
// CHECK: !quant.uniform<i8<-127:127>:f32:0, {1.000000e-01:5, 2.000000e-03}>
"test.op"() {type = !quant.uniform<i8<-127:127>:f32:0, {0.1:5, 2.0e-3}>} : () -> ()
// CHECK: !quant.uniform<i4:f32:{0:1, 1:32}, {{[{][{]}}1.000000e-01, 2.000000e-01:-1}, {3.000000e-01, 4.000000e-01}}>
"test.op"() {type = !quant.uniform<i4:f32:{0:1, 1:32}, {{0.1, 0.2:-1}, {0.3, 0.4}}>} : () -> ()
// CHECK: tensor<2x?x!quant.uniform<i32:f64:1, {0.10000000149011612}>>
"test.op"() {type = tensor<2x?x!quant.uniform<i32:f64:1, {0.10000000149011612}>>} : () -> ()
// CHECK: !quant.uniform<u1:f32, 1.000000e+00:1>
"test.op"() {type = !quant.uniform<u1:f32, 1.0:1>} : () -> ()
