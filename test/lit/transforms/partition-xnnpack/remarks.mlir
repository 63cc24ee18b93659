// RUN: xir-opt %s --split-input-file --partition-xnnpack --verify-diagnostics

// Each op left out is reported where it stands, with the reason and, where there is one, what would help.

func.func @no_rule(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{partition-xnnpack: edge.cumsum not delegated: no rule lowers it to XNNPACK}}
  %0 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @opaque(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{partition-xnnpack: my::op not delegated: no rule lowers it to XNNPACK}}
  %0 = edge.opaque "my::op(Tensor self) -> Tensor" (%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @element_type(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-remark @+1 {{edge.abs not delegated: XNNPACK does not compute it on f64}}
  %0 = edge.abs(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %0 : tensor<4xf64>
}

// -----

// Of one operand alone as well: the sum is f32, its second operand is not.
func.func @operand_element_type(%x: tensor<4xf32>, %y: tensor<i64>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.add.Tensor not delegated: XNNPACK does not compute it on i64}}
  %0 = edge.add.Tensor(%x, %y) : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// What the rule builds has to verify: XNNPACK takes six dimensions.
func.func @rank(%x: tensor<1x1x1x1x1x1x4xf32>) -> tensor<1x1x1x1x1x1x4xf32> {
  // expected-remark @+1 {{edge.abs not delegated: XNNPACK takes tensors of rank 6 at most, this one has rank 7}}
  %0 = edge.abs(%x) : (tensor<1x1x1x1x1x1x4xf32>) -> tensor<1x1x1x1x1x1x4xf32>
  func.return %0 : tensor<1x1x1x1x1x1x4xf32>
}

// -----

func.func @hint(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32> {
  // expected-remark @+1 {{edge.conv2d not delegated: its weight is not a constant (make it a parameter or buffer of the module)}}
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  func.return %0 : tensor<1x1x2x2xf32>
}

// -----

// The result's type and the one that the rule computes have to agree, or the users of the result would see another.
func.func @result_type(%x: tensor<?x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-remark @+1 {{edge.abs not delegated: its result is tensor<2x4xf32>, XNNPACK's would be tensor<?x4xf32>}}
  %0 = edge.abs(%x) : (tensor<?x4xf32>) -> tensor<2x4xf32>
  %1 = edge.add.Tensor(%0, %y) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}

// -----

// XNNPACK reads a size of 0 as one to be inferred, or not at all.
func.func @empty_result(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  // expected-remark @+1 {{edge.abs not delegated: its result has no elements}}
  %0 = edge.abs(%x) : (tensor<0x4xf32>) -> tensor<0x4xf32>
  func.return %0 : tensor<0x4xf32>
}

// -----

func.func @empty_inside(%x: tensor<2x4xf32>) -> tensor<1x4xf32> {
  // expected-remark @+1 {{edge.constant_pad_nd not delegated: its padding surrounds what it cuts off completely}}
  %0 = edge.constant_pad_nd(%x) {pad = array<i64: 0, 0, 1, -2>} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  func.return %0 : tensor<1x4xf32>
}

// -----

func.func @empty_operand(%x: tensor<2x0xf32>, %y: tensor<0x3xf32>) -> tensor<2x3xf32> {
  // expected-remark @+1 {{edge.mm not delegated: an operand has no elements}}
  %0 = edge.mm(%x, %y) : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// A mean of nothing would divide by nothing.
func.func @mean_of_nothing(%x: tensor<0x4xf32>) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.mean.dim not delegated: an operand has no elements}}
  %0 = edge.mean.dim(%x) {dim = array<i64: 0>} : (tensor<0x4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A size that the program computes is an operand, not a number to write into a node.
func.func @symbol(%x: tensor<4x4xf32>, %i: i64) -> tensor<4xf32> {
  // expected-remark @+1 {{edge.select.int not delegated: a size among its arguments is known only at run time}}
  %0 = edge.select.int(%x)[%i] {dim = 0 : i64, index = -9223372036854775808 : i64} : (tensor<4x4xf32>, i64) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A group that is left out has its reason on each op.
func.func @small(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-remark @+1 {{XNNPACK does not compute it on f64}}
  %0 = edge.abs(%x) : (tensor<4xf64>) -> tensor<4xf64>
  // expected-remark @+1 {{XNNPACK does not compute it on f64}}
  %1 = edge.exp(%0) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %1 : tensor<4xf64>
}

// -----

// A mixture of experts, whose tokens have been sorted by the router's choice.
func.func @experts(%x: tensor<6x4xf32>, %experts: tensor<2x4x3xf32>, %ends: tensor<2xi32>) -> tensor<6x3xf32> {
  // expected-remark @+1 {{transformers::grouped_mm_fallback not delegated: only the run time knows which rows it multiplies with which matrix (let all experts compute every token, and weigh their results: for models of transformers model.set_experts_implementation(xir.llm.huggingface.experts.DENSE) before torch.export)}}
  %0 = edge.opaque "transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor" (%x, %experts, %ends) : (tensor<6x4xf32>, tensor<2x4x3xf32>, tensor<2xi32>) -> tensor<6x3xf32>
  func.return %0 : tensor<6x3xf32>
}

// -----

func.func @no_number_of_the_type(%x: tensor<2xf32>) -> tensor<2xui8> {
  %c = edge.constant dense<[-1.0, 2.0]> : tensor<2xf32>
  // expected-remark @+1 {{edge._to_copy not delegated: it converts a constant of which -1.0 is no ui8}}
  %0 = edge._to_copy(%c) {dtype = ui8} : (tensor<2xf32>) -> tensor<2xui8>
  func.return %0 : tensor<2xui8>
}
