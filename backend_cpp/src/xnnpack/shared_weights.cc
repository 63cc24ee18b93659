#include "xnnpack/shared_weights.h"

#include <set>
#include <type_traits>

#include "xnnpack/node_values.h"

namespace xir {
namespace {

// Numbers one behind the other.
class Description {
 public:
  template <typename... Numbers>
  Description& Add(Numbers... numbers) {
    (AddOne(numbers), ...);
    return *this;
  }

  template <typename T>
  Description& AddAll(const flatbuffers::Vector<T>* list) {
    Add(list == nullptr ? UINT32_MAX : list->size());
    if (list != nullptr) {
      text_.append(reinterpret_cast<const char*>(list->data()), list->size() * sizeof(T));
    }
    return *this;
  }

  std::string text() && { return std::move(text_); }

 private:
  template <typename T>
  void AddOne(T number) {
    static_assert(std::is_scalar_v<T>);
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }

  std::string text_;
};

const void* ConstantOf(const GraphView& view, uint32_t index) {
  return index == 0 ? nullptr : view.constants[index].data();
}

// A value's type, and what a constant is.
void Describe(const GraphView& view, uint32_t id, Description* to) {
  const auto found = view.values.find(id);
  if (found == view.values.end()) {
    to->Add(false);
    return;
  }
  const graph::XNNTensorValue& tensor = *TensorOf(*found->second);
  const uint32_t constant = tensor.constant_buffer_idx();
  to->Add(true, tensor.datatype(), ConstantOf(view, constant));
  if (constant != 0) to->AddAll(tensor.dims());
  const auto* quantized = found->second->xvalue_union_as_XNNQuantizedTensorValue();
  if (quantized == nullptr) return;
  to->Add(quantized->quant_params_type());
  if (const auto* params = quantized->quant_params_as_PerTensorQuant()) {
    to->Add(params->scale(), params->zero_point());
  } else if (const auto* params = quantized->quant_params_as_PerChannelQuant()) {
    to->Add(params->channel_dim(), ConstantOf(view, params->scale_buffer_idx()));
    to->AddAll(params->scale());
  } else if (const auto* params = quantized->quant_params_as_PerTokenDynamicQuant()) {
    to->Add(params->num_nonbatch_dims());
  } else if (const auto* params = quantized->quant_params_as_PerChannelGroupQuant()) {
    to->Add(params->channel_dim(), params->group_size(),
            ConstantOf(view, params->scale_buffer_idx()));
    to->AddAll(params->scale());
  }
}

template <typename Node>
void DescribeOperands(const GraphView& view, const Node& node, Description* to) {
  to->Add(node.flags());
  for (const uint32_t id : {node.input1_id(), node.filter_id(), node.bias_id(), node.output_id()}) {
    Describe(view, id, to);
  }
}

void DescribeConvolution(const GraphView& view, const graph::XNNNodeConv& node, Description* to) {
  to->Add(node.padding_top(), node.padding_right(), node.padding_bottom(), node.padding_left(),
          node.kernel_height(), node.kernel_width(), node.subsampling_height(),
          node.subsampling_width(), node.dilation_height(), node.dilation_width(),
          node.group_input_channels(), node.group_output_channels(), node.groups(),
          node.adjustment_height(), node.adjustment_width());
  DescribeOperands(view, node, to);
}

struct Weighted {
  uint32_t input = 0;
  uint32_t filter = 0;
};

// Whether it is a node whose weights XNNPACK asks its cache for.
bool DescribeNode(const GraphView& view, const graph::XNode& node, Description* to,
                  Weighted* operands) {
  to->Add(node.xnode_union_type());
  const auto convolution = [&](const graph::XNNNodeConv& conv) {
    DescribeConvolution(view, conv, to);
    *operands = {conv.input1_id(), conv.filter_id()};
    return true;
  };
  if (const auto* full = node.xnode_union_as_XNNFullyConnected()) {
    DescribeOperands(view, *full, to);
    *operands = {full->input1_id(), full->filter_id()};
    return true;
  }
  if (const auto* conv = node.xnode_union_as_XNNConv2d()) return convolution(*conv);
  if (const auto* conv = node.xnode_union_as_XNNDepthwiseConv2d()) return convolution(*conv);
  if (const auto* conv = node.xnode_union_as_XNNConvTranspose2d()) return convolution(*conv);
  return false;
}

}  // namespace

std::unordered_map<uint32_t, std::string> DescribeWeights(const GraphView& view) {
  // XNNPACK fuses a node with the one that makes its input, where that is a conversion.
  std::unordered_map<uint32_t, graph::XNodeUnion> makers;
  // Of constants, by their first byte: XNNPACK knows them by it, and several may have one.
  std::unordered_map<const void*, int> readers;
  const auto constant_of = [&](uint32_t id) {
    return TensorOf(*view.values.at(id))->constant_buffer_idx();
  };
  for (const graph::XNode* node : *view.graph->xnodes()) {
    const NodeValues values = ValuesOf(*node);
    for (const uint32_t id : values.outputs) makers.emplace(id, node->xnode_union_type());
    for (const uint32_t id : std::set<uint32_t>(values.inputs.begin(), values.inputs.end())) {
      if (view.values.count(id) != 0) ++readers[ConstantOf(view, constant_of(id))];
    }
  }
  std::unordered_map<uint32_t, std::string> descriptions;
  for (const graph::XNode* node : *view.graph->xnodes()) {
    Description description;
    Weighted operands;
    if (!DescribeNode(view, *node, &description, &operands)) continue;
    const uint32_t filter = constant_of(operands.filter);
    if (filter == 0 || readers[ConstantOf(view, filter)] != 1) continue;
    const auto maker = makers.find(operands.input);
    description.Add(maker == makers.end() ? graph::XNodeUnion::NONE : maker->second);
    descriptions.emplace(filter, std::move(description).text());
  }
  return descriptions;
}

size_t SharedWeights::constant_bytes() const {
  size_t total = 0;
  for (const PackedGraph* graph : graphs_) total += graph->constant_bytes();
  return total;
}

size_t SharedWeights::nbytes() const {
  std::unordered_map<const uint8_t*, size_t> sizes;
  for (const PackedGraph* graph : graphs_) {
    const auto weights = graph->weights();
    if (weights == nullptr) continue;
    for (const PackedWeight& weight : weights->weights) sizes.emplace(weight.data, weight.size);
  }
  size_t total = 0;
  for (const auto& [data, size] : sizes) total += size;
  return total;
}

std::string SharedWeights::KeyOf(const std::string& description, uint32_t seed) {
  return description + std::string(reinterpret_cast<const char*>(&seed), sizeof(seed));
}

SharedWeights::Found SharedWeights::Find(const std::string& description, uint32_t seed) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(KeyOf(description, seed));
  if (found == entries_.end()) return {};
  return {found->second.owner.lock(), found->second.weight};
}

void SharedWeights::Add(const std::string& description, const PackedWeight& weight,
                        const std::shared_ptr<const PackedWeights>& owner) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[KeyOf(description, weight.seed)];
  if (entry.owner.expired()) entry = {owner, weight};
}

}  // namespace xir
