#include "xnnpack/subgraph_builder.h"

#include <algorithm>
#include <cstring>

#include "xnnpack/datatype.h"
#include "xnnpack/define_node.h"
#include "xnnpack/node_values.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace xir {
namespace {

// 4-bit weights are stored with 8 added.
constexpr int32_t kInt4ZeroPoint = 8;

std::vector<size_t> DimsOf(const graph::XNNTensorValue& tensor) {
  if (tensor.dims() == nullptr) return {};
  return std::vector<size_t>(tensor.dims()->begin(), tensor.dims()->end());
}

const void* DataOf(const GraphView& view, uint32_t index) {
  return index == 0 ? nullptr : view.constants[index].data();
}

// To nearest, as group scales are stored where they are not in bf16 already.
uint16_t ToBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

}  // namespace

Status SubgraphBuilder::Build() {
  const auto values = static_cast<uint32_t>(view_.graph->xvalues()->size());
  const uint32_t external =
      view_.graph->num_externs() + (inside_ == Inside::kAsOutputs ? values : 0);
  xnn_subgraph_t subgraph = nullptr;
  XIR_RETURN_IF_ERROR(
      CheckXnn(xnn_create_subgraph(external, /*flags=*/0, &subgraph), "create a subgraph"));
  subgraph_.reset(subgraph);
  for (const graph::XValue* value : *view_.graph->xvalues()) {
    if (!IsEmpty(TensorOf(*value)->id_out())) XIR_RETURN_IF_ERROR(DefineValue(*value));
  }
  for (flatbuffers::uoffset_t i = 0; i < view_.graph->xnodes()->size(); ++i) {
    const graph::XNode& node = *view_.graph->xnodes()->Get(i);
    refused_node_ = i;
    XIR_ASSIGN_OR_RETURN(const bool skipped, IsSkipped(node));
    if (skipped) continue;
    has_nodes_ = true;
    xnn_status status = TakeAsAlias(node) ? xnn_status_success : DefineNode(node, *this);
    if (status == xnn_status_success) status = CutBehind(node);
    if (status == xnn_status_success) continue;
    return CheckXnn(status,
                    std::string("define ") + graph::EnumNameXNodeUnion(node.xnode_union_type()));
  }
  refused_node_.reset();
  return {};
}

Result<bool> SubgraphBuilder::IsSkipped(const graph::XNode& node) const {
  if (empty_.empty()) return false;
  const auto is_empty = [&](uint32_t id) { return IsEmpty(id); };
  const NodeValues values = ValuesOf(node);
  if (std::all_of(values.outputs.begin(), values.outputs.end(), is_empty)) return true;
  switch (node.xnode_union_type()) {
    case graph::XNodeUnion::XNNConcatenate2:
    case graph::XNodeUnion::XNNConcatenate3:
    case graph::XNodeUnion::XNNConcatenate4:
    case graph::XNodeUnion::XNNConcatenate5:
      return false;
    default:
      break;
  }
  const auto operand = std::find_if(values.inputs.begin(), values.inputs.end(), is_empty);
  if (operand == values.inputs.end()) return false;
  return Fail(Code::kUnsupported, graph::EnumNameXNodeUnion(node.xnode_union_type()), " of value ",
              *operand, ", which is empty at these shapes");
}

bool SubgraphBuilder::TakeAsAlias(const graph::XNode& node) {
  const auto* copy = node.xnode_union_as_XNNCopy();
  if (copy == nullptr || TensorOf(*view_.values.at(copy->output_id()))->flags() != 0) return false;
  ids_[copy->output_id()] = Id(copy->input_id());
  return true;
}

xnn_status SubgraphBuilder::CutBehind(const graph::XNode& node) {
  if (cuts_.empty()) return xnn_status_success;
  for (const uint32_t output : ValuesOf(node).outputs) {
    if (cuts_.count(output) == 0) continue;
    uint32_t copy = XNN_INVALID_VALUE_ID;
    xnn_status status = NewTemporary(output, Datatype(output), &copy);
    if (status != xnn_status_success) return status;
    status = DefineKeptCopy(subgraph(), Rank(output), Id(output), copy);
    if (status != xnn_status_success) return status;
    ids_[output] = copy;
  }
  return xnn_status_success;
}

xnn_status SubgraphBuilder::CreateRuntime(xnn_weights_cache_t weights, xnn_workspace_t workspace,
                                          pthreadpool_t threadpool, uint32_t flags,
                                          xnn_runtime_t* runtime) {
  const xnn_status status =
      xnn_create_runtime_v4(subgraph(), weights, workspace, threadpool, flags, runtime);
  if (status == xnn_status_success) return status;
  [[maybe_unused]] const void* leaked = subgraph_.release();
#ifdef __SANITIZE_ADDRESS__
  __lsan_ignore_object(leaked);
#endif
  return status;
}

Status SubgraphBuilder::DefineValue(const graph::XValue& value) {
  const graph::XNNTensorValue& tensor = *TensorOf(value);
  uint32_t id = XNN_INVALID_VALUE_ID;
  xnn_status status;
  if (const auto* quantized = value.xvalue_union_as_XNNQuantizedTensorValue()) {
    status = DefineQuantized(*quantized, &id);
  } else {
    status = DefineTensor(tensor, &id);
  }
  ids_.emplace(tensor.id_out(), id);
  return CheckXnn(status, "define value " + std::to_string(tensor.id_out()));
}

xnn_status SubgraphBuilder::DefineTensor(const graph::XNNTensorValue& tensor, uint32_t* id) {
  const std::vector<size_t> dims = DimsOf(tensor);
  const void* data = DataOf(view_, tensor.constant_buffer_idx());
  uint32_t external_id = tensor.external_id(), flags = tensor.flags();
  if (inside_ == Inside::kAsOutputs && data == nullptr && external_id == XNN_INVALID_VALUE_ID) {
    external_id = view_.graph->num_externs() + outputs_++;
    flags |= XNN_VALUE_FLAG_EXTERNAL_OUTPUT;
  }
  return xnn_define_tensor_value(subgraph(), ToXnnDatatype(tensor.datatype()), dims.size(),
                                 dims.data(), data, external_id, flags, id);
}

xnn_status SubgraphBuilder::DefineQuantized(const graph::XNNQuantizedTensorValue& value,
                                            uint32_t* id) {
  using graph::XNNQuantParams;
  const graph::XNNTensorValue& tensor = *value.tensor_value();
  const xnn_datatype datatype = ToXnnDatatype(tensor.datatype());
  const std::vector<size_t> dims = DimsOf(tensor);
  const void* data = DataOf(view_, tensor.constant_buffer_idx());
  switch (value.quant_params_type()) {
    case XNNQuantParams::PerTensorQuant: {
      const auto& params = *value.quant_params_as_PerTensorQuant();
      return xnn_define_quantized_tensor_value(subgraph(), datatype, params.zero_point(),
                                               params.scale(), dims.size(), dims.data(), data,
                                               tensor.external_id(), tensor.flags(), id);
    }
    case XNNQuantParams::PerChannelQuant: {
      const auto& params = *value.quant_params_as_PerChannelQuant();
      const void* scale = params.scale_buffer_idx() != 0 ? DataOf(view_, params.scale_buffer_idx())
                                                         : params.scale()->data();
      const int32_t zero_point = datatype == xnn_datatype_qcint4 ? kInt4ZeroPoint : 0;
      return xnn_define_channelwise_quantized_tensor_value_v2(
          subgraph(), datatype, zero_point, static_cast<const float*>(scale), dims.size(),
          static_cast<size_t>(params.channel_dim()), dims.data(), data, tensor.external_id(),
          tensor.flags(), id);
    }
    case XNNQuantParams::PerTokenDynamicQuant: {
      const auto& params = *value.quant_params_as_PerTokenDynamicQuant();
      return xnn_define_dynamically_quantized_tensor_value(
          subgraph(), datatype, dims.size(), static_cast<size_t>(params.num_nonbatch_dims()),
          dims.data(), tensor.external_id(), tensor.flags(), id);
    }
    case XNNQuantParams::PerChannelGroupQuant: {
      const auto& params = *value.quant_params_as_PerChannelGroupQuant();
      const void* scale = DataOf(view_, params.scale_buffer_idx());
      if (scale == nullptr) {
        std::vector<uint16_t>& converted = bf16_scales_.emplace_back();
        for (const float each : *params.scale()) converted.push_back(ToBFloat16(each));
        scale = converted.data();
      }
      return xnn_define_blockwise_quantized_tensor_value(
          subgraph(), datatype, kInt4ZeroPoint, static_cast<const uint16_t*>(scale), dims.size(),
          static_cast<size_t>(params.channel_dim()), static_cast<size_t>(params.group_size()),
          dims.data(), data, tensor.external_id(), tensor.flags(), id);
    }
    default:
      return xnn_status_unsupported_parameter;
  }
}

xnn_datatype SubgraphBuilder::Datatype(uint32_t id) const {
  return ToXnnDatatype(TensorOf(*view_.values.at(id))->datatype());
}

size_t SubgraphBuilder::Rank(uint32_t id) const {
  const auto* dims = TensorOf(*view_.values.at(id))->dims();
  return dims == nullptr ? 0 : dims->size();
}

xnn_status SubgraphBuilder::NewTemporary(uint32_t like, xnn_datatype datatype, uint32_t* id) const {
  const graph::XValue& value = *view_.values.at(like);
  const std::vector<size_t> dims = DimsOf(*TensorOf(value));
  const auto* quantized = value.xvalue_union_as_XNNQuantizedTensorValue();
  const auto* params = quantized == nullptr ? nullptr : quantized->quant_params_as_PerTensorQuant();
  if (params == nullptr) {
    return xnn_define_tensor_value(subgraph(), datatype, dims.size(), dims.data(), /*data=*/nullptr,
                                   XNN_INVALID_VALUE_ID, /*flags=*/0, id);
  }
  return xnn_define_quantized_tensor_value(subgraph(), datatype, params->zero_point(),
                                           params->scale(), dims.size(), dims.data(),
                                           /*data=*/nullptr, XNN_INVALID_VALUE_ID, /*flags=*/0, id);
}

}  // namespace xir
