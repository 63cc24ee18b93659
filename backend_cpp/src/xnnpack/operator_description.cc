#include "xnnpack/operator_description.h"

#include <algorithm>

#include "xnnpack/datatype.h"
#include "xnnpack/mirrors/operator_map.h"
#include "xnnpack/node_values.h"

namespace xir {
namespace {

using flatbuffers::uoffset_t;

// What a value of a graph takes at its largest.
uint64_t ValueBytes(const graph::XNNTensorValue& tensor) {
  uint64_t bits = DatatypeBits(ToXnnDatatype(tensor.datatype()));
  if (tensor.dims() == nullptr) return bits / 8;
  for (const uint32_t size : *tensor.dims()) bits *= size;
  return bits / 8;
}

}  // namespace

std::vector<DelegateOperator> DescribeOperators(const GraphView& view,
                                                const std::vector<std::string>& names) {
  const std::vector<MappedOperator> mapped = MapOperators(view, names);
  std::vector<DelegateOperator> operators;
  for (size_t i = 0; i < names.size(); ++i) {
    DelegateOperator& each = operators.emplace_back();
    // "Convolution (NHWC, F32) IGEMM"
    const size_t end = std::min(names[i].find(") "), names[i].size());
    each.name = names[i].substr(0, end + 1);
    if (end < names[i].size()) each.microkernel = names[i].substr(end + 2);
    each.debug_handle = mapped[i].debug_handle;
    each.node = mapped[i].node;
    if (each.node == MappedOperator::kUnknown) continue;
    const NodeValues values =
        ValuesOf(*view.graph->xnodes()->Get(static_cast<uoffset_t>(each.node)));
    for (const uint32_t id : values.outputs) {
      const auto value = view.values.find(id);
      if (value != view.values.end()) each.result_bytes += ValueBytes(*TensorOf(*value->second));
    }
    for (const uint32_t id : values.inputs) {
      const auto value = view.values.find(id);
      if (value == view.values.end()) continue;
      const graph::XNNTensorValue& tensor = *TensorOf(*value->second);
      if (tensor.constant_buffer_idx() != 0) each.constant_bytes += ValueBytes(tensor);
    }
  }
  return operators;
}

}  // namespace xir
