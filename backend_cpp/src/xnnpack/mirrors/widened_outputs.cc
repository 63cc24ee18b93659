#include "xnnpack/mirrors/widened_outputs.h"

#include <unordered_map>

#include "xnnpack/api.h"
#include "xnnpack/node_values.h"

namespace xir {
namespace {

// How many nodes read each value, by id. Inside of the graph a copy is the value that it copies
// (SubgraphBuilder::TakeAsAlias).
class Readers {
 public:
  explicit Readers(const GraphView& view) {
    for (const graph::XNode* node : *view.graph->xnodes()) {
      const auto* copy = node->xnode_union_as_XNNCopy();
      if (copy != nullptr && TensorOf(*view.values.at(copy->output_id()))->flags() == 0) {
        copied_[copy->output_id()] = SourceOf(copy->input_id());
        continue;
      }
      for (const uint32_t input : ValuesOf(*node).inputs) ++counts_[SourceOf(input)];
    }
  }

  size_t CountOf(uint32_t id) const {
    const auto found = counts_.find(SourceOf(id));
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  uint32_t SourceOf(uint32_t id) const {
    const auto found = copied_.find(id);
    return found == copied_.end() ? id : found->second;
  }

  std::unordered_map<uint32_t, uint32_t> copied_;
  std::unordered_map<uint32_t, size_t> counts_;
};

bool IsWidenedOutput(const GraphView& view, const graph::XNNNode1x1& node) {
  const auto& source = *TensorOf(*view.values.at(node.input_id()));
  const auto& result = *TensorOf(*view.values.at(node.output_id()));
  return (source.datatype() == graph::XNNDatatype::FP16 ||
          source.datatype() == graph::XNNDatatype::BF16) &&
         result.datatype() == graph::XNNDatatype::FP32 &&
         (result.flags() & XNN_VALUE_FLAG_EXTERNAL_OUTPUT) != 0;
}

}  // namespace

std::unordered_set<uint32_t> WidenedOutputs(const GraphView& view) {
  std::unordered_map<uint32_t, uint32_t> sources;
  for (const graph::XNode* node : *view.graph->xnodes()) {
    const auto* convert = node->xnode_union_as_XNNConvert();
    if (convert == nullptr || !IsWidenedOutput(view, *convert)) continue;
    sources.emplace(convert->output_id(), convert->input_id());
  }
  std::unordered_set<uint32_t> widened;
  if (sources.empty()) return widened;
  const Readers readers(view);
  for (const auto& [output, source] : sources) {
    if (readers.CountOf(source) > 1) widened.insert(output);
  }
  return widened;
}

}  // namespace xir
