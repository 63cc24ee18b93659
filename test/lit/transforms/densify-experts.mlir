// RUN: xir-opt %s --densify-experts --split-input-file | filecheck %s

// As transformers computes experts with a gate: two of three for each token. The first product takes the tokens
// themselves, the second one what all experts have made of them, weighted.
// CHECK-LABEL: func.func @gated(
// CHECK-NOT:     edge.sort
// CHECK-NOT:     grouped_mm
// CHECK:         %[[N:.*]] = edge.arange.start_step() {dtype = f32, end = 3 : i64, start = 0 : i64} : () -> tensor<3xf32>
// CHECK:         %[[D:.*]] = edge.sub.Tensor(%{{.*}}, %[[N]]) : (tensor<4x2x1xf32>, tensor<3xf32>) -> tensor<4x2x3xf32>
// CHECK:         %[[S:.*]] = edge.sum.dim_IntList(%{{.*}}) {dim = array<i64: 1>} : (tensor<4x2x3xf32>) -> tensor<4x3xf32>
// CHECK:         %[[U:.*]] = edge.permute(%up) {dims = array<i64: 1, 0, 2>} : (tensor<3x4x6xf32>) -> tensor<4x3x6xf32>
// CHECK:         edge.mm(%x, %{{.*}}) : (tensor<4x4xf32>, tensor<4x18xf32>) -> tensor<4x18xf32>
// CHECK:         edge.split.Tensor(%{{.*}}) {dim = -1 : i64, split_size = 3 : i64} : (tensor<4x3x6xf32>) -> (tensor<4x3x3xf32>, tensor<4x3x3xf32>)
// CHECK:         %[[G:.*]] = edge.mul.Tensor(%{{.*}}, %{{.*}}) : (tensor<4x3x3xf32>, tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
// CHECK-NEXT:    %[[W:.*]] = edge.unsqueeze(%[[S]]) {dim = -1 : i64}
// CHECK-NEXT:    edge.mul.Tensor(%[[G]], %[[W]]) : (tensor<4x3x3xf32>, tensor<4x3x1xf32>) -> tensor<4x3x3xf32>
// CHECK:         %[[R:.*]] = edge.mm(%{{.*}}, %{{.*}}) : (tensor<4x9xf32>, tensor<9x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @gated(%x: tensor<4x4xf32>, %p: tensor<4x3xf32>, %up: tensor<3x4x6xf32>, %down: tensor<3x3x4xf32>) -> tensor<4x4xf32> {
  %scores, %chosen = edge.topk(%p) {k = 2 : i64} : (tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %experts = edge.view(%chosen) {size = array<i64: -1>} : (tensor<4x2xi64>) -> tensor<8xi64>
  %weights = edge.view(%scores) {size = array<i64: -1>} : (tensor<4x2xf32>) -> tensor<8xf32>
  %numbers, %order = edge.sort(%experts) : (tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>)
  %token = edge.div.Scalar_mode(%order) {other = 2 : i64, rounding_mode = "floor"} : (tensor<8xi64>) -> tensor<8xi64>
  %rows = edge.index.Tensor(%x, [%token]) : (tensor<4x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %sorted = edge.index.Tensor(%weights, [%order]) : (tensor<8xf32>, tensor<8xi64>) -> tensor<8xf32>
  %floats = edge._to_copy(%numbers) {dtype = f32} : (tensor<8xi64>) -> tensor<8xf32>
  %counts = edge.opaque "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor" (%floats) {bins = 3 : i64, max = 2 : i64} : (tensor<8xf32>) -> tensor<3xf32>
  %ends = edge.cumsum(%counts) {dim = 0 : i64, dtype = i32} : (tensor<3xf32>) -> tensor<3xi32>
  %0 = edge.opaque "transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor" (%rows, %up, %ends) : (tensor<8x4xf32>, tensor<3x4x6xf32>, tensor<3xi32>) -> tensor<8x6xf32>
  %gate, %value = edge.split.Tensor(%0) {split_size = 3 : i64, dim = 1 : i64} : (tensor<8x6xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>)
  %1 = edge.silu(%gate) : (tensor<8x3xf32>) -> tensor<8x3xf32>
  %2 = edge.mul.Tensor(%1, %value) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %3 = edge.opaque "transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor" (%2, %down, %ends) : (tensor<8x3xf32>, tensor<3x3x4xf32>, tensor<3xi32>) -> tensor<8x4xf32>
  %column = edge.unsqueeze(%sorted) {dim = -1 : i64} : (tensor<8xf32>) -> tensor<8x1xf32>
  %4 = edge.mul.Tensor(%3, %column) : (tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<8x4xf32>
  %any = edge.opaque "aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor" () {size = array<i64: 8>, physical_layout = array<i64: 0>, dtype = i64} : () -> tensor<8xi64>
  %places = edge.arange.start_step() {start = 0 : i64, end = 8 : i64} : () -> tensor<8xi64>
  %back = edge.index_put(%any, [%order], %places) : (tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %5 = edge.index.Tensor(%4, [%back]) : (tensor<8x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %6 = edge.view(%5) {size = array<i64: 4, 2, 4>} : (tensor<8x4xf32>) -> tensor<4x2x4xf32>
  %7 = edge.sum.dim_IntList(%6) {dim = array<i64: 1>} : (tensor<4x2x4xf32>) -> tensor<4x4xf32>
  func.return %7 : tensor<4x4xf32>
}

// -----

// Of an open length, with what each expert adds; one product alone.
// CHECK-LABEL: func.func @biased(
// CHECK-NOT:     edge.sort
// CHECK:         %[[S:.*]] = edge.sum.dim_IntList(%{{.*}}) {dim = array<i64: 1>} : (tensor<?x2x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT:    %[[X:.*]] = edge.unsqueeze(%x) {dim = 1 : i64} : (tensor<?x4xf32>) -> tensor<?x1x4xf32>
// CHECK-NEXT:    %[[C:.*]] = edge.unsqueeze(%[[S]]) {dim = -1 : i64} : (tensor<?x3xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT:    %[[R:.*]] = edge.mul.Tensor(%[[X]], %[[C]]) : (tensor<?x1x4xf32>, tensor<?x3x1xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT:    %[[F:.*]] = edge.view(%[[R]]) {size = array<i64: -1, 12>} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
// CHECK-NEXT:    %[[W:.*]] = edge.view(%w) {size = array<i64: 12, 3>} : (tensor<3x4x3xf32>) -> tensor<12x3xf32>
// CHECK-NEXT:    %[[P:.*]] = edge.mm(%[[F]], %[[W]]) : (tensor<?x12xf32>, tensor<12x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT:    %[[B:.*]] = edge.mm(%[[S]], %b) : (tensor<?x3xf32>, tensor<3x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT:    %[[A:.*]] = edge.add.Tensor(%[[P]], %[[B]]) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT:    func.return %[[A]]
func.func @biased(%x: tensor<?x4xf32> {xir.max_shape = array<i64: 9, 4>, xir.dim_names = ["n", ""]}, %p: tensor<?x3xf32> {xir.max_shape = array<i64: 9, 3>, xir.dim_names = ["n", ""]}, %w: tensor<3x4x3xf32>, %b: tensor<3x3xf32>) -> tensor<?x3xf32> {
  %scores, %chosen = edge.topk(%p) {k = 2 : i64} : (tensor<?x3xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %weights = edge.view(%scores) {size = array<i64: -1>} : (tensor<?x2xf32>) -> tensor<?xf32>
  %experts = edge.view(%chosen) {size = array<i64: -1>} : (tensor<?x2xi64>) -> tensor<?xi64>
  %numbers, %order = edge.sort(%experts) : (tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  %token = edge.div.Scalar_mode(%order) {other = 2 : i64, rounding_mode = "floor"} : (tensor<?xi64>) -> tensor<?xi64>
  %rows = edge.index.Tensor(%x, [%token]) : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %sorted = edge.index.Tensor(%weights, [%order]) : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %floats = edge._to_copy(%numbers) {dtype = f32} : (tensor<?xi64>) -> tensor<?xf32>
  %counts = edge.opaque "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor" (%floats) {bins = 3 : i64, max = 2 : i64} : (tensor<?xf32>) -> tensor<3xf32>
  %ends = edge.cumsum(%counts) {dim = 0 : i64, dtype = i32} : (tensor<3xf32>) -> tensor<3xi32>
  %0 = edge.opaque "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor" (%rows, %w, %ends, none) {xir.max_shapes = [array<i64: 18, 3>], xir.dim_names = [["2*n", ""]]} : (tensor<?x4xf32>, tensor<3x4x3xf32>, tensor<3xi32>) -> tensor<?x3xf32>
  %biases = edge.index.Tensor(%b, [%numbers]) : (tensor<3x3xf32>, tensor<?xi64>) -> tensor<?x3xf32>
  %1 = edge.add.Tensor(%0, %biases) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %column = edge.unsqueeze(%sorted) {dim = -1 : i64} : (tensor<?xf32>) -> tensor<?x1xf32>
  %2 = edge.mul.Tensor(%column, %1) : (tensor<?x1xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  %s = edge.executorch_prim.mul.Scalar()[%n] {a = 2 : i64, b = -9223372036854775808 : i64} : (i64) -> i64
  %places = edge.arange.start_step()[%s] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
  %back = edge.index_put(%order, [%order], %places) : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %3 = edge.index.Tensor(%2, [%back]) : (tensor<?x3xf32>, tensor<?xi64>) -> tensor<?x3xf32>
  %4 = edge.view(%3) {size = array<i64: -1, 2, 3>} : (tensor<?x3xf32>) -> tensor<?x2x3xf32>
  %5 = edge.sum.dim_IntList(%4) {dim = array<i64: 1>} : (tensor<?x2x3xf32>) -> tensor<?x3xf32>
  func.return %5 : tensor<?x3xf32>
}

// -----

// Numbers that may be those of no expert: the rows behind the last group are in none.
// CHECK-LABEL: func.func @any_numbers(
// CHECK:         edge.sort
// CHECK:         aten::_grouped_mm
func.func @any_numbers(%x: tensor<4x4xf32>, %p: tensor<4x3xf32>, %w: tensor<3x4x3xf32>, %b: tensor<3x3xf32>, %given: tensor<4x2xi64>) -> tensor<4x3xf32> {
  %scores, %chosen = edge.topk(%p) {k = 2 : i64} : (tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %weights = edge.view(%scores) {size = array<i64: -1>} : (tensor<4x2xf32>) -> tensor<8xf32>
  %experts = edge.view(%given) {size = array<i64: -1>} : (tensor<4x2xi64>) -> tensor<8xi64>
  %numbers, %order = edge.sort(%experts) : (tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>)
  %token = edge.div.Scalar_mode(%order) {other = 2 : i64, rounding_mode = "floor"} : (tensor<8xi64>) -> tensor<8xi64>
  %rows = edge.index.Tensor(%x, [%token]) : (tensor<4x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %sorted = edge.index.Tensor(%weights, [%order]) : (tensor<8xf32>, tensor<8xi64>) -> tensor<8xf32>
  %floats = edge._to_copy(%numbers) {dtype = f32} : (tensor<8xi64>) -> tensor<8xf32>
  %counts = edge.opaque "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor" (%floats) {bins = 3 : i64, max = 2 : i64} : (tensor<8xf32>) -> tensor<3xf32>
  %ends = edge.cumsum(%counts) {dim = 0 : i64, dtype = i32} : (tensor<3xf32>) -> tensor<3xi32>
  %0 = edge.opaque "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor" (%rows, %w, %ends, none) : (tensor<8x4xf32>, tensor<3x4x3xf32>, tensor<3xi32>) -> tensor<8x3xf32>
  %biases = edge.index.Tensor(%b, [%numbers]) : (tensor<3x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>
  %1 = edge.add.Tensor(%0, %biases) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %column = edge.unsqueeze(%sorted) {dim = -1 : i64} : (tensor<8xf32>) -> tensor<8x1xf32>
  %2 = edge.mul.Tensor(%column, %1) : (tensor<8x1xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %places = edge.arange.start_step() {start = 0 : i64, end = 8 : i64} : () -> tensor<8xi64>
  %back = edge.index_put(%order, [%order], %places) : (tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %3 = edge.index.Tensor(%2, [%back]) : (tensor<8x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>
  %4 = edge.view(%3) {size = array<i64: -1, 2, 3>} : (tensor<8x3xf32>) -> tensor<4x2x3xf32>
  %5 = edge.sum.dim_IntList(%4) {dim = array<i64: 1>} : (tensor<4x2x3xf32>) -> tensor<4x3xf32>
  func.return %5 : tensor<4x3xf32>
}

// -----

// Sorted the other way round, groups begin with the last expert.
// CHECK-LABEL: func.func @descending(
// CHECK:         edge.sort
// CHECK:         aten::_grouped_mm
func.func @descending(%x: tensor<4x4xf32>, %p: tensor<4x3xf32>, %w: tensor<3x4x3xf32>, %b: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %scores, %chosen = edge.topk(%p) {k = 2 : i64} : (tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %weights = edge.view(%scores) {size = array<i64: -1>} : (tensor<4x2xf32>) -> tensor<8xf32>
  %experts = edge.view(%chosen) {size = array<i64: -1>} : (tensor<4x2xi64>) -> tensor<8xi64>
  %numbers, %order = edge.sort(%experts) {descending = true} : (tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>)
  %token = edge.div.Scalar_mode(%order) {other = 2 : i64, rounding_mode = "floor"} : (tensor<8xi64>) -> tensor<8xi64>
  %rows = edge.index.Tensor(%x, [%token]) : (tensor<4x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %sorted = edge.index.Tensor(%weights, [%order]) : (tensor<8xf32>, tensor<8xi64>) -> tensor<8xf32>
  %floats = edge._to_copy(%numbers) {dtype = f32} : (tensor<8xi64>) -> tensor<8xf32>
  %counts = edge.opaque "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor" (%floats) {bins = 3 : i64, max = 2 : i64} : (tensor<8xf32>) -> tensor<3xf32>
  %ends = edge.cumsum(%counts) {dim = 0 : i64, dtype = i32} : (tensor<3xf32>) -> tensor<3xi32>
  %0 = edge.opaque "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor" (%rows, %w, %ends, none) : (tensor<8x4xf32>, tensor<3x4x3xf32>, tensor<3xi32>) -> tensor<8x3xf32>
  %biases = edge.index.Tensor(%b, [%numbers]) : (tensor<3x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>
  %1 = edge.add.Tensor(%0, %biases) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %column = edge.unsqueeze(%sorted) {dim = -1 : i64} : (tensor<8xf32>) -> tensor<8x1xf32>
  %2 = edge.mul.Tensor(%column, %1) : (tensor<8x1xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %places = edge.arange.start_step() {start = 0 : i64, end = 8 : i64} : () -> tensor<8xi64>
  %back = edge.index_put(%order, [%order], %places) : (tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %3 = edge.index.Tensor(%2, [%back]) : (tensor<8x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>
  %4 = edge.view(%3) {size = array<i64: -1, 2, 3>} : (tensor<8x3xf32>) -> tensor<4x2x3xf32>
  %5 = edge.sum.dim_IntList(%4) {dim = array<i64: 1>} : (tensor<4x2x3xf32>) -> tensor<4x3xf32>
  func.return %5 : tensor<4x3xf32>
}

// -----

// Rows go elsewhere than where they came from.
// CHECK-LABEL: func.func @mixed(
// CHECK:         edge.sort
// CHECK:         aten::_grouped_mm
func.func @mixed(%x: tensor<4x4xf32>, %p: tensor<4x3xf32>, %w: tensor<3x4x3xf32>, %b: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %scores, %chosen = edge.topk(%p) {k = 2 : i64} : (tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %weights = edge.view(%scores) {size = array<i64: -1>} : (tensor<4x2xf32>) -> tensor<8xf32>
  %experts = edge.view(%chosen) {size = array<i64: -1>} : (tensor<4x2xi64>) -> tensor<8xi64>
  %numbers, %order = edge.sort(%experts) : (tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>)
  %token = edge.div.Scalar_mode(%order) {other = 2 : i64, rounding_mode = "floor"} : (tensor<8xi64>) -> tensor<8xi64>
  %rows = edge.index.Tensor(%x, [%token]) : (tensor<4x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %sorted = edge.index.Tensor(%weights, [%order]) : (tensor<8xf32>, tensor<8xi64>) -> tensor<8xf32>
  %floats = edge._to_copy(%numbers) {dtype = f32} : (tensor<8xi64>) -> tensor<8xf32>
  %counts = edge.opaque "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor" (%floats) {bins = 3 : i64, max = 2 : i64} : (tensor<8xf32>) -> tensor<3xf32>
  %ends = edge.cumsum(%counts) {dim = 0 : i64, dtype = i32} : (tensor<3xf32>) -> tensor<3xi32>
  %0 = edge.opaque "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor" (%rows, %w, %ends, none) : (tensor<8x4xf32>, tensor<3x4x3xf32>, tensor<3xi32>) -> tensor<8x3xf32>
  %biases = edge.index.Tensor(%b, [%numbers]) : (tensor<3x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>
  %1 = edge.add.Tensor(%0, %biases) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %column = edge.unsqueeze(%sorted) {dim = -1 : i64} : (tensor<8xf32>) -> tensor<8x1xf32>
  %2 = edge.mul.Tensor(%column, %1) : (tensor<8x1xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %places = edge.arange.start_step() {start = 0 : i64, end = 8 : i64} : () -> tensor<8xi64>
  %back = edge.index_put(%order, [%experts], %places) : (tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %3 = edge.index.Tensor(%2, [%back]) : (tensor<8x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>
  %4 = edge.view(%3) {size = array<i64: -1, 2, 3>} : (tensor<8x3xf32>) -> tensor<4x2x3xf32>
  %5 = edge.sum.dim_IntList(%4) {dim = array<i64: 1>} : (tensor<4x2x3xf32>) -> tensor<4x3xf32>
  func.return %5 : tensor<4x3xf32>
}

// -----

// Rows are of other tokens: the first four, all of the first one, are of another expert each.
// CHECK-LABEL: func.func @other_tokens(
// CHECK:         edge.sort
// CHECK:         aten::_grouped_mm
func.func @other_tokens(%x: tensor<4x4xf32>, %p: tensor<4x3xf32>, %w: tensor<3x4x3xf32>, %b: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %scores, %chosen = edge.topk(%p) {k = 2 : i64} : (tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %weights = edge.view(%scores) {size = array<i64: -1>} : (tensor<4x2xf32>) -> tensor<8xf32>
  %experts = edge.view(%chosen) {size = array<i64: -1>} : (tensor<4x2xi64>) -> tensor<8xi64>
  %numbers, %order = edge.sort(%experts) : (tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>)
  %token = edge.div.Scalar_mode(%order) {other = 4 : i64, rounding_mode = "floor"} : (tensor<8xi64>) -> tensor<8xi64>
  %rows = edge.index.Tensor(%x, [%token]) : (tensor<4x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %sorted = edge.index.Tensor(%weights, [%order]) : (tensor<8xf32>, tensor<8xi64>) -> tensor<8xf32>
  %floats = edge._to_copy(%numbers) {dtype = f32} : (tensor<8xi64>) -> tensor<8xf32>
  %counts = edge.opaque "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor" (%floats) {bins = 3 : i64, max = 2 : i64} : (tensor<8xf32>) -> tensor<3xf32>
  %ends = edge.cumsum(%counts) {dim = 0 : i64, dtype = i32} : (tensor<3xf32>) -> tensor<3xi32>
  %0 = edge.opaque "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor" (%rows, %w, %ends, none) : (tensor<8x4xf32>, tensor<3x4x3xf32>, tensor<3xi32>) -> tensor<8x3xf32>
  %biases = edge.index.Tensor(%b, [%numbers]) : (tensor<3x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>
  %1 = edge.add.Tensor(%0, %biases) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %column = edge.unsqueeze(%sorted) {dim = -1 : i64} : (tensor<8xf32>) -> tensor<8x1xf32>
  %2 = edge.mul.Tensor(%column, %1) : (tensor<8x1xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %places = edge.arange.start_step() {start = 0 : i64, end = 8 : i64} : () -> tensor<8xi64>
  %back = edge.index_put(%order, [%order], %places) : (tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %3 = edge.index.Tensor(%2, [%back]) : (tensor<8x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>
  %4 = edge.view(%3) {size = array<i64: -1, 2, 3>} : (tensor<8x3xf32>) -> tensor<4x2x3xf32>
  %5 = edge.sum.dim_IntList(%4) {dim = array<i64: 1>} : (tensor<4x2x3xf32>) -> tensor<4x3xf32>
  func.return %5 : tensor<4x3xf32>
}
