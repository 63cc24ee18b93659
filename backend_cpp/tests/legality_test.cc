// Nodes on combinations of types, constants and scales that XNNPACK does not check itself.

#include <random>

#include "exercise.h"
#include "graphs.h"
#include "testing.h"
#include "verify/node_rules.h"

namespace xir::testing {
namespace {

using graph::XNodeUnion;
using Type = graph::XNNDatatype;

constexpr uint64_t kMaxMemory = uint64_t{256} << 20;
constexpr uint32_t kAbsent = UINT32_MAX;

Status Run(const GraphMaker& graph) { return Exercise(graph.Program(), kMaxMemory); }

graph::XNNNode2x1T Binary(uint32_t a, uint32_t b, uint32_t output) {
  graph::XNNNode2x1T node;
  node.input1_id = a;
  node.input2_id = b;
  node.output_id = output;
  return node;
}

graph::XNNFullyConnectedT Linear(uint32_t input, uint32_t filter, uint32_t bias, uint32_t output) {
  graph::XNNFullyConnectedT node;
  node.input1_id = input;
  node.filter_id = filter;
  node.bias_id = bias;
  node.output_id = output;
  return node;
}

// A graph of one node of a kind on the types of one row of its table, with shapes that go together.
// Operands that need not be constants are inputs, but for those in `constants`.
class Sample {
 public:
  Sample(XNodeUnion kind, const Signature& row, uint32_t constants)
      : kind_(kind), rules_(*FindNodeRules(kind)), row_(row), constants_(constants) {}

  GraphMaker Make() {
    switch (kind_) {
      case XNodeUnion::XNNFullyConnected:
        return With(Linear(In(0, {2, 64}), In(1, {4, 64}), In(2, {4}), Out(0, {2, 4})));
      case XNodeUnion::XNNConv2d:
      case XNodeUnion::XNNConvTranspose2d:
        return With(Convolution({4, 3, 3, 4}, /*groups=*/1, /*group_inputs=*/4));
      case XNodeUnion::XNNDepthwiseConv2d:
        return With(Convolution({1, 3, 3, 4}, /*groups=*/4, /*group_inputs=*/1));
      case XNodeUnion::XNNBatchMatrixMultiply:
        return With(Binary(In(0, {2, 3, 8}), In(1, {2, 8, 5}), Out(0, {2, 3, 5})));
      case XNodeUnion::XNNAvgPooling2d:
      case XNodeUnion::XNNMaxPooling2d:
        return With(Pool());
      case XNodeUnion::XNNArgMaxPooling2d: {
        graph::XNNArgMaxPooling2dT n;
        n.pooling_height = n.pooling_width = 2;
        n.input_id = In(0, {1, 6, 6, 4});
        n.output_value_id = Out(0, {1, 3, 3, 4});
        n.output_index_id = Out(1, {1, 3, 3, 4});
        return With(n);
      }
      case XNodeUnion::XNNGlobalAvgPooling2d: {
        graph::XNNNode1x1T n;
        n.flags = XNN_FLAG_KEEP_DIMS;
        n.input_id = In(0, {1, 6, 6, 4});
        n.output_id = Out(0, {1, 1, 1, 4});
        return With(n);
      }
      case XNodeUnion::XNNStaticTranspose: {
        graph::XNNStaticTransposeT n;
        n.perm = {2, 0, 1};
        n.num_dims = 3;
        return With(InOut(n, {2, 3, 4}, {4, 2, 3}));
      }
      case XNodeUnion::XNNStaticReshape: {
        graph::XNNStaticReshapeT n;
        n.new_shape = {6, 0};
        n.num_dims = 2;
        return With(InOut(n, {2, 3, 4}, {6, 4}));
      }
      case XNodeUnion::XNNStaticSlice: {
        graph::XNNStaticSliceT n;
        n.offsets = {1, 0};
        n.sizes = {3, 2};
        n.num_dims = 2;
        return With(InOut(n, {5, 2}, {3, 2}));
      }
      case XNodeUnion::XNNStaticConstantPad: {
        graph::XNNStaticConstantPadT n;
        n.pre_paddings = {1, 0};
        n.post_paddings = {0, 3};
        return With(InOut(n, {2, 2}, {3, 5}));
      }
      case XNodeUnion::XNNStaticResizeBilinear2D: {
        graph::XNNStaticResizeBilinear2DT n;
        n.new_height = n.new_width = 5;
        return With(InOut(n, {1, 3, 3, 4}, {1, 5, 5, 4}));
      }
      case XNodeUnion::XNNELU: {
        graph::XNNELUT n;
        n.alpha = 1;
        return With(InOut(n, {2, 5}, {2, 5}));
      }
      case XNodeUnion::XNNLeakyReLU: {
        graph::XNNLeakyReLUT n;
        n.negative_slope = 0.25f;
        return With(InOut(n, {2, 5}, {2, 5}));
      }
      case XNodeUnion::XNNConcatenate2:
        return With(Join(2));
      case XNodeUnion::XNNConcatenate3:
        return With(Join(3));
      case XNodeUnion::XNNConcatenate4:
        return With(Join(4));
      case XNodeUnion::XNNConcatenate5:
        return With(Join(5));
      case XNodeUnion::XNNClamp:
      case XNodeUnion::XNNConvert:
      case XNodeUnion::XNNCopy:
      case XNodeUnion::XNNSoftmax:
        return Unary();
#define XIR_UNARY(name, op)   \
  case XNodeUnion::XNN##name: \
    return Unary();
#define XIR_BINARY(name, op)  \
  case XNodeUnion::XNN##name: \
    return With(Binary(In(0, {2, 5}), In(1, {5}), Out(0, {2, 5})));
#define XIR_REDUCE(name, op)  \
  case XNodeUnion::XNN##name: \
    return Reduction();
#define XIR_NODE(name)
#include "xnnpack/node_dispatch.inc"
#undef XIR_UNARY
#undef XIR_BINARY
#undef XIR_REDUCE
#undef XIR_NODE
      // No default: a node that has no case here does not compile.
      case XNodeUnion::XNNScaledDotProductAttention:
      case XNodeUnion::NONE:
        break;
    }
    return std::move(graph_);
  }

 private:
  GraphMaker Unary() { return With(InOut(graph::XNNNode1x1T(), {2, 5}, {2, 5})); }

  GraphMaker Reduction() {
    graph::XNNStaticReduceT n;
    n.reduction_axes = {0, 2};
    n.num_reduction_axes = 2;
    return With(InOut(n, {2, 3, 4}, {3}));
  }

  using Sizes = GraphMaker::Sizes;

  template <typename Node>
  GraphMaker With(const Node& node) {
    graph::XNodeT* added = graph_.Node(kind_, node);
    if (rules_.bounds == BoundsRule::kRequired) graph_.Bounds(added, -1, 1);
    return std::move(graph_);
  }

  template <typename Node>
  Node InOut(Node node, const Sizes& in, const Sizes& out) {
    node.input_id = In(0, in);
    node.output_id = Out(0, out);
    return node;
  }

  uint32_t In(size_t at, const Sizes& dims) {
    const Type type = row_.operands[at];
    if (type == Type::Invalid) return kAbsent;
    const uint32_t must = row_.constants;
    const bool constant = ((must | constants_) >> at & 1) != 0;
    if (type == Type::QDInt8) {
      // What is quantised at run time is so by the node before.
      graph::XNNNode1x1T convert;
      convert.input_id = graph_.Input(Type::FP32, dims);
      convert.output_id = graph_.Internal(type, dims);
      graph_.QuantizeByRow(convert.output_id, rules_.row_rank);
      graph_.Node(XNodeUnion::XNNConvert, convert);
      return convert.output_id;
    }
    const uint32_t id = constant ? graph_.Constant(type, dims) : graph_.Input(type, dims);
    if (type == Type::QCInt8 || type == Type::QCInt4 || type == Type::QCInt32) {
      const int32_t axis = at == 1 ? rules_.filter_axis : 0;
      graph_.QuantizeByChannel(id, axis, dims[static_cast<size_t>(axis)]);
    } else if (type == Type::QBInt4) {
      graph_.QuantizeByGroup(id, 32, dims[0] * dims[1] / 32);
    }
    return id;
  }

  uint32_t Out(size_t at, const Sizes& dims) {
    const Type type = row_.results[at];
    if (type != Type::QDInt8) return graph_.Output(type, dims);
    // It has no memory outside; a matrix product reads it.
    const uint32_t id = graph_.Internal(type, dims);
    graph_.QuantizeByRow(id, 1);
    return id;
  }

  graph::XNNNodeConvT Convolution(const Sizes& filter, uint32_t groups, uint32_t group_inputs) {
    graph::XNNNodeConvT n;
    n.kernel_height = n.kernel_width = 3;
    n.subsampling_height = n.subsampling_width = n.dilation_height = n.dilation_width = 1;
    n.groups = groups;
    n.group_input_channels = group_inputs;
    n.group_output_channels = 4 / groups;
    n.input1_id = In(0, {1, 6, 6, 4});
    n.filter_id = In(1, filter);
    n.bias_id = In(2, {4});
    const uint32_t size = kind_ == XNodeUnion::XNNConvTranspose2d ? 8 : 4;
    n.output_id = Out(0, {1, size, size, 4});
    return n;
  }

  graph::XNNPooling2DT Pool() {
    graph::XNNPooling2DT n;
    n.pooling_height = n.pooling_width = n.stride_height = n.stride_width = 2;
    n.dilation_height = n.dilation_width = 1;
    return InOut(n, {1, 6, 6, 4}, {1, 3, 3, 4});
  }

  graph::XNNCatT Join(uint32_t count) {
    graph::XNNCatT n;
    uint32_t* const ids[] = {&n.input1_id, &n.input2_id, &n.input3_id, &n.input4_id, &n.input5_id};
    for (uint32_t i = 0; i < count; ++i) *ids[i] = In(i, {2, 3});
    n.output_id = Out(0, {2, 3 * count});
    n.axis = 1;
    return n;
  }

  XNodeUnion kind_;
  const NodeRules& rules_;
  const Signature& row_;
  uint32_t constants_;
  GraphMaker graph_;
};

}  // namespace

// What the table lets through XNNPACK defines and runs, wherever its operands come from.
XIR_TEST(every_row_of_the_table_runs) {
  size_t ran = 0;
  for (const XNodeUnion kind : graph::EnumValuesXNodeUnion()) {
    const NodeRules* rules = FindNodeRules(kind);
    if (rules == nullptr) continue;
    for (const Signature& row : rules->signatures) {
      if (row.results[0] == Type::QDInt8) continue;  // covered by those that read it
      // None of the operands constant, and the second one.
      for (const uint32_t constants : {0u, 2u}) {
        const GraphMaker graph = Sample(kind, row, constants).Make();
        const Status status = Run(graph);
        if (!status.ok()) {
          Report(__FILE__, __LINE__, graph::EnumNameXNodeUnion(kind) + (": " + status.message()));
        }
        ++ran;
      }
    }
  }
  EXPECT(ran > 400);
}

XIR_TEST(graphs_by_hand_run) {
  GraphMaker g;
  const uint32_t a = g.Input(Type::FP32, {2, 3}), b = g.Constant(Type::FP32, {4, 3});
  g.Node(XNodeUnion::XNNFullyConnected, Linear(a, b, kAbsent, g.Output(Type::FP32, {2, 4})));
  EXPECT_OK(Run(g));
}

// XNNPACK reads a scale for each column of each matrix of the batch.
XIR_TEST(batches_are_not_quantized_by_channel) {
  for (const int32_t channel_dim : {0, 1, 2}) {
    GraphMaker g;
    const uint32_t a = g.Input(Type::FP32, {64, 2, 8});
    const uint32_t b = g.Constant(Type::QCInt8, {64, 8, 512});
    g.QuantizeByChannel(b, channel_dim, channel_dim == 2 ? 512 : channel_dim == 1 ? 8 : 64);
    const uint32_t out = g.Output(Type::FP32, {64, 2, 512});
    g.Node(XNodeUnion::XNNBatchMatrixMultiply, Binary(a, b, out));
    EXPECT_ERROR(Run(g), "BatchMatrixMultiply");
  }
}

XIR_TEST(run_time_filters_have_the_type_of_the_input) {
  for (const auto& [input, filter] :
       {std::pair(Type::FP32, Type::FP16), std::pair(Type::FP16, Type::FP32)}) {
    GraphMaker g;
    const uint32_t a = g.Input(input, {2, 8}), b = g.Input(filter, {4, 8});
    g.Node(XNodeUnion::XNNFullyConnected, Linear(a, b, kAbsent, g.Output(input, {2, 4})));
    EXPECT_ERROR(Run(g), "FullyConnected");
  }
  for (const auto& [filter, bias] :
       {std::pair(Type::FP16, Type::FP32), std::pair(Type::FP32, Type::FP16),
        std::pair(Type::FP16, Type::FP16)}) {
    GraphMaker g;
    const uint32_t a = g.Input(Type::FP32, {2, 8}), b = g.Constant(filter, {4, 8});
    const uint32_t c = g.Input(bias, {4});
    g.Node(XNodeUnion::XNNFullyConnected, Linear(a, b, c, g.Output(Type::FP32, {2, 4})));
    EXPECT_ERROR(Run(g), "FullyConnected");
  }
  GraphMaker g;
  const uint32_t a = g.Input(Type::FP32, {2, 8}), b = g.Input(Type::FP32, {4, 8});
  const uint32_t c = g.Input(Type::FP32, {4});
  g.Node(XNodeUnion::XNNFullyConnected, Linear(a, b, c, g.Output(Type::FP32, {2, 4})));
  EXPECT_OK(Run(g));
}

namespace {

// One execution on inputs of the given shapes. The memory that is lent ends where the input does.
Status RunOn(Method* method, const std::vector<Shape>& shapes) {
  std::vector<std::vector<uint8_t>> inputs(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    const DType dtype = method->input(i).get<Tensor>()->dtype;
    inputs[i].assign(static_cast<size_t>(shapes[i].numel()) * ElementSize(dtype), 1);
    XIR_RETURN_IF_ERROR(method->SetInput(i, inputs[i].data(), inputs[i].size(), shapes[i]));
  }
  return method->Execute();
}

Shape ShapeOf(const std::vector<int64_t>& sizes) {
  Shape shape;
  for (const int64_t size : sizes) shape[shape.rank++] = size;
  return shape;
}

}  // namespace

XIR_TEST(smaller_shapes_are_checked_when_they_come) {
  GraphMaker sum;
  const uint32_t a = sum.Input(Type::FP32, {4}), b = sum.Input(Type::FP32, {4});
  sum.Node(XNodeUnion::XNNAdd, Binary(a, b, sum.Output(Type::FP32, {4})));
  const auto method = LoadForward(sum.Program());
  EXPECT(method.ok());
  Method* add = method.value().get();
  EXPECT_OK(RunOn(add, {ShapeOf({3}), ShapeOf({3})}));
  EXPECT(add->output(0).get<Tensor>()->shape == ShapeOf({3}));
  EXPECT_ERROR(RunOn(add, {ShapeOf({2}), ShapeOf({3})}), "do not broadcast");
  EXPECT_OK(RunOn(add, {ShapeOf({1}), ShapeOf({4})}));
  EXPECT_OK(RunOn(add, {ShapeOf({4}), ShapeOf({4})}));

  GraphMaker box;
  graph::XNNStaticSliceT slice;
  slice.offsets = {2};
  slice.sizes = {3};
  slice.num_dims = 1;
  slice.input_id = box.Input(Type::FP32, {5});
  slice.output_id = box.Output(Type::FP32, {3});
  box.Node(XNodeUnion::XNNStaticSlice, slice);
  const auto sliced = LoadForward(box.Program());
  EXPECT(sliced.ok());
  EXPECT_OK(RunOn(sliced.value().get(), {ShapeOf({3})}));
  EXPECT(sliced.value()->output(0).get<Tensor>()->shape == ShapeOf({1}));
  EXPECT_OK(RunOn(sliced.value().get(), {ShapeOf({2})}));
  EXPECT(sliced.value()->output(0).get<Tensor>()->shape == ShapeOf({0}));
  EXPECT_OK(RunOn(sliced.value().get(), {ShapeOf({4})}));
  EXPECT(sliced.value()->output(0).get<Tensor>()->shape == ShapeOf({2}));
}

// XNNPACK gets the nodes of what is not empty.
XIR_TEST(what_is_not_empty_is_computed) {
  GraphMaker g;
  const uint32_t x = g.Input(Type::FP32, {4}), rest = g.Internal(Type::FP32, {2});
  graph::XNNStaticSliceT slice;
  slice.offsets = slice.sizes = {2};
  slice.num_dims = 1;
  slice.input_id = x;
  slice.output_id = rest;
  g.Node(XNodeUnion::XNNStaticSlice, slice);
  graph::XNNCatT joined;
  joined.axis = 0;
  joined.input1_id = rest;
  joined.input2_id = x;
  joined.output_id = g.Output(Type::FP32, {6});
  g.Node(XNodeUnion::XNNConcatenate2, joined);
  const uint32_t sum = g.Output(Type::FP32, {4});
  g.Node(XNodeUnion::XNNAdd, Binary(x, x, sum));
  auto method = LoadForward(g.Program());
  EXPECT(method.ok());
  for (const int64_t size : {2, 4, 1, 0, 3}) {
    EXPECT_OK(RunOn(method.value().get(), {ShapeOf({size})}));
    const int64_t left = std::max<int64_t>(size - 2, 0);
    EXPECT(method.value()->output(0).get<Tensor>()->shape == ShapeOf({size + left}));
    EXPECT(method.value()->output(1).get<Tensor>()->shape == ShapeOf({size}));
  }

  GraphMaker added;
  graph::XNNStaticReduceT node;
  node.reduction_axes = {0};
  node.num_reduction_axes = 1;
  node.input_id = added.Input(Type::FP32, {4, 2});
  node.output_id = added.Output(Type::FP32, {2});
  added.Node(XNodeUnion::XNNReduceSum, node);
  auto sums = LoadForward(added.Program());
  EXPECT(sums.ok());
  EXPECT_ERROR(RunOn(sums.value().get(), {ShapeOf({0, 2})}), "which is empty at these shapes");
  EXPECT_OK(RunOn(sums.value().get(), {ShapeOf({3, 2})}));
}

// Every node on inputs of any sizes up to the largest ones: it runs or refuses, and where it runs
// XNNPACK and the verifier have come to the same shape.
XIR_TEST(every_row_takes_or_refuses_smaller_shapes) {
  std::mt19937 random(7);
  size_t ran = 0, refused = 0;
  for (const XNodeUnion kind : graph::EnumValuesXNodeUnion()) {
    const NodeRules* rules = FindNodeRules(kind);
    if (rules == nullptr) continue;
    for (const Signature& row : rules->signatures) {
      if (row.results[0] == Type::QDInt8) continue;
      auto method = LoadForward(Sample(kind, row, /*constants=*/0).Make().Program());
      EXPECT(method.ok());
      if (!method.ok()) continue;
      for (int round = 0; round < 8; ++round) {
        std::vector<Shape> shapes;
        for (size_t i = 0; i < method.value()->num_inputs(); ++i) {
          Shape shape = method.value()->input(i).get<Tensor>()->bound;
          for (size_t d = 0; d < shape.rank; ++d) {
            if (random() % 2 == 0) shape[d] = static_cast<int64_t>(random()) % (shape[d] + 1);
          }
          shapes.push_back(shape);
        }
        ++(RunOn(method.value().get(), shapes).ok() ? ran : refused);
      }
    }
  }
  EXPECT(ran > 500 && refused > 200);
}

// Each node fits the limit, all of them together do not.
XIR_TEST(scratch_memory_adds_up) {
  const auto chain = [](size_t length) {
    GraphMaker g;
    uint32_t last = g.Input(Type::FP32, {1, 512, 512, 1});
    for (size_t i = 0; i < length; ++i) {
      graph::XNNPooling2DT pool;
      pool.pooling_height = pool.pooling_width = 3;
      pool.padding_top = pool.padding_bottom = pool.padding_left = pool.padding_right = 1;
      pool.stride_height = pool.stride_width = pool.dilation_height = pool.dilation_width = 1;
      pool.input_id = last;
      pool.output_id = last = i + 1 == length ? g.Output(Type::FP32, {1, 512, 512, 1})
                                              : g.Internal(Type::FP32, {1, 512, 512, 1});
      graph::XNodeT* node = g.Node(XNodeUnion::XNNMaxPooling2d, pool);
      g.Bounds(node, -1, 1);
    }
    return Run(g);
  };
  EXPECT_OK(chain(2));
  EXPECT_ERROR(chain(20), "with its scratch memory");
}

// XNNPACK makes a table of what lies between the two conversions. That is the subgraph's and then
// the runtime's, and both free it where a later operator, whose ratio of scales is out of range,
// makes XNNPACK give the runtime up.
XIR_TEST(runtimes_that_are_refused_free_their_tables_once) {
  GraphMaker g;
  const auto unary = [&](XNodeUnion kind, uint32_t from, uint32_t to) {
    graph::XNNNode1x1T node;
    node.input_id = from;
    node.output_id = to;
    g.Node(kind, node);
  };
  const uint32_t input = g.Input(Type::QInt8, {2, 4});
  const uint32_t real = g.Internal(Type::FP32, {2, 4}), bent = g.Internal(Type::FP32, {2, 4});
  const uint32_t table = g.Internal(Type::QInt8, {2, 4}), sums = g.Output(Type::QInt8, {2, 3});
  unary(XNodeUnion::XNNConvert, input, real);
  unary(XNodeUnion::XNNTanh, real, bent);
  unary(XNodeUnion::XNNConvert, bent, table);
  const uint32_t filter = g.Constant(Type::QInt8, {3, 4});
  g.Node(XNodeUnion::XNNFullyConnected, Linear(table, filter, kAbsent, sums));
  EXPECT_OK(Run(g));
  g.QuantizeByTensor(sums, 1e-6f, 0);
  EXPECT_ERROR(Run(g), "create a runtime");
}

XIR_TEST(plain_integers_are_not_quantized) {
  GraphMaker g;
  graph::XNNNode1x1T copy;
  copy.input_id = g.Input(Type::Int32, {3});
  copy.output_id = g.Output(Type::Int32, {3});
  g.Node(XNodeUnion::XNNCopy, copy);
  g.QuantizeByTensor(copy.input_id, 0.5f, 0);
  EXPECT_ERROR(LoadForward(g.Program()), "its datatype is not quantised by tensor");
}

XIR_TEST(copies_are_read_at_both_operands) {
  GraphMaker g;
  graph::XNNNode1x1T copy;
  copy.input_id = g.Input(Type::FP32, {3});
  copy.output_id = g.Internal(Type::FP32, {3});
  g.Node(XNodeUnion::XNNCopy, copy);
  g.Node(XNodeUnion::XNNAdd, Binary(copy.output_id, copy.output_id, g.Output(Type::FP32, {3})));
  const auto method = LoadForward(g.Program());
  EXPECT(method.ok());
  if (!method.ok()) return;
  float input[] = {1, 2, 3};
  EXPECT_OK(method.value()->SetInput(0, input, sizeof(input), ShapeOf({3})));
  EXPECT_OK(method.value()->Execute());
  const auto* sums = method.value()->output(0).get<Tensor>()->as<float>();
  EXPECT(sums[0] == 2 && sums[1] == 4 && sums[2] == 6);
}

XIR_TEST(results_of_a_pair_are_used) {
  const auto pool = [](bool use_values, bool use_positions, bool read_values) {
    GraphMaker g;
    const std::vector<uint32_t> large{1, 4, 4, 2}, small{1, 2, 2, 2};
    graph::XNNArgMaxPooling2dT node;
    node.pooling_height = node.pooling_width = 2;
    node.input_id = g.Input(Type::FP32, large);
    node.output_value_id = use_values ? g.Output(Type::FP32, small) : g.Internal(Type::FP32, small);
    node.output_index_id =
        use_positions ? g.Output(Type::Int32, small) : g.Internal(Type::Int32, small);
    g.Node(XNodeUnion::XNNArgMaxPooling2d, node);
    graph::XNNNode1x1T abs;
    abs.input_id = read_values ? node.output_value_id : node.input_id;
    abs.output_id = g.Internal(Type::FP32, read_values ? small : large);
    g.Node(XNodeUnion::XNNAbs, abs);
    abs.input_id = node.input_id;
    abs.output_id = g.Output(Type::FP32, large);
    g.Node(XNodeUnion::XNNAbs, abs);
    return Run(g);
  };
  EXPECT_OK(pool(true, true, false));
  EXPECT_ERROR(pool(false, true, false), "node 0 (XNNArgMaxPooling2d): nothing uses result 1");
  EXPECT_ERROR(pool(true, false, false), "nothing uses result 2");
  // What reads it is not used either.
  EXPECT_ERROR(pool(false, true, true), "nothing uses result 1");
}

XIR_TEST(quantization_and_bounds_that_do_not_fit_are_refused) {
  const auto clamp = [](Type datatype, const std::function<void(GraphMaker*, uint32_t)>& edit) {
    GraphMaker g;
    graph::XNNNode1x1T node;
    node.input_id = g.Input(datatype, {2, 4});
    node.output_id = g.Output(datatype, {2, 4});
    g.Node(graph::XNodeUnion::XNNClamp, node);
    edit(&g, node.input_id);
    return ToStatus(LoadForward(g.Program()));
  };
  EXPECT_ERROR(clamp(Type::FP32, [](GraphMaker*, uint32_t) {}), "it has no output range");
  for (const int32_t row_rank : {0, 3}) {
    GraphMaker g;
    const uint32_t rows = g.Internal(Type::QDInt8, {2, 4});
    g.QuantizeByRow(rows, row_rank);
    graph::XNNNode1x1T node;
    node.input_id = g.Input(Type::FP32, {2, 4});
    node.output_id = rows;
    g.Node(graph::XNodeUnion::XNNConvert, node);
    EXPECT_ERROR(LoadForward(g.Program()), "dimensions to a row");
  }
  GraphMaker g;
  graph::XNNNode1x1T copy;
  copy.input_id = g.Input(Type::FP32, {2, 4});
  copy.output_id = g.Output(Type::FP32, {2, 4});
  g.Node(graph::XNodeUnion::XNNCopy, copy);
  g.QuantizeByGroup(g.Constant(Type::QCInt4, {2, 32}), 32, 2);
  EXPECT_ERROR(LoadForward(g.Program()), "only a constant qbint4 matrix is quantised by group");
  GraphMaker slice;
  graph::XNNStaticSliceT node;
  node.num_dims = 2;
  node.offsets = {0};
  node.sizes = {2, 4};
  node.input_id = slice.Input(Type::FP32, {2, 4});
  node.output_id = slice.Output(Type::FP32, {2, 4});
  slice.Node(graph::XNodeUnion::XNNStaticSlice, node);
  EXPECT_ERROR(LoadForward(slice.Program()), "XNNStaticSlice");
}

}  // namespace xir::testing
