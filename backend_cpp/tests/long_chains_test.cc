// Chains of elementwise nodes between 8-bit integers, of which XNNPACK makes look-ups of nine nodes
// at most.

#include <algorithm>
#include <cmath>
#include <vector>

#include "graphs.h"
#include "testing.h"

namespace xir::testing {
namespace {

using graph::XNodeUnion;
using Type = graph::XNNDatatype;
using Sizes = std::vector<uint32_t>;

const std::vector<int8_t> kIntegers = {-128, -100, -17, -1, 0, 1, 5, 127};
const Sizes kSizes = {2, 4};

uint32_t Unary(GraphMaker* maker, XNodeUnion kind, uint32_t input, uint32_t output) {
  graph::XNNNode1x1T node;
  node.input_id = input;
  node.output_id = output;
  maker->Node(kind, node);
  return output;
}

// Negations of x, one after the other; values are of `type` but for the first and the last.
uint32_t Negations(GraphMaker* maker, Type type, size_t count, uint32_t x) {
  for (size_t i = 0; i < count; ++i) {
    x = Unary(maker, XNodeUnion::XNNNegate, x, maker->Internal(type, kSizes));
  }
  return x;
}

// Runs the graph on integers, and expects those of `expected`.
template <typename Expected>
void ExpectIntegers(const GraphMaker& maker, Expected expected) {
  auto method = LoadForward(maker.Program());
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  const Shape shape = method.value()->input(0).get<Tensor>()->shape;
  std::vector<int8_t> integers = kIntegers;
  EXPECT_OK(method.value()->SetInput(0, integers.data(), integers.size(), shape));
  EXPECT_OK(method.value()->Execute());
  const auto* got = method.value()->output(0).get<Tensor>()->as<int8_t>();
  for (size_t i = 0; i < kIntegers.size(); ++i) EXPECT(got[i] == expected(kIntegers[i]));
}

// -x in 8 bits is no -128, so that the first negation of -128 is 127.
int Negated(int x, size_t times) {
  for (size_t i = 0; i < times; ++i) x = std::min(-x, 127);
  return x;
}

}  // namespace

XIR_TEST(integers_may_go_through_any_number_of_nodes) {
  for (const size_t count : {1, 8, 9, 10, 11, 18, 19, 20, 27, 28, 64}) {
    GraphMaker maker;
    const uint32_t x = Negations(&maker, Type::QInt8, count - 1, maker.Input(Type::QInt8, kSizes));
    Unary(&maker, XNodeUnion::XNNNegate, x, maker.Output(Type::QInt8, kSizes));
    ExpectIntegers(maker, [&](int value) { return Negated(value, count); });
  }
}

XIR_TEST(floats_between_integers_may_go_through_any_number_of_nodes) {
  for (const size_t count : {1, 7, 8, 9, 10, 17, 18, 26, 27, 64}) {
    GraphMaker maker;
    const uint32_t wide = Unary(&maker, XNodeUnion::XNNConvert, maker.Input(Type::QInt8, kSizes),
                                maker.Internal(Type::FP32, kSizes));
    Unary(&maker, XNodeUnion::XNNConvert, Negations(&maker, Type::FP32, count, wide),
          maker.Output(Type::QInt8, kSizes));
    ExpectIntegers(maker,
                   [&](int value) { return count % 2 == 0 ? value : std::min(-value, 127); });
  }
}

// The constant is next to 0.
XIR_TEST(a_bound_on_a_result_counts_as_a_node) {
  for (size_t count = 1; count <= 12; ++count) {
    GraphMaker maker;
    uint32_t x = Unary(&maker, XNodeUnion::XNNConvert, maker.Input(Type::QInt8, kSizes),
                       maker.Internal(Type::FP32, kSizes));
    for (size_t i = 0; i < count; ++i) {
      graph::XNNNode2x1T node;
      node.input1_id = x;
      node.input2_id = maker.Constant(Type::FP32, {1});
      x = node.output_id = maker.Internal(Type::FP32, kSizes);
      maker.Bounds(maker.Node(XNodeUnion::XNNAdd, node), -1, 2);
    }
    Unary(&maker, XNodeUnion::XNNConvert, x, maker.Output(Type::QInt8, kSizes));
    ExpectIntegers(maker, [](int value) { return std::clamp(value, -16, 32); });
  }
}

XIR_TEST(copies_in_a_long_chain_are_no_nodes) {
  GraphMaker maker;
  uint32_t x = maker.Input(Type::QInt8, kSizes);
  for (size_t i = 0; i < 20; ++i) {
    x = Negations(&maker, Type::QInt8, 1, x);
    x = Unary(&maker, XNodeUnion::XNNCopy, x, maker.Internal(Type::QInt8, kSizes));
  }
  Unary(&maker, XNodeUnion::XNNNegate, x, maker.Output(Type::QInt8, kSizes));
  ExpectIntegers(maker, [](int value) { return Negated(value, 21); });
}

}  // namespace xir::testing
