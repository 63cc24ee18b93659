#include "xnnpack/mirrors/long_chains.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "xnnpack/api.h"
#include "xnnpack/node_values.h"
#include "xnnpack/output_bounds.h"

namespace xir {
namespace {

// With nine nodes there is room for one more.
constexpr size_t kMaxNodes = 9;

bool IsElementwise(graph::XNodeUnion kind) {
  switch (kind) {
    case graph::XNodeUnion::XNNClamp:
    case graph::XNodeUnion::XNNConvert:
    case graph::XNodeUnion::XNNCopy:
    case graph::XNodeUnion::XNNELU:
    case graph::XNodeUnion::XNNLeakyReLU:
      return true;
#define XIR_UNARY(name, op)          \
  case graph::XNodeUnion::XNN##name: \
    return true;
#define XIR_BINARY(name, op) XIR_UNARY(name, op)
#define XIR_REDUCE(name, op)
#define XIR_NODE(name)
#include "xnnpack/node_dispatch.inc"
#undef XIR_UNARY
#undef XIR_BINARY
#undef XIR_REDUCE
#undef XIR_NODE
    default:
      return false;
  }
}

bool Is8Bit(const graph::XNNTensorValue& tensor) {
  return tensor.datatype() == graph::XNNDatatype::QInt8 ||
         tensor.datatype() == graph::XNNDatatype::QUInt8;
}

bool IsNumber(const graph::XNNTensorValue& tensor) {
  return tensor.dims() == nullptr || std::all_of(tensor.dims()->begin(), tensor.dims()->end(),
                                                 [](uint32_t dim) { return dim == 1; });
}

// How many nodes XNNPACK makes of one: bounds on a result are a clamp behind it.
size_t NodesOf(const graph::XNode& node) {
  return node.xnode_union_type() != graph::XNodeUnion::XNNClamp && BoundsOf(node).finite() ? 2 : 1;
}

// How a value follows from one of 8-bit integers by elementwise nodes alone. A part of the chain
// has kMaxNodes at most.
struct Chain {
  uint32_t root;
  uint32_t previous;  // the value before it
  bool starts_part;
  size_t nodes;          // since the root
  size_t nodes_of_part;  // since the part's start
};

// The chains of a graph, node by node. It knows more of them than XNNPACK, which ends a chain at a
// value that several nodes read.
class Chains {
 public:
  explicit Chains(const GraphView& view) : view_(view) {}

  void Add(const graph::XNode& node) {
    if (!IsElementwise(node.xnode_union_type())) return;
    const NodeValues values = ValuesOf(node);
    const std::optional<uint32_t> input = OnlyInput(values);
    if (!input.has_value()) return;
    Chain chain = *ChainTo(*input);
    const size_t nodes = NodesOf(node);
    chain.previous = *input;
    chain.nodes += nodes;
    chain.starts_part = chain.nodes_of_part + nodes > kMaxNodes;
    chain.nodes_of_part = nodes + (chain.starts_part ? 0 : chain.nodes_of_part);
    const uint32_t output = values.outputs.front();
    const graph::XNNTensorValue& tensor = Tensor(output);
    if (Is8Bit(tensor)) Cut(chain);
    if ((tensor.flags() & XNN_VALUE_FLAG_EXTERNAL_OUTPUT) == 0) chains_.emplace(output, chain);
  }

  std::unordered_set<uint32_t> TakeCuts() { return std::move(cuts_); }

 private:
  const graph::XNNTensorValue& Tensor(uint32_t id) const { return *TensorOf(*view_.values.at(id)); }

  // Of the operands in a chain, the one with the most nodes before it, where the node's result is a
  // function of one number.
  std::optional<uint32_t> OnlyInput(const NodeValues& node) const {
    std::optional<uint32_t> longest;
    for (const uint32_t input : node.inputs) {
      if (Tensor(input).constant_buffer_idx() != 0) {
        if (!IsNumber(Tensor(input))) return std::nullopt;
        continue;
      }
      const std::optional<Chain> chain = ChainTo(input);
      if (!chain.has_value()) return std::nullopt;
      if (longest.has_value() && ChainTo(*longest)->root != chain->root) return std::nullopt;
      if (!longest.has_value() || chain->nodes > ChainTo(*longest)->nodes) longest = input;
    }
    return longest;
  }

  std::optional<Chain> ChainTo(uint32_t id) const {
    if (const auto found = chains_.find(id); found != chains_.end()) return found->second;
    if (!Is8Bit(Tensor(id))) return std::nullopt;
    return Chain{id, XNN_INVALID_VALUE_ID, false, 0, 0};
  }

  // Cuts a chain into its parts, as far back as it has not been cut.
  void Cut(Chain chain) {
    while (true) {
      if (chain.starts_part && !cuts_.insert(chain.previous).second) return;
      const auto previous = chains_.find(chain.previous);
      if (previous == chains_.end()) return;
      chain = previous->second;
    }
  }

  const GraphView& view_;
  std::unordered_map<uint32_t, Chain> chains_;
  std::unordered_set<uint32_t> cuts_;
};

}  // namespace

std::unordered_set<uint32_t> CutsOfLongChains(const GraphView& view) {
  Chains chains(view);
  for (const graph::XNode* node : *view.graph->xnodes()) chains.Add(*node);
  return chains.TakeCuts();
}

}  // namespace xir
