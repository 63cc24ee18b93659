// RUN: xir-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

// expected-error @+1 {{Expected ','}}
"test.op"() {type = !quant.uniform<i8:f32>} : () -> ()

// -----

// expected-error @+1 {{expected a storage type such as i8 or u8}}
"test.op"() {type = !quant.uniform<f32:f32, 1.0>} : () -> ()

// -----

// expected-error @+1 {{the storage type has at most 32 bits, got 33}}
"test.op"() {type = !quant.uniform<i33:f32, 1.0>} : () -> ()

// -----

// expected-error @+1 {{the storage range 127:-127 is not in -128:127 or not in order}}
"test.op"() {type = !quant.uniform<i8<127:-127>:f32, 1.0>} : () -> ()

// -----

// expected-error @+1 {{the storage range 0:256 is not in 0:255 or not in order}}
"test.op"() {type = !quant.uniform<u8<0:256>:f32, 1.0>} : () -> ()

// -----

// expected-error @+1 {{the expressed type is a float type, got i32}}
"test.op"() {type = !quant.uniform<i8:i32, 1.0>} : () -> ()

// -----

// expected-error @+1 {{a scale is a positive number that f32 can hold}}
"test.op"() {type = !quant.uniform<i8:f32, 0.0>} : () -> ()

// -----

// expected-error @+1 {{a scale is a positive number that f32 can hold}}
"test.op"() {type = !quant.uniform<i8:f32, -1.0>} : () -> ()

// -----

// expected-error @+1 {{a scale is a positive number that f32 can hold}}
"test.op"() {type = !quant.uniform<i8:f32, 1.0e+39>} : () -> ()

// -----

// expected-error @+1 {{a zero point of the storage type is in -128:127}}
"test.op"() {type = !quant.uniform<i8:f32, 1.0:128>} : () -> ()

// -----

// expected-error @+1 {{quantised dimensions are distinct and not negative}}
"test.op"() {type = !quant.uniform<i8:f32:-1, {1.0}>} : () -> ()

// -----

// expected-error @+1 {{quantised dimensions are distinct and not negative}}
"test.op"() {type = !quant.uniform<i8:f32:{1:2, 1:2}, {{1.0}}>} : () -> ()

// -----

// expected-error @+1 {{each quantised dimension has a positive block size}}
"test.op"() {type = !quant.uniform<i8:f32:{0:0}, {1.0}>} : () -> ()

// -----

// expected-error @+1 {{literal expected as a scale}}
"test.op"() {type = !quant.uniform<i8:f32:0, {}>} : () -> ()

// -----

// expected-error @+1 {{nested scales need a block size for each quantised dimension}}
"test.op"() {type = !quant.uniform<i8:f32:0, {{1.0}}>} : () -> ()

// -----

// expected-error @+1 {{the scales are not nested equally}}
"test.op"() {type = !quant.uniform<i8:f32:{0:1}, {1.0, {1.0}}>} : () -> ()

// -----

// expected-error @+1 {{expected 2 scales here, got 1}}
"test.op"() {type = !quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {1.0}}>} : () -> ()
