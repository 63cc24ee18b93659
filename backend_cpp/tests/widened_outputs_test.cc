// Graphs that yield fp16 or bf16 values in fp32, and read them as they are too, behind nodes that
// XNNPACK has no kernel of the short type for.

#include <vector>

#include "graphs.h"
#include "kernels/element.h"
#include "testing.h"

namespace xir::testing {
namespace {

using graph::XNodeUnion;
using kernels::BFloat16;
using kernels::Half;
using kernels::ToBFloat16;
using kernels::ToFloat;
using kernels::ToHalf;
using Type = graph::XNNDatatype;
using Sizes = std::vector<uint32_t>;

// Exact in both short types, and so are their squares and doubles.
const std::vector<float> kNumbers = {1.5f, -0.5f, 3, 0.25f};

struct Graph {
  explicit Graph(Type type) : type(type) {}

  uint32_t Unary(XNodeUnion kind, uint32_t input, uint32_t output) {
    graph::XNNNode1x1T node;
    node.input_id = input;
    node.output_id = output;
    maker.Node(kind, node);
    return output;
  }

  uint32_t Binary(XNodeUnion kind, uint32_t a, uint32_t b, uint32_t output) {
    graph::XNNNode2x1T node;
    node.input1_id = a;
    node.input2_id = b;
    node.output_id = output;
    maker.Node(kind, node);
    return output;
  }

  // The numbers, one a channel, behind a node that XNNPACK has no kernel for: of fp16 it enlarges
  // no images, and bf16 has next to no kernels.
  uint32_t Behind() {
    if (type == Type::BF16) {
      const uint32_t x = maker.Input(type, sizes);
      return Binary(XNodeUnion::XNNMaximum, x, x, maker.Internal(type, sizes));
    }
    graph::XNNStaticResizeBilinear2DT node;
    node.new_height = node.new_width = 4;
    node.input_id = maker.Input(type, {1, 2, 2, 4});
    node.output_id = maker.Internal(type, sizes);
    maker.Node(XNodeUnion::XNNStaticResizeBilinear2D, node);
    return node.output_id;
  }

  uint32_t Widen(uint32_t value) {
    return Unary(XNodeUnion::XNNConvert, value, maker.Output(Type::FP32, sizes));
  }

  Type type;
  Sizes sizes = {1, 4, 4, 4};
  GraphMaker maker;
};

// The elements of an output in fp32.
std::vector<float> Elements(const Method& method, size_t output) {
  const Tensor& tensor = *method.output(output).get<Tensor>();
  std::vector<float> elements;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    switch (tensor.dtype) {
      case DType::kHalf:
        elements.push_back(ToFloat(tensor.as<Half>()[i]));
        break;
      case DType::kBFloat16:
        elements.push_back(ToFloat(tensor.as<BFloat16>()[i]));
        break;
      default:
        elements.push_back(tensor.as<float>()[i]);
    }
  }
  return elements;
}

// Runs the graph on the numbers, one after the other for as long as the input is, and expects those
// that `factors` and `squared` say of each output.
struct Expected {
  float factor;
  bool squared;
};

void ExpectOutputs(const Graph& g, const std::vector<Expected>& outputs) {
  auto method = LoadForward(g.maker.Program());
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  const Shape shape = method.value()->input(0).get<Tensor>()->shape;
  const auto count = static_cast<size_t>(shape.numel());
  std::vector<uint16_t> input;
  for (size_t i = 0; i < count; ++i) {
    const float number = kNumbers[i % kNumbers.size()];
    input.push_back(g.type == Type::FP16 ? ToHalf(number).bits : ToBFloat16(number).bits);
  }
  EXPECT_OK(method.value()->SetInput(0, input.data(), input.size() * 2, shape));
  EXPECT_OK(method.value()->Execute());
  for (size_t output = 0; output < outputs.size(); ++output) {
    const std::vector<float> got = Elements(*method.value(), output);
    for (size_t i = 0; i < got.size(); ++i) {
      const float number = kNumbers[i % kNumbers.size()];
      EXPECT(got[i] ==
             outputs[output].factor * (outputs[output].squared ? number * number : number));
    }
  }
}

constexpr Type kShortTypes[] = {Type::FP16, Type::BF16};

}  // namespace

XIR_TEST(outputs_in_fp32_leave_halves_to_the_other_readers) {
  for (const Type type : kShortTypes) {
    Graph g(type);
    const uint32_t y = g.Behind();
    g.Widen(y);
    g.Binary(XNodeUnion::XNNMultiply, y, y, g.maker.Output(type, g.sizes));
    ExpectOutputs(g, {{1, false}, {1, true}});
  }
}

XIR_TEST(outputs_in_fp32_may_be_read_and_repeated) {
  for (const Type type : kShortTypes) {
    Graph g(type);
    const uint32_t y = g.Behind();
    const uint32_t wide = g.Widen(y);
    g.Widen(y);
    const uint32_t doubled =
        g.Binary(XNodeUnion::XNNAdd, wide, wide, g.maker.Internal(Type::FP32, g.sizes));
    const uint32_t narrow =
        g.Unary(XNodeUnion::XNNConvert, doubled, g.maker.Internal(type, g.sizes));
    g.Binary(XNodeUnion::XNNAdd, y, narrow, g.maker.Output(type, g.sizes));
    ExpectOutputs(g, {{1, false}, {1, false}, {3, false}});
  }
}

XIR_TEST(copies_in_the_graph_are_readers_of_what_they_copy) {
  for (const Type type : kShortTypes) {
    Graph g(type);
    const uint32_t y = g.Behind();
    const uint32_t copy = g.Unary(XNodeUnion::XNNCopy, y, g.maker.Internal(type, g.sizes));
    g.Widen(copy);
    g.Binary(XNodeUnion::XNNMultiply, y, y, g.maker.Output(type, g.sizes));
    ExpectOutputs(g, {{1, false}, {1, true}});
  }
}

XIR_TEST(numbers_of_rank_0_are_widened_too) {
  Graph g(Type::BF16);
  g.sizes = {};
  const uint32_t x = g.maker.Input(Type::BF16, {});
  const uint32_t y = g.Binary(XNodeUnion::XNNMultiply, x, x, g.maker.Internal(Type::BF16, g.sizes));
  g.Widen(y);
  g.Binary(XNodeUnion::XNNAdd, y, y, g.maker.Output(Type::BF16, g.sizes));
  ExpectOutputs(g, {{1, true}, {2, true}});
}

}  // namespace xir::testing
