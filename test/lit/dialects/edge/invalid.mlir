// RUN: xir-opt %s --split-input-file --verify-diagnostics

func.func @unknown_argument(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{aten::mean.dim has no argument 'dims' (it has: dim, keepdim, dtype)}}
  %0 = edge.mean.dim(%x) {dims = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @too_few_tensors(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{aten::add.Tensor takes 2 tensor arguments (Tensor self, Tensor other), got 1}}
  %0 = edge.add.Tensor(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @list_where_a_tensor_goes(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{argument 'self' is a single value}}
  %0 = edge.relu([%x]) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @tensor_where_a_list_goes(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{argument 'tensors' is a list in brackets}}
  %0 = edge.cat(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @none_for_a_required_tensor(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{argument 'other' cannot be none}}
  %0 = edge.add.Tensor(%x, none) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @missing_argument(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'edge.permute' op needs argument 'dims' (int[])}}
  %0 = edge.permute(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @mistyped_argument(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'edge.mean.dim' op argument 'keepdim': expected true or false}}
  %0 = edge.mean.dim(%x) {dim = array<i64: 1>, keepdim = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @list_of_wrong_length(%x: tensor<1x3x8x8xf32>) {
  // expected-error @+1 {{'edge.avg_pool2d' op argument 'kernel_size': expected 2 values, got 3}}
  %0 = edge.avg_pool2d(%x) {kernel_size = array<i64: 2, 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  func.return
}

// -----

func.func @operand_is_no_tensor(%x: i64) {
  // expected-error @+1 {{'edge.relu' op operand #0 has type i64, expected a tensor}}
  %0 = edge.relu(%x) : (i64) -> tensor<2xf32>
  func.return
}

// -----

func.func @result_is_no_tensor(%x: tensor<2xf32>) {
  // expected-error @+1 {{'edge.relu' op result #0 has type i64, expected a Tensor}}
  %0 = edge.relu(%x) : (tensor<2xf32>) -> i64
  func.return
}

// -----

func.func @result_shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'edge.relu' op result #0 has type tensor<3x2xf32>, expected tensor<2x3xf32>}}
  %0 = edge.relu(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @result_element_type(%x: tensor<2xf32>, %y: tensor<2xi64>) {
  // expected-error @+1 {{'edge.add.Tensor' op result #0 has type tensor<2xi64>, expected tensor<2xf32>}}
  %0 = edge.add.Tensor(%x, %y) : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xi64>
  func.return
}

// -----

func.func @result_count(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'edge.split.Tensor' op cuts 2 elements into 2 pieces, it has 1 results}}
  %0 = edge.split.Tensor(%x) {split_size = 1 : i64} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error @+1 {{'edge.mul.Tensor' op shapes 2x3 and 2 do not broadcast}}
  %0 = edge.mul.Tensor(%x, %y) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @dim_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'edge._softmax' op dim 2 is out of range for a tensor of rank 2}}
  %0 = edge._softmax(%x) {dim = 2 : i64, half_to_float = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @conv_channels(%x: tensor<1x3x8x8xf32>, %w: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{'edge.conv2d' op input has 3 channels, weight 4x2x3x3 with 1 groups expects 2}}
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x3x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

func.func @conv_bias(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'edge.conv2d' op bias has shape 3, expected 4}}
  %0 = edge.conv2d(%x, %w, %b)
       : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

func.func @conv_kernel(%x: tensor<1x3x2x2xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{'edge.conv2d' op kernel 3x3 is larger than the padded input}}
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x3x2x2xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x1x1xf32>
  func.return
}

// -----

func.func @conv_stride(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{'edge.conv2d' op groups, stride and dilation are at least 1}}
  %0 = edge.conv2d(%x, %w, none) {stride = array<i64: 0, 1>}
       : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

func.func @matrices(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error @+1 {{'edge.mm' op cannot multiply 2x3 by 2x3}}
  %0 = edge.mm(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @linear(%x: tensor<2x3xf32>, %w: tensor<4x5xf32>) {
  // expected-error @+1 {{'edge.linear' op input 2x3 does not fit weight 4x5}}
  %0 = edge.linear(%x, %w, none) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @statistics(%x: tensor<1x4x2x2xf32>, %p: tensor<4xf32>, %m: tensor<3xf32>) {
  // expected-error @+1 {{'edge.batch_norm' op running_mean has shape 3, expected 4}}
  %0 = edge.batch_norm(%x, %p, %p, %m, %p) {training = false, momentum = 0.1 : f64, eps = 0.1 : f64, cudnn_enabled = false}
       : (tensor<1x4x2x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<1x4x2x2xf32>
  func.return
}

// -----

func.func @training(%x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.dropout' op is for inference: train = false}}
  %0 = edge.dropout(%x) {p = 0.5 : f64, train = true} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @normalized_shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'edge.layer_norm' op normalized_shape 4 are not the last dimensions of 2x3}}
  %0 = edge.layer_norm(%x, none, none) {normalized_shape = array<i64: 4>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @window(%x: tensor<1x3x2x2xf32>) {
  // expected-error @+1 {{'edge.max_pool2d' op window 3x3 is larger than the padded input}}
  %0 = edge.max_pool2d(%x) {kernel_size = array<i64: 3, 3>} : (tensor<1x3x2x2xf32>) -> tensor<1x3x1x1xf32>
  func.return
}

// -----

func.func @padding(%x: tensor<1x3x8x8xf32>) {
  // expected-error @+1 {{'edge.max_pool2d' op padding is at most half the kernel_size}}
  %0 = edge.max_pool2d(%x) {kernel_size = array<i64: 2, 2>, padding = array<i64: 2, 2>}
       : (tensor<1x3x8x8xf32>) -> tensor<1x3x6x6xf32>
  func.return
}

// -----

func.func @view(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'edge.view' op cannot view 2x3 as 4}}
  %0 = edge.view(%x) {size = array<i64: 4>} : (tensor<2x3xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @permutation(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'edge.permute' op dims [0, 0] name a dimension twice}}
  %0 = edge.permute(%x) {dims = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @cat(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{'edge.cat' op 2x3 and 2x4 differ outside dimension 0}}
  %0 = edge.cat([%x, %y]) : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @slice(%x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.slice.Tensor' op step is at least 1}}
  %0 = edge.slice.Tensor(%x) {step = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @select(%x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.select.int' op index 4 is out of range for dimension 0 of 4}}
  %0 = edge.select.int(%x) {dim = 0 : i64, index = 4 : i64} : (tensor<4xf32>) -> tensor<f32>
  func.return
}

// -----

func.func @condition(%c: tensor<4xi64>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.where.self' op condition has element type i64, expected i1}}
  %0 = edge.where.self(%c, %x, %x) : (tensor<4xi64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @scales(%x: tensor<2x3xf32>, %s: tensor<2xf32>, %z: tensor<2xi64>) {
  // expected-error @+1 {{'edge.quantized_decomposed.quantize_per_channel' op scales have shape 2, expected 3}}
  %0 = edge.quantized_decomposed.quantize_per_channel(%x, %s, %z) {axis = 1 : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8}
       : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @size_is_no_number(%x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.view' op operand #1 has type tensor<4xf32>, expected i64, a size}}
  %0 = edge.view(%x)[%x] {size = array<i64: -9223372036854775808>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<?xf32>
  func.return
}

// -----

func.func @number_is_a_tensor(%x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.add.Scalar' op operand #1 has type tensor<4xf32>, expected i64, f64 or i1, a number}}
  %0 = edge.add.Scalar(%x)[%x] {other} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @size_without_a_place(%x: tensor<4xf32>, %n: i64) {
  // expected-error @+1 {{'edge.view' op has 2 operands, which do not fit (Tensor self)}}
  %0 = edge.view(%x)[%n] {size = array<i64: 4>} : (tensor<4xf32>, i64) -> tensor<4xf32>
  func.return
}

// -----

func.func @segments(%x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.clamp.Tensor' op expected property operandSegmentSizes: operand counts of self, min, max}}
  %0 = "edge.clamp.Tensor"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @present(%x: tensor<4xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{'edge.index.Tensor' op indices_present does not fit its operands}}
  %0 = "edge.index.Tensor"(%x, %i) <{indices_present = array<i1: true, true>}> : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return
}

// -----

func.func @unknown_property(%x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.relu' op has no argument 'slope'}}
  %0 = "edge.relu"(%x) <{slope = 1.0 : f64}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @constant_type() {
  // expected-error @+1 {{'edge.constant' op result has type tensor<3xf32>, its value tensor<2xf32>}}
  %0 = "edge.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  func.return
}

// -----

func.func @constant_value() {
  // expected-error @+1 {{expected dense<...> or dense_resource<...> of a tensor type}}
  %0 = edge.constant 1 : i64
  func.return
}

// -----

func.func @opaque_schema(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected '->' at column 26 of schema 'aten::erfinv(Tensor self)'}}
  %0 = edge.opaque "aten::erfinv(Tensor self)" (%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @opaque_mutation(%x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.opaque' op cannot call aten::erfinv_, which mutates an argument}}
  %0 = edge.opaque "aten::erfinv_(Tensor(a!) self) -> Tensor(a!)" (%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @opaque_without_schema(%x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.opaque' op needs property 'aten_schema', a string}}
  %0 = "edge.opaque"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @triangle_of_a_vector(%x: tensor<5xf32>) -> tensor<5xf32> {
  // expected-error @+1 {{takes matrices, not a tensor of shape 5}}
  %0 = edge.triu(%x) : (tensor<5xf32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}

// -----

func.func @size_of_no_dimension(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  // expected-error @+1 {{dim 2 is out of range for a tensor of rank 2}}
  %0 = edge.sym_size.int(%x) {dim = 2 : i64} : (tensor<?x3xf32>) -> i64
  func.return %x : tensor<?x3xf32>
}

// -----

func.func @buffer_without_name() {
  // expected-error @+1 {{the buffer has no name}}
  %k = edge.mutable_buffer "" dense<0.0> : tensor<2xf32>
  func.return
}

// -----

func.func @buffer_of_another_type() {
  // expected-error @+1 {{result has type tensor<3xf32>, its initial value tensor<2xf32>}}
  %k = "edge.mutable_buffer"() <{buffer = "k", initial = dense<0.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  func.return
}

// -----

func.func @update_of_no_buffer(%x: tensor<2xf32>) {
  // expected-error @+1 {{the first operand is no edge.mutable_buffer}}
  edge.update_buffer %x, %x : tensor<2xf32>
  func.return
}

// -----

func.func @update_to_another_type(%x: tensor<3xf32>) {
  %k = edge.mutable_buffer "k" dense<0.0> : tensor<2xf32>
  // expected-error @+1 {{tensor<3xf32>}}
  "edge.update_buffer"(%k, %x) : (tensor<2xf32>, tensor<3xf32>) -> ()
  func.return
}

// -----

func.func @two_updates(%x: tensor<2xf32>) {
  %k = edge.mutable_buffer "k" dense<0.0> : tensor<2xf32>
  %same = edge.mutable_buffer "k" dense<0.0> : tensor<2xf32>
  // expected-error @+1 {{the function updates the buffer "k" twice}}
  edge.update_buffer %k, %x : tensor<2xf32>
  edge.update_buffer %same, %x : tensor<2xf32>
  func.return
}

// -----

func.func @two_scales_for_one_block(%x: tensor<2x4xi8>, %scale: tensor<2xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{scale has 2 elements, expected 1, one for each block}}
  %0 = edge.torchao.dequantize_affine(%x, %scale, none) {block_size = array<i64: 2, 4>, input_dtype = i8, output_dtype = f32}
    : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----

func.func @zero_points_of_other_blocks(%x: tensor<2x4xf32>, %scale: tensor<2x2xf32>, %zero: tensor<2x4xi32>)
    -> tensor<2x4xi8> {
  // expected-error @+1 {{zero_point has 8 elements, expected 4, one for each block}}
  %0 = edge.torchao.quantize_affine(%x, %scale, %zero) {block_size = array<i64: 1, 2>, output_dtype = i8}
    : (tensor<2x4xf32>, tensor<2x2xf32>, tensor<2x4xi32>) -> tensor<2x4xi8>
  func.return %0 : tensor<2x4xi8>
}

// -----

func.func @shifts_without_dimensions(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{'edge.roll' op 1 shifts for 2 dimensions}}
  %0 = edge.roll(%x) {shifts = array<i64: 1>, dims = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

func.func @scattered_outside(%x: tensor<2x3xf32>, %y: tensor<2xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{'edge.select_scatter' op dim 2 is out of range for a tensor of rank 2}}
  %0 = edge.select_scatter(%x, %y) {dim = 2 : i64, index = 1 : i64} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

func.func @indices_in_floating_point(%x: tensor<4xf32>, %i: tensor<2xf16>) -> tensor<2xf32> {
  // expected-error @+1 {{'edge.index.Tensor' op indices have elements of type f16, expected integers or booleans}}
  %0 = edge.index.Tensor(%x, [%i]) : (tensor<4xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @condition_of_two(%p: tensor<2xi1>, %x: tensor<2xf32>) {
  // expected-error @+1 {{the condition is a tensor<2xi1>, expected i1 or a tensor of one i1}}
  %0 = edge.cond %p then @yes else @yes(%x) : tensor<2xi1>, (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

func.func private @yes(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

func.func @no_such_branch(%p: i1, %x: tensor<2xf32>) {
  // expected-error @+1 {{there is no function @no}}
  %0 = edge.cond %p then @yes else @no(%x) : i1, (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

func.func private @yes(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

func.func @branch_of_another_type(%p: i1, %x: tensor<3xf32>) {
  // expected-error @+1 {{@yes takes (tensor<2xf32>), expected (tensor<3xf32>)}}
  %0 = edge.cond %p then @yes else @yes(%x) : i1, (tensor<3xf32>) -> tensor<2xf32>
  func.return
}

func.func private @yes(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

func.func @branch_of_another_result(%p: i1, %x: tensor<2xf32>) {
  // expected-error @+1 {{@yes gives (tensor<2xf32>), expected (tensor<3xf32>)}}
  %0 = edge.cond %p then @yes else @yes(%x) : i1, (tensor<2xf32>) -> tensor<3xf32>
  func.return
}

func.func private @yes(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

func.func @branch_without_body(%p: i1, %x: tensor<2xf32>) {
  // expected-error @+1 {{@yes needs a body of one block}}
  %0 = edge.cond %p then @yes else @yes(%x) : i1, (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

func.func private @yes(tensor<2xf32>) -> tensor<2xf32>

// -----

func.func @loop_without_an_answer(%x: tensor<2xf32>) {
  // expected-error @+1 {{@yes gives tensor<2xf32>, expected one truth value}}
  %0 = edge.while_loop while @yes do @yes(%x) with() : (tensor<2xf32>), () -> tensor<2xf32>
  func.return
}

func.func private @yes(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

func.func @loop_that_carries_a_number(%n: i64) {
  // expected-error @+1 {{a loop carries tensors: make a number a tensor without dimensions}}
  %0 = edge.while_loop while @yes do @same(%n) with() : (i64), () -> i64
  func.return
}

func.func private @yes(%n: i64) -> i1 {
  %0 = edge.executorch_prim.lt.Scalar()[%n] {a = -9223372036854775808 : i64, b = 5 : i64} : (i64) -> i1
  func.return %0 : i1
}

func.func private @same(%n: i64) -> i64 {
  func.return %n : i64
}

// -----

func.func @loop_of_other_results(%x: tensor<2xf32>) {
  // expected-error @+1 {{the results have the types of what the loop carries}}
  %0 = edge.while_loop while @any do @yes(%x) with() : (tensor<2xf32>), () -> tensor<3xf32>
  func.return
}

func.func private @any(%x: tensor<2xf32>) -> tensor<i1> {
  %0 = edge.any(%x) : (tensor<2xf32>) -> tensor<i1>
  func.return %0 : tensor<i1>
}

func.func private @yes(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

func.func @forward(%p: i1, %x: tensor<2xf32>) {
  %0 = edge.cond %p then @outer else @outer(%p, %x) : i1, (i1, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

func.func private @outer(%p: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{@inner calls itself}}
  %0 = edge.cond %p then @inner else @inner(%p, %x) : i1, (i1, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func private @inner(%p: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = edge.cond %p then @outer else @outer(%p, %x) : i1, (i1, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @sum_of_fewer_products(%c: tensor<2x3x3xf32>, %a: tensor<1x3x4xf32>, %b: tensor<1x4x3xf32>) {
  // expected-error @+1 {{self 2x3x3 does not expand to 1x3x3}}
  %0 = edge.baddbmm(%c, %a, %b) : (tensor<2x3x3xf32>, tensor<1x3x4xf32>, tensor<1x4x3xf32>) -> tensor<2x3x3xf32>
  func.return
}

// -----

func.func @integers_without_scales(%q: tensor<1x4x1x3xf32>, %k: tensor<1x2x8x3xi8>, %mask: tensor<1x5xf32>) {
  // expected-error @+1 {{key is of i8 and has no scales: i8 has scales, floats have none}}
  %0 = edge.xir.attend_prefix(%q, %k, %k, %mask, none, none) : (tensor<1x4x1x3xf32>, tensor<1x2x8x3xi8>, tensor<1x2x8x3xi8>, tensor<1x5xf32>) -> tensor<1x4x1x3xf32>
  func.return
}

// -----

func.func @floats_with_scales(%q: tensor<1x4x1x3xf32>, %k: tensor<1x2x8x3xf32>, %s: tensor<1x2x8x1xf32>, %mask: tensor<1x5xf32>) {
  // expected-error @+1 {{value is of f32 and has scales: i8 has scales, floats have none}}
  %0 = edge.xir.attend_prefix(%q, %k, %k, %mask, none, %s) : (tensor<1x4x1x3xf32>, tensor<1x2x8x3xf32>, tensor<1x2x8x3xf32>, tensor<1x5xf32>, tensor<1x2x8x1xf32>) -> tensor<1x4x1x3xf32>
  func.return
}

// -----

func.func @scales_of_another_cache(%q: tensor<1x4x1x3xf32>, %k: tensor<1x2x8x3xi8>, %s: tensor<1x2x8x1xf32>, %t: tensor<1x2x7x1xf32>, %mask: tensor<1x5xf32>) {
  // expected-error @+1 {{value_scales is tensor<1x2x7x1xf32>, expected f32 of shape 1x2x8x1}}
  %0 = edge.xir.attend_prefix(%q, %k, %k, %mask, %s, %t) : (tensor<1x4x1x3xf32>, tensor<1x2x8x3xi8>, tensor<1x2x8x3xi8>, tensor<1x5xf32>, tensor<1x2x8x1xf32>, tensor<1x2x7x1xf32>) -> tensor<1x4x1x3xf32>
  func.return
}

// -----

func.func @scales_of_another_type(%q: tensor<1x4x1x3xf32>, %k: tensor<1x2x8x3xi8>, %s: tensor<1x2x8x1xf16>, %mask: tensor<1x5xf32>) {
  // expected-error @+1 {{key_scales is tensor<1x2x8x1xf16>, expected f32 of shape 1x2x8x1}}
  %0 = edge.xir.attend_prefix(%q, %k, %k, %mask, %s, %s) : (tensor<1x4x1x3xf32>, tensor<1x2x8x3xi8>, tensor<1x2x8x3xi8>, tensor<1x5xf32>, tensor<1x2x8x1xf16>, tensor<1x2x8x1xf16>) -> tensor<1x4x1x3xf32>
  func.return
}
