// Sizes, attributes and types of single nodes that do not go together, where no node of a golden
// program has them; and what a program's shapes may be when they come.

#include <cmath>
#include <functional>

#include "exercise.h"
#include "graphs.h"
#include "program/description.h"
#include "testing.h"
#include "verify/graph_verifier.h"
#include "verify/verify_graph.h"

namespace xir::testing {
namespace {

using graph::XNodeUnion;
using Type = graph::XNNDatatype;
using Sizes = std::vector<uint32_t>;

constexpr uint32_t kAbsent = UINT32_MAX;

void ExpectRefused(const GraphMaker& g, const char* text) {
  EXPECT_ERROR(LoadForward(g.Program()), text);
}

// A node on an input of `in`, with a result of `out`; `edit` sets the rest.
template <typename T>
void ExpectNodeRefused(XNodeUnion kind, const Sizes& in, const Sizes& out,
                       const std::function<void(T*)>& edit, const char* text) {
  GraphMaker g;
  T node;
  node.input_id = g.Input(Type::FP32, in);
  node.output_id = g.Output(Type::FP32, out);
  edit(&node);
  g.Node(kind, node);
  ExpectRefused(g, text);
}

graph::XNNNode2x1T Binary(uint32_t a, uint32_t b, uint32_t output) {
  graph::XNNNode2x1T node;
  node.input1_id = a;
  node.input2_id = b;
  node.output_id = output;
  return node;
}

// A convolution by 1x1 over an image, which `edit` changes.
GraphMaker Convolution(XNodeUnion kind, const Sizes& in, const Sizes& filter, const Sizes& out,
                       const std::function<void(graph::XNNNodeConvT*)>& edit) {
  GraphMaker g;
  graph::XNNNodeConvT node;
  node.kernel_height = node.kernel_width = 1;
  node.subsampling_height = node.subsampling_width = 1;
  node.dilation_height = node.dilation_width = 1;
  node.groups = 1;
  node.group_input_channels = in.back();
  node.group_output_channels = out.back();
  node.input1_id = g.Input(Type::FP32, in);
  node.filter_id = g.Constant(Type::FP32, filter);
  node.bias_id = kAbsent;
  node.output_id = g.Output(Type::FP32, out);
  edit(&node);
  g.Node(kind, node);
  return g;
}

void ExpectConvolutionRefused(XNodeUnion kind, const Sizes& filter,
                              const std::function<void(graph::XNNNodeConvT*)>& edit,
                              const char* text) {
  ExpectRefused(Convolution(kind, {1, 4, 4, 2}, filter, {1, 4, 4, 2}, edit), text);
}

// Refused for its scratch memory, where the values alone are within the limit.
void ExpectTooLarge(const GraphMaker& g, uint64_t limit) {
  EXPECT_ERROR(Exercise(g.Program(), limit), "with its scratch memory");
}

// A list that is there and has no items, where there were some.
template <typename T>
void Empty(const flatbuffers::Vector<T>* list) {
  auto* length = reinterpret_cast<uint32_t*>(const_cast<flatbuffers::Vector<T>*>(list));
  *length = 0;
}

Status Verify(const Blob& flatbuffer) {
  WorkBudget budget(flatbuffer.size());
  return ToStatus(VerifyGraph(Bytes(flatbuffer.data(), flatbuffer.size()), ProgramDescription(),
                              {uint64_t{1} << 20}, &budget));
}

graph::XNNPooling2DT Pool(uint32_t size) {
  graph::XNNPooling2DT pool;
  pool.pooling_height = pool.pooling_width = size;
  pool.stride_height = pool.stride_width = pool.dilation_height = pool.dilation_width = 1;
  return pool;
}

GraphMaker Linear(Type type, const Sizes& in, const Sizes& filter, const Sizes& out,
                  uint32_t flags) {
  GraphMaker g;
  graph::XNNFullyConnectedT node;
  node.input1_id = g.Input(type, in);
  node.filter_id = g.Constant(type, filter);
  node.bias_id = kAbsent;
  node.output_id = g.Output(type, out);
  node.flags = flags;
  g.Node(XNodeUnion::XNNFullyConnected, node);
  return g;
}

GraphMaker Product(const Sizes& a, const Sizes& b, const Sizes& out, uint32_t flags = 0) {
  GraphMaker g;
  auto node = Binary(g.Input(Type::FP32, a), g.Input(Type::FP32, b), g.Output(Type::FP32, out));
  node.flags = flags;
  g.Node(XNodeUnion::XNNBatchMatrixMultiply, node);
  return g;
}

// The absolute value of a vector of `size`.
GraphMaker Absolute(uint32_t size, Type type = Type::FP32) {
  GraphMaker g;
  graph::XNNNode1x1T node;
  node.input_id = g.Input(type, {size});
  node.output_id = g.Output(type, {size});
  g.Node(XNodeUnion::XNNAbs, node);
  return g;
}

}  // namespace

XIR_TEST(nodes_that_need_dimensions_refuse_operands_without) {
  ExpectNodeRefused<graph::XNNStaticTransposeT>(
      XNodeUnion::XNNStaticTranspose, {}, {}, [](auto*) {},
      "its permutation does not fit its operand");
  ExpectNodeRefused<graph::XNNNode1x1T>(
      XNodeUnion::XNNGlobalAvgPooling2d, {4, 4}, {4, 4}, [](auto*) {}, "its operand has rank 2");
}

XIR_TEST(either_operand_may_have_fewer_dimensions) {
  const Sizes shapes[] = {{3}, {2, 3}};
  for (const size_t shorter : {0, 1}) {
    GraphMaker g;
    const uint32_t a = g.Input(Type::FP32, shapes[shorter]);
    const uint32_t b = g.Input(Type::FP32, shapes[1 - shorter]);
    g.Node(XNodeUnion::XNNAdd, Binary(a, b, g.Output(Type::FP32, {2, 3})));
    EXPECT_OK(LoadForward(g.Program()));
  }
}

XIR_TEST(convolutions_of_other_shapes_are_refused) {
  const XNodeUnion kinds[] = {XNodeUnion::XNNConv2d, XNodeUnion::XNNConvTranspose2d};
  for (const XNodeUnion kind : kinds) {
    ExpectRefused(Convolution(kind, {4, 2}, {2, 1, 1, 2}, {4, 2}, [](auto*) {}), "has rank 2");
    ExpectConvolutionRefused(
        kind, {2, 1, 1, 2}, [](auto* n) { n->group_input_channels = 0; }, "no channels");
    ExpectConvolutionRefused(
        kind, {2, 1, 1, 2}, [](auto* n) { n->group_output_channels = 0; }, "no channels");
    ExpectConvolutionRefused(
        kind, {2, 2, 2, 2}, [](auto*) {}, "filter [2, 2, 2, 2], not [2, 1, 1, 2]");
    ExpectConvolutionRefused(
        kind, {2, 1, 1, 2}, [](auto* n) { n->subsampling_height = 0; }, "stride 0");
    ExpectConvolutionRefused(
        kind, {2, 1, 1, 2}, [](auto* n) { n->padding_left = UINT32_MAX; }, "");
  }
  const auto bias = [](GraphMaker g, const Sizes& sizes) {
    g.graph()->xnodes[0]->xnode_union.AsXNNConvTranspose2d()->bias_id =
        g.Constant(Type::FP32, sizes);
    return g;
  };
  const auto plain = [] {
    return Convolution(XNodeUnion::XNNConvTranspose2d, {1, 4, 4, 2}, {2, 1, 1, 2}, {1, 4, 4, 2},
                       [](auto*) {});
  };
  ExpectRefused(bias(plain(), {3}), "of shape [3] for 2 channels");
  ExpectRefused(bias(plain(), {1, 2}), "of shape [1, 2] for 2 channels");
  EXPECT_OK(LoadForward(bias(plain(), {2}).Program()));
  for (const XNodeUnion kind : kinds) {
    ExpectTooLarge(Convolution(kind, {1, 4, 4, 2}, {2, 1, 1, 2}, {1, 4, 4, 2}, [](auto*) {}), 500);
  }
  // Results that grow beyond what memory there is.
  ExpectConvolutionRefused(
      XNodeUnion::XNNConvTranspose2d, {2, 1, 1, 2},
      [](auto* n) { n->subsampling_height = n->subsampling_width = UINT32_MAX; }, "scratch memory");
}

XIR_TEST(depthwise_convolutions_of_other_shapes_are_refused) {
  const auto refused = [](const Sizes& filter, const std::function<void(graph::XNNNodeConvT*)>& e,
                          const char* text) {
    ExpectConvolutionRefused(
        XNodeUnion::XNNDepthwiseConv2d, filter,
        [&](auto* n) {
          n->groups = 2;
          n->group_input_channels = n->group_output_channels = 1;
          e(n);
        },
        text);
  };
  refused(
      {1, 2, 1, 2}, [](auto*) {}, "filter [1, 2, 1, 2], not [1, 1, 1, 2]");
  refused(
      {1, 1, 1, 2},
      [](auto* n) {
        n->groups = 1;
        n->group_input_channels = 2;
      },
      "2 input channels to a group");
  ExpectTooLarge(
      Convolution(XNodeUnion::XNNDepthwiseConv2d, {1, 4, 4, 2}, {1, 1, 1, 2}, {1, 4, 4, 2},
                  [](auto* n) {
                    n->groups = 2;
                    n->group_input_channels = n->group_output_channels = 1;
                  }),
      500);
}

// What a convolution by 1x1 has beside: each one keeps pointers.
XIR_TEST(convolutions_that_are_not_pointwise_run) {
  const auto run = [](const Sizes& out, const std::function<void(graph::XNNNodeConvT*)>& edit) {
    EXPECT_OK(LoadForward(
        Convolution(XNodeUnion::XNNConv2d, {1, 4, 4, 2}, {2, 1, 1, 2}, out, edit).Program()));
  };
  run({1, 4, 4, 2}, [](auto*) {});
  run({1, 2, 4, 2}, [](auto* n) { n->subsampling_height = 2; });
  run({1, 4, 2, 2}, [](auto* n) { n->subsampling_width = 2; });
  run({1, 5, 4, 2}, [](auto* n) { n->padding_top = 1; });
  run({1, 5, 4, 2}, [](auto* n) { n->padding_bottom = 1; });
  run({1, 4, 5, 2}, [](auto* n) { n->padding_left = 1; });
  run({1, 4, 5, 2}, [](auto* n) { n->padding_right = 1; });
}

XIR_TEST(windows_of_other_shapes_are_refused) {
  using Node = graph::XNNPooling2DT;
  const auto pool = [](XNodeUnion kind, const Sizes& in, const std::function<void(Node*)>& edit,
                       const char* text) {
    ExpectNodeRefused<Node>(
        kind, in, {1, 3, 3, 2},
        [&](Node* n) {
          const uint32_t input = n->input_id, output = n->output_id;
          *n = Pool(2);
          n->input_id = input;
          n->output_id = output;
          edit(n);
        },
        text);
  };
  pool(
      XNodeUnion::XNNMaxPooling2d, {4, 4, 2}, [](Node*) {}, "has rank 3");
  pool(
      XNodeUnion::XNNAvgPooling2d, {1, 4, 4, 2}, [](Node* n) { n->dilation_height = 2; },
      "a dilated average");
  pool(
      XNodeUnion::XNNAvgPooling2d, {1, 4, 4, 2}, [](Node* n) { n->dilation_width = 2; },
      "a dilated average");
  // As many pointers as no number tells; and as many bytes as the values' make no number of.
  pool(
      XNodeUnion::XNNMaxPooling2d, {1, 4, 4, 2},
      [](Node* n) {
        n->pooling_height = n->pooling_width = 1u << 31;
        n->padding_top = n->padding_bottom = n->padding_left = n->padding_right = (1u << 31) - 1;
      },
      "scratch memory");
  pool(
      XNodeUnion::XNNMaxPooling2d, {1, 1, 1, 4},
      [](Node* n) {
        // One window of 2^61 - 2 elements.
        n->pooling_height = (1u << 30) + 1;
        n->pooling_width = 2 * ((1u << 30) - 1);
        n->padding_top = n->pooling_height - 1;
        n->padding_left = n->pooling_width - 1;
      },
      "scratch memory");

  GraphMaker positions;
  graph::XNNArgMaxPooling2dT argmax;
  argmax.pooling_height = argmax.pooling_width = 2;
  argmax.input_id = positions.Input(Type::FP32, {1, 4, 4, 2});
  argmax.output_value_id = positions.Output(Type::FP32, {1, 2, 2, 3});
  argmax.output_index_id = positions.Output(Type::Int32, {1, 2, 2, 2});
  positions.Node(XNodeUnion::XNNArgMaxPooling2d, argmax);
  ExpectRefused(positions, "is declared [1, 2, 2, 3] but has shape [1, 2, 2, 2]");
}

// ExecuTorch declares some images between nodes in another order than nodes compute them.
XIR_TEST(values_between_nodes_may_be_declared_in_another_order) {
  const auto chain = [](const Sizes& between, bool given) {
    GraphMaker g;
    graph::XNNNode1x1T first, second;
    first.input_id = g.Input(Type::FP32, {1, 2, 3, 4});
    first.output_id = second.input_id =
        given ? g.Output(Type::FP32, between) : g.Internal(Type::FP32, between);
    second.output_id = g.Output(Type::FP32, {1, 2, 3, 4});
    g.Node(XNodeUnion::XNNAbs, first);
    g.Node(XNodeUnion::XNNNegate, second);
    return g;
  };
  EXPECT_OK(LoadForward(chain({1, 4, 2, 3}, false).Program()));
  EXPECT_OK(LoadForward(chain({4, 3, 2, 1}, false).Program()));
  ExpectRefused(chain({1, 4, 2, 3}, true), "is declared [1, 4, 2, 3] but has shape [1, 2, 3, 4]");
  ExpectRefused(chain({1, 4, 3, 3}, false), "is declared [1, 4, 3, 3] but has shape [1, 2, 3, 4]");
  ExpectRefused(chain({1, 1, 6, 4}, false), "is declared [1, 1, 6, 4] but has shape [1, 2, 3, 4]");
  ExpectRefused(chain({6, 4}, false), "is declared [6, 4] but has shape [1, 2, 3, 4]");
}

XIR_TEST(reductions_and_images_of_other_shapes_are_refused) {
  using Reduce = graph::XNNStaticReduceT;
  const auto reduce = [](const Sizes& axes, const char* text) {
    ExpectNodeRefused<Reduce>(
        XNodeUnion::XNNReduceSum, {2, 3}, {2}, [&](Reduce* n) { n->reduction_axes = axes; }, text);
  };
  reduce({}, "no axes");
  reduce({1, 1}, "axis 1 is none");
  reduce({2}, "axis 2 is none");
  using Resize = graph::XNNStaticResizeBilinear2DT;
  const auto resize = [](const Sizes& in, uint32_t height, uint32_t width, const char* text) {
    ExpectNodeRefused<Resize>(
        XNodeUnion::XNNStaticResizeBilinear2D, in, {1, 2, 2, 1},
        [&](Resize* n) {
          n->new_height = height;
          n->new_width = width;
        },
        text);
  };
  resize({4, 4, 1}, 2, 2, "has rank 3");
  resize({1, 4, 4, 1}, 0, 2, "a new size of zero");
  resize({1, 4, 4, 1}, 2, 0, "a new size of zero");
  GraphMaker g;
  Reduce node;
  node.input_id = g.Input(Type::FP32, {50, 1});
  node.output_id = g.Output(Type::FP32, {50});
  node.reduction_axes = {1};
  g.Node(XNodeUnion::XNNReduceSum, node);
  EXPECT_OK(LoadForward(g.Program()));
  ExpectTooLarge(g, 500);
  const Blob flatbuffer = g.Flatbuffer();
  Empty(graph::GetXNNGraph(flatbuffer.data())
            ->xnodes()
            ->Get(0)
            ->xnode_union_as_XNNReduceSum()
            ->reduction_axes());
  EXPECT_ERROR(Verify(flatbuffer), "no axes");
}

XIR_TEST(movements_of_other_shapes_are_refused) {
  using Reshape = graph::XNNStaticReshapeT;
  ExpectNodeRefused<Reshape>(
      XNodeUnion::XNNStaticReshape, {4}, {4}, [](Reshape* n) { n->new_shape.assign(7, 1); },
      "too high a rank");
  ExpectNodeRefused<Reshape>(
      XNodeUnion::XNNStaticReshape, {4}, {4}, [](Reshape*) {}, "no new shape");
  using Slice = graph::XNNStaticSliceT;
  ExpectNodeRefused<Slice>(
      XNodeUnion::XNNStaticSlice, {4}, {4},
      [](Slice* n) {
        n->offsets = {0};
        n->sizes = {5};
      },
      "[0, +5) of a dimension of 4");
  ExpectNodeRefused<Slice>(
      XNodeUnion::XNNStaticSlice, {}, {}, [](Slice*) {}, "do not fit its operand");
  using Transpose = graph::XNNStaticTransposeT;
  ExpectNodeRefused<Transpose>(
      XNodeUnion::XNNStaticTranspose, {2, 2}, {2, 2}, [](Transpose*) {}, "does not fit");
  GraphMaker g;
  graph::XNNCatT cat;
  cat.input1_id = g.Input(Type::FP32, {2, 2});
  cat.input2_id = g.Input(Type::FP32, {4});
  cat.input3_id = cat.input4_id = cat.input5_id = kAbsent;
  cat.output_id = g.Output(Type::FP32, {4, 2});
  g.Node(XNodeUnion::XNNConcatenate2, cat);
  ExpectRefused(g, "do not concatenate along 0");
}

XIR_TEST(matrices_of_other_shapes_are_refused) {
  constexpr uint32_t kTransposed = XNN_FLAG_TRANSPOSE_WEIGHTS;
  EXPECT_OK(LoadForward(Linear(Type::FP32, {2, 3}, {3, 4}, {2, 4}, kTransposed).Program()));
  ExpectRefused(Linear(Type::FP32, {2, 4}, {3, 4}, {2, 4}, kTransposed), "3 input channels");
  ExpectRefused(Linear(Type::QInt8, {2, 3}, {3, 4}, {2, 4}, kTransposed), "that is quantised");
  ExpectRefused(Linear(Type::FP32, {}, {4, 1}, {4}, 0), "for a filter of 1 input channels");
  EXPECT_OK(LoadForward(Product({2, 3}, {4, 3}, {2, 4}, XNN_FLAG_TRANSPOSE_B).Program()));
  ExpectRefused(Product({3}, {3, 4}, {4}), "has rank below 2");
  ExpectRefused(Product({2, 3}, {3}, {2}), "has rank below 2");
  ExpectRefused(Product({2, 2, 3}, {3, 3, 4}, {2, 2, 4}), "do not broadcast");
  // Packed weights beyond the limit: their biases, and all of them.
  ExpectTooLarge(Product({1, 4}, {4, 8}, {1, 8}), 500);
  ExpectTooLarge(Product({1, 40}, {40, 8}, {1, 8}), 4000);
  ExpectTooLarge(Linear(Type::FP32, {1, 40}, {8, 40}, {1, 8}, 0), 4000);
}

XIR_TEST(filters_of_other_quantization_are_refused) {
  const auto linear = [](Type type, const Sizes& filter) {
    GraphMaker g;
    graph::XNNFullyConnectedT node;
    node.input1_id = g.Internal(Type::QDInt8, {2, filter[1]});
    g.QuantizeByRow(node.input1_id, 1);
    graph::XNNNode1x1T rows;
    rows.input_id = g.Input(Type::FP32, {2, filter[1]});
    rows.output_id = node.input1_id;
    g.Node(XNodeUnion::XNNConvert, rows);
    node.filter_id = g.Constant(type, filter);
    node.bias_id = kAbsent;
    node.output_id = g.Output(Type::FP32, {2, filter[0]});
    g.Node(XNodeUnion::XNNFullyConnected, node);
    return g;
  };
  constexpr uint32_t kFilter = 2;  // the third value
  GraphMaker odd = linear(Type::QCInt4, {4, 5});
  odd.QuantizeByChannel(kFilter, 0, 4);
  ExpectRefused(odd, "an odd number of input channels (5)");
  GraphMaker along = linear(Type::QCInt8, {4, 4});
  along.QuantizeByChannel(kFilter, 1, 4);
  ExpectRefused(along, "scales are along dimension 1, not 0");
  GraphMaker small = linear(Type::QBInt4, {4, 64});
  small.QuantizeByGroup(kFilter, 16, 16);
  ExpectRefused(small, "into multiples of 32");
  GraphMaker across = linear(Type::QBInt4, {4, 64});
  across.QuantizeByGroup(kFilter, 32, 8);
  across.graph()
      ->xvalues[kFilter]
      ->xvalue_union.AsXNNQuantizedTensorValue()
      ->quant_params.AsPerChannelGroupQuant()
      ->channel_dim = 1;
  ExpectRefused(across, "along dimension 0");
  GraphMaker cube = linear(Type::QBInt4, {4, 64});
  cube.QuantizeByGroup(kFilter, 32, 8);
  FindValue(cube.graph(), kFilter)->dims = {2, 2, 64};
  ExpectRefused(cube, "only a constant qbint4 matrix");
  GraphMaker moving = linear(Type::QBInt4, {4, 64});
  moving.QuantizeByGroup(kFilter, 32, 8);
  FindValue(moving.graph(), kFilter)->constant_buffer_idx = 0;
  ExpectRefused(moving, "only a constant qbint4 matrix");
  GraphMaker shifted = Linear(Type::QInt8, {2, 4}, {3, 4}, {2, 3}, 0);
  shifted.QuantizeByTensor(1, 0.5f, 1);
  ExpectRefused(shifted, "the filter has the zero point 1");
}

XIR_TEST(values_of_other_kinds_are_refused) {
  const auto refused = [](const std::function<void(GraphMaker*)>& edit, const char* text) {
    GraphMaker g = Absolute(4);
    edit(&g);
    ExpectRefused(g, text);
  };
  refused([](GraphMaker* g) { FindValue(g->graph(), 0)->flags = 3; }, "flags 3");
  const Blob emptied = Absolute(4).Flatbuffer();
  Empty(graph::GetXNNGraph(emptied.data())->xnodes());
  EXPECT_ERROR(Verify(emptied), "the graph has no node");
  refused([](GraphMaker* g) { g->Bounds(g->graph()->xnodes[0].get(), -INFINITY, 2); },
          "but bounds nothing");
  refused(
      [](GraphMaker* g) {
        // 4 · (2^62 - 1) bytes, which with those of the others are no number.
        g->Internal(Type::FP32, {2147483647, 715827883, 3});
      },
      "take more than the limit");
  refused(
      [](GraphMaker* g) {
        const uint32_t rows = g->Input(Type::QDInt8, {4});
        g->QuantizeByRow(rows, 1);
      },
      "only an internal qdint8 value");
  refused(
      [](GraphMaker* g) {
        const uint32_t rows = g->Constant(Type::QDInt8, {4});
        g->QuantizeByRow(rows, 1);
      },
      "cannot be quantised at run time");
  refused(
      [](GraphMaker* g) {
        FindValue(g->graph(), 0)->constant_buffer_idx = 1;
        FindValue(g->graph(), 0)->flags = 0;
        FindValue(g->graph(), 0)->external_id = kAbsent;
        auto entry = std::make_unique<graph::ConstantDataOffsetT>();
        g->graph()->constant_data.push_back(std::move(entry));
      },
      "constant 1 does not exist");
}

// Buffers without bytes, lists that are there and empty, and the older identifier.
XIR_TEST(graphs_of_other_writers_are_read) {
  GraphMaker g = Absolute(4);
  auto buffer = std::make_unique<graph::BufferT>();
  g.graph()->constant_buffer.push_back(std::make_unique<graph::BufferT>());
  g.graph()->constant_buffer.push_back(std::move(buffer));
  EXPECT_OK(LoadForward(g.Program()));
  const auto identified = [&](const char* identifier) {
    Blob flatbuffer = g.Flatbuffer();
    std::copy_n(identifier, 4, flatbuffer.begin() + 4);
    return Verify(flatbuffer);
  };
  EXPECT_OK(identified("XN01"));
  EXPECT_OK(identified("XN00"));
  EXPECT_ERROR(identified("XN99"), "no XNNPACK graph of version");

  GraphMaker listed = Absolute(4);
  listed.graph()->constant_data.push_back(std::make_unique<graph::ConstantDataOffsetT>());
  const Blob emptied = listed.Flatbuffer();
  Empty(graph::GetXNNGraph(emptied.data())->constant_data());
  EXPECT_OK(Verify(emptied));

  flatbuffers::FlatBufferBuilder b;
  const auto nodes = b.CreateVector(std::vector<flatbuffers::Offset<graph::XNode>>());
  graph::XNNGraphBuilder without_values(b);
  without_values.add_xnodes(nodes);
  graph::FinishXNNGraphBuffer(b, without_values.Finish());
  EXPECT_ERROR(Verify(Blob(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize())),
               "no values or no nodes");
}

// What the runtime asks before XNNPACK sees inputs of other shapes.
namespace {

// Follows inputs, all of the shape `sizes`, through a graph. `empty` gets how many values are.
Status Followed(const GraphMaker& made, std::initializer_list<uint64_t> sizes,
                size_t* empty = nullptr) {
  const Blob flatbuffer = made.Flatbuffer();
  WorkBudget budget(flatbuffer.size());
  XIR_ASSIGN_OR_RETURN(const auto view, VerifyGraph(Bytes(flatbuffer.data(), flatbuffer.size()),
                                                    ProgramDescription(), {1 << 20}, &budget));
  GraphVerifier shapes(view, 1 << 20);
  XIR_RETURN_IF_ERROR(shapes.Run(&budget));
  Status status = shapes.Follow([&](const graph::XNNTensorValue&) {
    Dims dims;
    for (const uint64_t size : sizes) dims[dims.rank++] = size;
    return dims;
  });
  if (empty != nullptr) *empty = shapes.Empty().size();
  return status;
}

}  // namespace

XIR_TEST(shapes_that_come_are_those_of_inputs) {
  size_t empty = 1;
  EXPECT_OK(Followed(Absolute(4), {4}, &empty));
  EXPECT(empty == 0);
  EXPECT_OK(Followed(Absolute(4), {1}));
  EXPECT_ERROR(Followed(Absolute(4), {5}), "input 0 of shape [5] is none within [4]");
  EXPECT_ERROR(Followed(Absolute(4), {2, 2}), "is none within [4]");
}

XIR_TEST(shapes_that_come_may_be_empty) {
  size_t empty = 0;
  EXPECT_OK(Followed(Absolute(4), {0}, &empty));
  EXPECT(empty == 2);
  const auto convolution = [](XNodeUnion kind) {
    return Convolution(kind, {1, 4, 4, 2}, {2, 1, 1, 2}, {1, 4, 4, 2}, [](auto*) {});
  };
  EXPECT_OK(Followed(convolution(XNodeUnion::XNNConv2d), {1, 0, 4, 2}, &empty));
  EXPECT(empty == 2);
  EXPECT_ERROR(Followed(convolution(XNodeUnion::XNNConvTranspose2d), {1, 0, 4, 2}), "no elements");
  GraphMaker slice;
  graph::XNNStaticSliceT node;
  node.offsets = {2};
  node.sizes = {2};
  node.input_id = slice.Input(Type::FP32, {4});
  node.output_id = slice.Output(Type::FP32, {2});
  slice.Node(XNodeUnion::XNNStaticSlice, node);
  EXPECT_OK(Followed(slice, {2}, &empty));
  EXPECT(empty == 1);
}

}  // namespace xir::testing
