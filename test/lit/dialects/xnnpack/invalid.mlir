// RUN: xir-opt %s --split-input-file --verify-diagnostics

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{Expected `abs`, `approxgelu`,}}
  xnnpack.unary cbrt %a : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{result has shape 5, expected 4}}
  %0 = xnnpack.unary abs %a : tensor<4xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x1x1x1x1x1x4xf32>) {
  // expected-error @+1 {{XNNPACK takes tensors of rank 6 at most, this one has rank 7}}
  %0 = xnnpack.unary abs %a : tensor<1x1x1x1x1x1x4xf32> -> tensor<1x1x1x1x1x1x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{XNNPACK does not compute it on f32, f16 together}}
  %0 = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf16>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{output_min 1.0 must be less than output_max 1.0}}
  %0 = xnnpack.clamp %a {output_min = 1.0 : f32, output_max = 1.0 : f32} : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{output_min nan must be less than output_max inf}}
  %0 = xnnpack.clamp %a {output_min = 0x7FC00000 : f32} : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{alpha must be finite and positive, it is 0.0}}
  %0 = xnnpack.elu %a {alpha = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{alpha must be finite and positive, it is inf}}
  %0 = xnnpack.elu %a {alpha = 0x7F800000 : f32} : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{property 'alpha' expected}}
  %0 = xnnpack.elu %a : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{a copy does not change the element type}}
  %0 = xnnpack.copy %a : tensor<4x!quant.uniform<i8:f32, 0.1>> -> tensor<4xi32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{result has shape 2x2, expected 4}}
  %0 = xnnpack.convert %a : tensor<4xf32> -> tensor<2x2xf16>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{shapes 2x3 and 4 do not broadcast}}
  %0 = xnnpack.binary add %a, %b : tensor<2x3xf32>, tensor<4xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{result has shape 3, expected 2x3}}
  %0 = xnnpack.binary add %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>, %b: tensor<4xf16>) {
  // expected-error @+1 {{XNNPACK does not compute it on f32, f16, f32 together}}
  %0 = xnnpack.binary add %a, %b : tensor<4xf32>, tensor<4xf16> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{'maximum' does not clamp its output}}
  %0 = xnnpack.binary maximum %a, %a {output_min = 0.0 : f32} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{Expected `add`, `atan2`,}}
  xnnpack.binary power %a, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @+1 {{'xnnpack.clamp' op has no property 'output_mim'}}
  %0 = xnnpack.clamp %a {output_mim = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{input must have rank 4, it has rank 3}}
  %0 = xnnpack.conv2d %a, %w : (tensor<8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+1 {{filter must have rank 4, it has rank 3}}
  %0 = xnnpack.conv2d %a, %w : (tensor<1x8x8x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{padding must have 4 elements, it has 2}}
  %0 = xnnpack.conv2d %a, %w {padding = array<i32: 1, 1>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{padding must be at least 0, it is [0, 0, -1, 0]}}
  %0 = xnnpack.conv2d %a, %w {padding = array<i32: 0, 0, -1, 0>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{stride must have 2 elements, it has 1}}
  %0 = xnnpack.conv2d %a, %w {stride = array<i32: 1>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{stride must be at least 1, it is [0, 1]}}
  %0 = xnnpack.conv2d %a, %w {stride = array<i32: 0, 1>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{dilation must have 2 elements, it has 3}}
  %0 = xnnpack.conv2d %a, %w {dilation = array<i32: 1, 1, 1>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{dilation must be at least 1, it is [1, 0]}}
  %0 = xnnpack.conv2d %a, %w {dilation = array<i32: 1, 0>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{groups must be at least 1}}
  %0 = xnnpack.conv2d %a, %w {groups = 0 : i32} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<?x3x3x3xf32>) {
  // expected-error @+1 {{filter must have a static, non-empty shape, it is ?x3x3x3}}
  %0 = xnnpack.conv2d %a, %w : (tensor<1x8x8x3xf32>, tensor<?x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x0xf32>) {
  // expected-error @+1 {{filter must have a static, non-empty shape, it is 4x3x3x0}}
  %0 = xnnpack.conv2d %a, %w : (tensor<1x8x8x3xf32>, tensor<4x3x3x0xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{4 output channels do not divide into 3 groups}}
  %0 = xnnpack.conv2d %a, %w {groups = 3 : i32} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{input has 3 channels, filter and groups ask for 6}}
  %0 = xnnpack.conv2d %a, %w {groups = 2 : i32} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{bias has shape 3, expected 4}}
  %0 = xnnpack.conv2d %a, %w, %b : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf16>, %w: tensor<4x3x3x3xf16>) {
  // expected-error @+1 {{XNNPACK does not compute it on f16, f16, f32 together}}
  %0 = xnnpack.conv2d %a, %w : (tensor<1x8x8x3xf16>, tensor<4x3x3x3xf16>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{result has shape 1x8x8x4, expected 1x6x6x4}}
  %0 = xnnpack.conv2d %a, %w : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x8x8x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{a window of 9 does not fit into 8 with padding 0 and 0}}
  %0 = xnnpack.conv2d %a, %w {dilation = array<i32: 4, 1>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<3x3x3x1xf32>) {
  // expected-error @+1 {{filter must be [1, kH, kW, O], its first dimension is 3}}
  %0 = xnnpack.depthwise_conv2d %a, %w {groups = 3 : i32} : (tensor<1x8x8x3xf32>, tensor<3x3x3x1xf32>) -> tensor<1x6x6x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<1x3x3x3xf32>) {
  // expected-error @+1 {{groups must be the 3 input channels, it is 1}}
  %0 = xnnpack.depthwise_conv2d %a, %w : (tensor<1x8x8x3xf32>, tensor<1x3x3x3xf32>) -> tensor<1x6x6x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<1x3x3x4xf32>) {
  // expected-error @+1 {{4 output channels do not divide into 3 groups}}
  %0 = xnnpack.depthwise_conv2d %a, %w {groups = 3 : i32} : (tensor<1x8x8x3xf32>, tensor<1x3x3x4xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{adjustment must have 2 elements, it has 1}}
  %0 = xnnpack.deconv2d %a, %w {adjustment = array<i32: 0>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x10x10x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{adjustment must be at least 0, it is [-1, 0]}}
  %0 = xnnpack.deconv2d %a, %w {adjustment = array<i32: -1, 0>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x10x10x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{adjustment [1, 0] must be below the stride [1, 1]}}
  %0 = xnnpack.deconv2d %a, %w {adjustment = array<i32: 1, 0>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x10x10x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{result has shape 1x17x17x4, expected 1x18x17x4}}
  %0 = xnnpack.deconv2d %a, %w {stride = array<i32: 2, 2>, adjustment = array<i32: 1, 0>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x17x17x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x4xf32>, %w: tensor<8x4x1xf32>) {
  // expected-error @+1 {{filter must have rank 2, it has rank 3}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<2x4xf32>, tensor<8x4x1xf32>) -> tensor<2x8xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<f32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{input must have at least one dimension}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<f32>, tensor<8x4xf32>) -> tensor<8xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{input has 4 features, the filter takes 8}}
  %0 = xnnpack.fully_connected %a, %w {transpose_weights} : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x4xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{bias has shape 4, expected 8}}
  %0 = xnnpack.fully_connected %a, %w, %b : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<2x8xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{result has shape 2x4, expected 2x8}}
  %0 = xnnpack.fully_connected %a, %w : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<4xf32>, %b: tensor<4x2xf32>) {
  // expected-error @+1 {{both operands must have at least two dimensions}}
  %0 = xnnpack.batch_matrix_multiply %a, %b : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<3x4xf32>, %b: tensor<2x4xf32>) {
  // expected-error @+1 {{lhs has 4 columns, rhs takes 2}}
  %0 = xnnpack.batch_matrix_multiply %a, %b : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3x4xf32>, %b: tensor<3x4x5xf32>) {
  // expected-error @+1 {{shapes 2 and 3 do not broadcast}}
  %0 = xnnpack.batch_matrix_multiply %a, %b : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<3x4xf32>, %b: tensor<4x2xf32>) {
  // expected-error @+1 {{result has shape 3x4, expected 3x2}}
  %0 = xnnpack.batch_matrix_multiply %a, %b : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<f32>) {
  // expected-error @+1 {{softmax needs at least one dimension}}
  %0 = xnnpack.softmax %a : tensor<f32> -> tensor<f32>
  func.return
}

// -----

func.func @invalid(%a: tensor<8x8x3xf32>) {
  // expected-error @+1 {{input must have rank 4, it has rank 3}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2, 2>} : tensor<8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{kernel must have 2 elements, it has 1}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{kernel must be at least 1, it is [2, 0]}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2, 0>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{padding must have 4 elements, it has 1}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2, 2>, padding = array<i32: 1>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{padding must be at least 0, it is [-1, 0, 0, 0]}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2, 2>, padding = array<i32: -1, 0, 0, 0>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{a window of 1x1 pools nothing; XNNPACK refuses it}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 1, 1>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{stride must have 2 elements, it has 1}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2, 2>, stride = array<i32: 2>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{stride must be at least 1, it is [2, 0]}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2, 2>, stride = array<i32: 2, 0>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{dilation must be at least 1, it is [0, 1]}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2, 2>, dilation = array<i32: 0, 1>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{result has shape 1x4x4x3, expected 1x7x7x3}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2, 2>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{a window of 9 does not fit into 8 with padding 0 and 0}}
  %0 = xnnpack.max_pooling2d %a {kernel = array<i32: 2, 2>, dilation = array<i32: 8, 1>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{stride must have 2 elements, it has 1}}
  %0 = xnnpack.average_pooling2d %a {kernel = array<i32: 2, 2>, stride = array<i32: 2>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{stride must be at least 1, it is [0, 2]}}
  %0 = xnnpack.average_pooling2d %a {kernel = array<i32: 2, 2>, stride = array<i32: 0, 2>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{result has shape 1x4x4x3, expected 1x7x7x3}}
  %0 = xnnpack.average_pooling2d %a {kernel = array<i32: 2, 2>} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{XNNPACK does not compute it on i64}}
  %0, %1 = xnnpack.argmax_pooling2d %a {kernel = array<i32: 2, 2>} : (tensor<1x8x8x3xf32>) -> (tensor<1x4x4x3xf32>, tensor<1x4x4x3xi64>)
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{indices has shape 1x4x4x1, expected 1x4x4x3}}
  %0, %1 = xnnpack.argmax_pooling2d %a {kernel = array<i32: 2, 2>} : (tensor<1x8x8x3xf32>) -> (tensor<1x4x4x3xf32>, tensor<1x4x4x1xi32>)
  func.return
}

// -----

func.func @invalid(%a: tensor<8x3xf32>) {
  // expected-error @+1 {{input must have at least three dimensions}}
  %0 = xnnpack.global_average_pooling2d %a : tensor<8x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{result has shape 1x3, expected 1x1x1x3}}
  %0 = xnnpack.global_average_pooling2d %a {keep_dims} : tensor<1x8x8x3xf32> -> tensor<1x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{input must be quantised by tensor in 8 bits, it is f32}}
  %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2x!quant.uniform<i8:f32, 0.1>>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{perm [0, 0] is not a permutation of the 2 dimensions}}
  %0 = xnnpack.static_transpose %a {perm = array<i32: 0, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{perm [0] is not a permutation of the 2 dimensions}}
  %0 = xnnpack.static_transpose %a {perm = array<i32: 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result has shape 2x3, expected 3x2}}
  %0 = xnnpack.static_transpose %a {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{new_shape must be at least 0, it is [-1]}}
  %0 = xnnpack.static_reshape %a {new_shape = array<i32: -1>} : tensor<2x3xf32> -> tensor<6xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{new_shape can leave one dimension to be inferred, not more}}
  %0 = xnnpack.static_reshape %a {new_shape = array<i32: 0, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{2x3 has 6 elements, new_shape is [7]}}
  %0 = xnnpack.static_reshape %a {new_shape = array<i32: 7>} : tensor<2x3xf32> -> tensor<7xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{2x3 has 6 elements, new_shape is [4, 0]}}
  %0 = xnnpack.static_reshape %a {new_shape = array<i32: 4, 0>} : tensor<2x3xf32> -> tensor<4x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result has shape 3x2, expected 2x3}}
  %0 = xnnpack.static_reshape %a {new_shape = array<i32: 2, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{offsets must have 2 elements, it has 1}}
  %0 = xnnpack.static_slice %a {offsets = array<i32: 0>, sizes = array<i32: 1, 1>} : tensor<2x3xf32> -> tensor<1x1xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{sizes must have 2 elements, it has 1}}
  %0 = xnnpack.static_slice %a {offsets = array<i32: 0, 0>, sizes = array<i32: 1>} : tensor<2x3xf32> -> tensor<1x1xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{offsets must be at least 0, it is [0, -1]}}
  %0 = xnnpack.static_slice %a {offsets = array<i32: 0, -1>, sizes = array<i32: 1, 1>} : tensor<2x3xf32> -> tensor<1x1xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{sizes must be at least 0, it is [2, -1]}}
  %0 = xnnpack.static_slice %a {offsets = array<i32: 0, 0>, sizes = array<i32: 2, -1>} : tensor<2x3xf32> -> tensor<2x1xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<?x3xf32>) {
  // expected-error @+1 {{sizes can be 0, the whole rest, in dynamic dimensions only, not in dimension 1}}
  %0 = xnnpack.static_slice %a {offsets = array<i32: 0, 0>, sizes = array<i32: 0, 0>} : tensor<?x3xf32> -> tensor<?x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<?x3xf32>) {
  // expected-error @+1 {{result has shape ?x3, expected ?x2}}
  %0 = xnnpack.static_slice %a {offsets = array<i32: 1, 1>, sizes = array<i32: 0, 2>} : tensor<?x3xf32> -> tensor<?x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{elements 2 to 3 leave dimension 1 of size 3}}
  %0 = xnnpack.static_slice %a {offsets = array<i32: 0, 2>, sizes = array<i32: 2, 2>} : tensor<2x3xf32> -> tensor<2x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result has shape 2x3, expected 2x2}}
  %0 = xnnpack.static_slice %a {offsets = array<i32: 0, 1>, sizes = array<i32: 2, 2>} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{pre_paddings must have 2 elements, it has 1}}
  %0 = xnnpack.static_constant_pad %a {pre_paddings = array<i32: 1>, post_paddings = array<i32: 0, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{post_paddings must have 2 elements, it has 3}}
  %0 = xnnpack.static_constant_pad %a {pre_paddings = array<i32: 0, 0>, post_paddings = array<i32: 0, 0, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{pre_paddings must be at least 0, it is [0, -1]}}
  %0 = xnnpack.static_constant_pad %a {pre_paddings = array<i32: 0, -1>, post_paddings = array<i32: 0, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result has shape 3x2, expected 3x5}}
  %0 = xnnpack.static_constant_pad %a {pre_paddings = array<i32: 1, 0>, post_paddings = array<i32: 0, 2>} : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{input must have rank 4, it has rank 2}}
  %0 = xnnpack.static_resize_bilinear2d %a {new_height = 4 : i32, new_width = 4 : i32} : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x2x2x3xf32>) {
  // expected-error @+1 {{the new size must be at least 1x1, it is 0x4}}
  %0 = xnnpack.static_resize_bilinear2d %a {new_height = 0 : i32, new_width = 4 : i32} : tensor<1x2x2x3xf32> -> tensor<1x0x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<1x2x2x3xf32>) {
  // expected-error @+1 {{result has shape 1x4x4x3, expected 1x2x4x3}}
  %0 = xnnpack.static_resize_bilinear2d %a {new_height = 2 : i32, new_width = 4 : i32} : tensor<1x2x2x3xf32> -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{a node joins two to five tensors, not 1}}
  %0 = xnnpack.concatenate %a {axis = 0 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{a node joins two to five tensors, not 6}}
  %0 = xnnpack.concatenate %a, %a, %a, %a, %a, %a {axis = 0 : i32} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<12x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{axis -1 is not one of the 2 dimensions}}
  %0 = xnnpack.concatenate %a, %a {axis = -1 : i32} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{all inputs must have one rank}}
  %0 = xnnpack.concatenate %a, %b {axis = 0 : i32} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>, %b: tensor<2x3x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{input must be quantised by tensor in 8 bits, it is f32}}
  %0 = xnnpack.concatenate %a, %b {axis = 0 : i32} : (tensor<2x3xf32>, tensor<2x3x!quant.uniform<i8:f32, 0.1>>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error @+1 {{input has shape 2x4, expected 2x3}}
  %0 = xnnpack.concatenate %a, %b {axis = 0 : i32} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result has shape 2x3, expected 4x3}}
  %0 = xnnpack.concatenate %a, %a {axis = 0 : i32} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @+1 {{unknown target 'tflite', expected one of executorch, xir}}
  %y = xnnpack.subgraph(%x) {target = "tflite"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %0 : tensor<4xf32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @+1 {{stock ExecuTorch has no node for 'xnnpack.unary'; use target "xir"}}
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.unary bankers_rounding %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %0 : tensor<4xf32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @+1 {{the body must end with xnnpack.yield}}
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    func.return
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @+1 {{the block's arguments must have the types of the operands}}
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<5xf32>):
    %0 = xnnpack.unary abs %a : tensor<5xf32> -> tensor<5xf32>
    xnnpack.yield %0 : tensor<5xf32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @+1 {{the yielded values must have the types of the results}}
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %0 : tensor<4xf32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @+1 {{'edge.abs' is not an XNNPACK node}}
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = edge.abs(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = xnnpack.copy %0 : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %1 : tensor<4xf32>
  }
  func.return
}

// -----

// The body sees its arguments only.
func.func @invalid(%x: tensor<4xf32>) {
  %y = xnnpack.subgraph() : () -> tensor<4xf32> {
    // expected-error @+1 {{'%x' is used but never defined}}
    %0 = xnnpack.unary abs %x : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %0 : tensor<4xf32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  %y:2 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %0 = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
    // expected-error @+1 {{a value can be one output only; copy it with xnnpack.copy}}
    xnnpack.yield %0, %0 : tensor<4xf32>, tensor<4xf32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  %y = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @+1 {{an output must be the result of a node; copy it with xnnpack.copy}}
    xnnpack.yield %a : tensor<4xf32>
  }
  func.return
}

// -----

func.func @invalid() {
  %y = xnnpack.subgraph() : () -> tensor<2xf32> {
    %0 = xnnpack.constant dense<[1.0, 2.0]> : tensor<2xf32>
    // expected-error @+1 {{an output must be the result of a node; copy it with xnnpack.copy}}
    xnnpack.yield %0 : tensor<2xf32>
  }
  func.return
}

// -----

func.func @invalid() {
  // expected-error @+1 {{'xnnpack.yield' expects parent op 'xnnpack.subgraph'}}
  xnnpack.yield
}

// -----

func.func @invalid() {
  // expected-error @+1 {{expected dense<...> or dense_resource<...> of a tensor type}}
  %0 = xnnpack.constant 1.0 : f32
  func.return
}

// -----

func.func @invalid() {
  // expected-error @+1 {{value and result must have one shape}}
  %0 = xnnpack.constant dense<[1.0, 2.0]> : tensor<2xf32> -> tensor<1x2xf32>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @+1 {{expected dense<...> or dense_resource<...> of a tensor type}}
  %0 = xnnpack.constant dense<[1.0, 2.0]> : vector<2xf32> -> tensor<2xf32>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @+1 {{elements of type i32 cannot be stored as i8}}
  %0 = xnnpack.constant dense<[1, 2]> : tensor<2xi8> -> tensor<2xi32>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @+1 {{a constant has a static shape}}
  %0 = xnnpack.constant dense_resource<w> : tensor<?xf32>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @+1 {{value must be a dense or dense_resource attribute}}
  %0 = "xnnpack.constant"() <{value = "w"}> : () -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3x4xf32>) {
  // expected-error @+1 {{axes [1, 0] are not some of the 3 dimensions in ascending order}}
  %0 = xnnpack.static_reduce sum %a {axes = array<i32: 1, 0>} : tensor<2x3x4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3x4xf32>) {
  // expected-error @+1 {{axes [3] are not some of the 3 dimensions in ascending order}}
  %0 = xnnpack.static_reduce sum %a {axes = array<i32: 3>} : tensor<2x3x4xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3x4xf32>) {
  // expected-error @+1 {{axes [] are not some of the 3 dimensions in ascending order}}
  %0 = xnnpack.static_reduce sum %a {axes = array<i32>} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3x4xf32>) {
  // expected-error @+1 {{result has shape 2x4, expected 2x1x4}}
  %0 = xnnpack.static_reduce max %a {axes = array<i32: 1>, keep_dims} : tensor<2x3x4xf32> -> tensor<2x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3x4xf32>) {
  // expected-error @+1 {{Expected `max`, `mean`,}}
  %0 = xnnpack.static_reduce prod %a {axes = array<i32: 1>} : tensor<2x3x4xf32> -> tensor<2x4xf32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xi32>) {
  // expected-error @+1 {{XNNPACK does not compute it on i32}}
  %0 = xnnpack.static_reduce sum %a {axes = array<i32: 1>} : tensor<2x3xi32> -> tensor<2xi32>
  func.return
}

// -----

func.func @invalid(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{XNNPACK does not compute it on f32}}
  %0 = xnnpack.unary bitwise_not %a : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @blocks_of_another_size() {
  // expected-error @+1 {{scales of shape [1, 1] where the blocks of the tensor make [1, 4]}}
  %0 = xnnpack.constant dense<1> : tensor<1x127xi8> -> tensor<1x127x!quant.uniform<i8:f32:{0:1, 1:32}, {{0.5}}>>
  func.return
}
