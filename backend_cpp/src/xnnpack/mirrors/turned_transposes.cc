#include "xnnpack/mirrors/turned_transposes.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "xnnpack/node_values.h"

namespace xir {
namespace {

bool IsProduct(const graph::XNode& node) {
  return node.xnode_union_type() == graph::XNodeUnion::XNNBatchMatrixMultiply ||
         node.xnode_union_type() == graph::XNodeUnion::XNNFullyConnected;
}

bool SwapsLastTwo(const graph::XNNStaticTranspose& node) {
  const auto& perm = *node.perm();
  const uint32_t rank = perm.size();
  if (rank < 2 || perm[rank - 1] != rank - 2 || perm[rank - 2] != rank - 1) return false;
  for (uint32_t i = 0; i + 2 < rank; ++i) {
    if (perm[i] != i) return false;
  }
  return true;
}

// The transposes of a graph. Inside of it a copy is the value that it copies
// (SubgraphBuilder::TakeAsAlias).
class Transposes {
 public:
  explicit Transposes(const GraphView& view) {
    for (const graph::XNode* node : *view.graph->xnodes()) {
      const auto* copy = node->xnode_union_as_XNNCopy();
      if (copy != nullptr && TensorOf(*view.values.at(copy->output_id()))->flags() == 0) {
        copied_[copy->output_id()] = SourceOf(copy->input_id());
      } else if (const auto* transpose = node->xnode_union_as_XNNStaticTranspose()) {
        by_output_[transpose->output_id()] = node;
      }
      if (copy != nullptr && copied_.count(copy->output_id()) != 0) continue;
      for (const uint32_t input : ValuesOf(*node).inputs) readers_[SourceOf(input)].insert(node);
    }
  }

  bool empty() const { return by_output_.empty(); }

  // Adds the transposed value that XNNPACK would turn for the right operand of `product` although
  // that reads it as another one, too.
  void FindTurned(const graph::XNode& product, std::unordered_set<uint32_t>* turned) const {
    std::vector<uint32_t> inputs = ValuesOf(product).inputs;
    for (uint32_t& input : inputs) input = SourceOf(input);
    uint32_t value = inputs[1];
    inputs.erase(inputs.begin() + 1);
    std::unordered_set<const graph::XNode*> passed = {&product};
    for (auto found = by_output_.find(value); found != by_output_.end();
         found = by_output_.find(value)) {
      const auto& readers = readers_.at(value);
      const bool is_read_elsewhere =
          std::any_of(readers.begin(), readers.end(),
                      [&passed](const graph::XNode* node) { return passed.count(node) == 0; });
      if (is_read_elsewhere) return;
      const auto& transpose = *found->second->xnode_union_as_XNNStaticTranspose();
      if (!SwapsLastTwo(transpose)) {
        if (std::count(inputs.begin(), inputs.end(), value) != 0) turned->insert(value);
        return;
      }
      passed.insert(found->second);
      value = SourceOf(transpose.input_id());
    }
  }

 private:
  uint32_t SourceOf(uint32_t id) const {
    const auto found = copied_.find(id);
    return found == copied_.end() ? id : found->second;
  }

  std::unordered_map<uint32_t, uint32_t> copied_;
  std::unordered_map<uint32_t, const graph::XNode*> by_output_;
  std::unordered_map<uint32_t, std::unordered_set<const graph::XNode*>> readers_;
};

}  // namespace

std::unordered_set<uint32_t> TurnedTransposes(const GraphView& view) {
  std::unordered_set<uint32_t> turned;
  const Transposes transposes(view);
  if (transposes.empty()) return turned;
  for (const graph::XNode* node : *view.graph->xnodes()) {
    if (IsProduct(*node)) transposes.FindTurned(*node, &turned);
  }
  return turned;
}

}  // namespace xir
