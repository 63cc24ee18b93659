// Nodes on combinations of types, constants and scales that XNNPACK does not check itself.

#include "exercise.h"
#include "graphs.h"
#include "testing.h"

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

}  // namespace

XIR_TEST(graphs_by_hand_run) {
  GraphMaker g;
  const uint32_t a = g.Input(Type::FP32, {2, 3}), b = g.Constant(Type::FP32, {4, 3});
  g.Node(XNodeUnion::XNNFullyConnected, Linear(a, b, kAbsent, g.Output(Type::FP32, {2, 4})));
  EXPECT_OK(Run(g));
}

// XNNPACK reads a scale for each column of each matrix of the batch.
XIR_TEST(batches_are_not_quantised_by_channel) {
  for (const int32_t channel_dim : {0, 1, 2}) {
    GraphMaker g;
    const uint32_t a = g.Input(Type::FP32, {64, 2, 8});
    const uint32_t b = g.Constant(Type::QCInt8, {64, 8, 512});
    g.QuantiseByChannel(b, channel_dim, channel_dim == 2 ? 512 : channel_dim == 1 ? 8 : 64);
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

}  // namespace xir::testing
