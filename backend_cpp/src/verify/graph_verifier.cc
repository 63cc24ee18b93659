#include "verify/graph_verifier.h"

#include <algorithm>

#include "core/checked.h"
#include "verify/verify_node.h"
#include "xnnpack/datatype.h"

namespace xir {
namespace {

constexpr uint64_t kMaxDim = INT32_MAX;
constexpr uint32_t kExternalFlags = XNN_VALUE_FLAG_EXTERNAL_INPUT | XNN_VALUE_FLAG_EXTERNAL_OUTPUT;

template <typename... Parts>
Status Bad(const Parts&... parts) {
  return Fail(Code::kInvalidProgram, parts...);
}

bool IsRowQuantized(xnn_datatype datatype) { return datatype == xnn_datatype_qdint8; }

bool IsPlain(xnn_datatype datatype) {
  switch (datatype) {
    case xnn_datatype_fp32:
    case xnn_datatype_fp16:
    case xnn_datatype_bf16:
    case xnn_datatype_qint8:
    case xnn_datatype_quint8:
    case xnn_datatype_int32:
    case xnn_datatype_qint32:
      return true;
    default:
      return false;
  }
}

// Rows of 4-bit elements start at a byte.
bool ByteSize(const Dims& dims, xnn_datatype datatype, uint64_t* nbytes) {
  const uint64_t bits = DatatypeBits(datatype);
  *nbytes = bits < 8 ? 1 : bits / 8;
  for (size_t i = 0; i < dims.rank; ++i) {
    const bool packed = bits == 4 && i + 1 == dims.rank;
    if (!CheckedMul(*nbytes, packed ? (dims[i] + 1) / 2 : dims[i], nbytes)) return false;
  }
  return true;
}

}  // namespace

bool Dims::operator==(const Dims& other) const {
  return rank == other.rank && std::equal(size.begin(), size.begin() + rank, other.size.begin());
}

std::string Dims::ToString() const {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i) text += (i > 0 ? ", " : "") + std::to_string(size[i]);
  return text + "]";
}

uint64_t GraphValue::numel() const {
  uint64_t count = 1;
  for (size_t i = 0; i < dims.rank; ++i) count *= dims[i];
  return count;
}

Status GraphVerifier::Run() {
  for (const graph::XValue* value : *view_.graph->xvalues()) {
    const graph::XNNTensorValue* tensor =
        value->xvalue_union() == nullptr ? nullptr : TensorOf(*value);
    if (tensor == nullptr) return Bad("a value of unknown kind");
    XIR_RETURN_IF_ERROR(AddValue(*value).In("value " + std::to_string(tensor->id_out())));
  }
  size_t index = 0;
  for (const graph::XNode* node : *view_.graph->xnodes()) {
    const std::string context = "node " + std::to_string(index++) + " (" +
                                graph::EnumNameXNodeUnion(node->xnode_union_type()) + ")";
    XIR_RETURN_IF_ERROR(VerifyNode(*node).In(context));
  }
  if (index == 0) return Bad("the graph has no node");
  for (const auto& [id, value] : values_) {
    if ((value.tensor->flags() & XNN_VALUE_FLAG_EXTERNAL_OUTPUT) != 0 && !value.written) {
      return Bad("no node writes output value ", id);
    }
  }
  return {};
}

Status GraphVerifier::VerifyNode(const graph::XNode& node) {
  if (node.xnode_union() == nullptr) return Bad("it is empty");
  if (const auto* bounds = node.output_min_max();
      bounds != nullptr && !(bounds->output_min() <= bounds->output_max())) {
    return Bad("its output range [", bounds->output_min(), ", ", bounds->output_max(),
               "] is empty");
  }
  return VerifyXnode(node, this);
}

Status GraphVerifier::AddValue(const graph::XValue& value) {
  const graph::XNNTensorValue& tensor = *TensorOf(value);
  GraphValue entry;
  entry.value = &value;
  entry.tensor = &tensor;
  entry.datatype = ToXnnDatatype(tensor.datatype());
  if (DatatypeBits(entry.datatype) == 0) {
    return Bad("datatype ", static_cast<int>(tensor.datatype()), " is not one a value can have");
  }
  if (tensor.dq_datatype() != graph::XNNDatatype::Invalid) {
    return Fail(Code::kUnsupported,
                "it uses dq_datatype, which ExecuTorch stopped writing in 2023");
  }
  entry.dims.rank = tensor.dims() == nullptr ? 0 : tensor.dims()->size();
  if (entry.dims.rank > XNN_MAX_TENSOR_DIMS) {
    return Bad("rank ", entry.dims.rank, " exceeds ", XNN_MAX_TENSOR_DIMS);
  }
  for (size_t i = 0; i < entry.dims.rank; ++i) {
    entry.dims[i] = tensor.dims()->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (entry.dims[i] == 0 || entry.dims[i] > kMaxDim) return Bad("a dimension of ", entry.dims[i]);
  }
  if (!ByteSize(entry.dims, entry.datatype, &entry.nbytes)) return Bad("its size overflows");
  XIR_RETURN_IF_ERROR(VerifyExternal(tensor));
  XIR_RETURN_IF_ERROR(VerifyConstant(tensor, &entry));
  XIR_RETURN_IF_ERROR(VerifyQuantization(value, entry));
  entry.written = entry.constant || (tensor.flags() & XNN_VALUE_FLAG_EXTERNAL_INPUT) != 0;
  if (!entry.constant) {
    if (!CheckedAdd(total_, entry.nbytes, &total_) || total_ > max_memory_) {
      return Fail(Code::kResource, "the values up to here take more than the limit of ",
                  max_memory_, " bytes");
    }
  }
  if (!values_.emplace(tensor.id_out(), entry).second) return Bad("its id is not unique");
  return {};
}

Status GraphVerifier::VerifyExternal(const graph::XNNTensorValue& tensor) {
  const uint32_t id = tensor.external_id();
  if ((tensor.flags() & ~kExternalFlags) != 0 || tensor.flags() == kExternalFlags) {
    return Bad("flags ", tensor.flags());
  }
  if ((tensor.flags() == 0) != (id == XNN_INVALID_VALUE_ID)) {
    return Bad("external id ", id, " does not agree with flags ", tensor.flags());
  }
  if (tensor.flags() == 0) return {};
  if (id >= view_.graph->num_externs() || id >= external_used_.size()) {
    return Bad("external id ", id, " of ", view_.graph->num_externs());
  }
  if (external_used_[id]) return Bad("external id ", id, " is used twice");
  external_used_[id] = true;
  return {};
}

Status GraphVerifier::VerifyConstant(const graph::XNNTensorValue& tensor, GraphValue* entry) const {
  const uint32_t index = tensor.constant_buffer_idx();
  entry->constant = index != 0;
  if (!entry->constant) return {};
  if (tensor.flags() != 0) return Bad("it is a constant and external");
  if (IsRowQuantized(entry->datatype)) return Bad("a constant cannot be quantised at run time");
  if (index >= view_.constants.size()) return Bad("constant ", index, " does not exist");
  const Bytes data = view_.constants[index];
  if (data.size() < entry->nbytes) {
    return Bad("its shape ", entry->dims.ToString(), " takes ", entry->nbytes, " bytes, constant ",
               index, " has ", data.size());
  }
  const uint64_t alignment = std::max<uint64_t>(DatatypeBits(entry->datatype) / 8, 1);
  if (reinterpret_cast<uintptr_t>(data.data()) % alignment != 0) {
    return Bad("constant ", index, " is not aligned to its elements");
  }
  return {};
}

Status GraphVerifier::VerifyScales(const flatbuffers::Vector<float>* scales, uint32_t buffer,
                                   uint64_t count, uint64_t buffer_element_size) const {
  // XNNPACK looks at each, and what is not a buffer of the file's may be converted.
  XIR_RETURN_IF_ERROR(budget_->Charge(scales));
  XIR_RETURN_IF_ERROR(budget_->Charge(count * buffer_element_size));
  if (buffer == 0) {
    const uint64_t found = scales == nullptr ? 0 : scales->size();
    return found >= count ? Status() : Bad(found, " scales for ", count, " channels or groups");
  }
  if (buffer >= view_.constants.size()) return Bad("scales ", buffer, " do not exist");
  const Bytes data = view_.constants[buffer];
  if (data.size() / buffer_element_size < count) {
    return Bad(data.size(), " bytes of scales for ", count, " channels or groups");
  }
  if (reinterpret_cast<uintptr_t>(data.data()) % buffer_element_size != 0) {
    return Bad("its scales are not aligned");
  }
  return {};
}

Status GraphVerifier::VerifyQuantization(const graph::XValue& value,
                                         const GraphValue& entry) const {
  using graph::XNNQuantParams;
  const auto* quantized = value.xvalue_union_as_XNNQuantizedTensorValue();
  if (quantized == nullptr) {
    const bool plain = entry.datatype == xnn_datatype_fp32 || entry.datatype == xnn_datatype_fp16 ||
                       entry.datatype == xnn_datatype_bf16 || entry.datatype == xnn_datatype_int32;
    return plain ? Status() : Bad("a quantised datatype without quantisation parameters");
  }
  if (quantized->quant_params() == nullptr) return Bad("it has no quantisation parameters");
  switch (quantized->quant_params_type()) {
    case XNNQuantParams::PerTensorQuant:
      // XNNPACK checks scale and zero point.
      return IsPlain(entry.datatype) && DatatypeBits(entry.datatype) != 16 &&
                     entry.datatype != xnn_datatype_fp32 && entry.datatype != xnn_datatype_int32
                 ? Status()
                 : Bad("its datatype is not quantised by tensor");
    case XNNQuantParams::PerChannelQuant: {
      const auto& params = *quantized->quant_params_as_PerChannelQuant();
      if (!entry.constant) return Bad("only a constant is quantised by channel");
      if (params.channel_dim() < 0 ||
          static_cast<uint64_t>(params.channel_dim()) >= entry.dims.rank) {
        return Bad("channel dimension ", params.channel_dim());
      }
      return VerifyScales(params.scale(), params.scale_buffer_idx(),
                          entry.dims[static_cast<size_t>(params.channel_dim())], sizeof(float));
    }
    case XNNQuantParams::PerTokenDynamicQuant: {
      const int32_t row_rank =
          quantized->quant_params_as_PerTokenDynamicQuant()->num_nonbatch_dims();
      if (!IsRowQuantized(entry.datatype) || entry.constant || entry.tensor->flags() != 0) {
        return Bad("only an internal qdint8 value is quantised at run time");
      }
      return row_rank >= 1 && static_cast<uint64_t>(row_rank) <= entry.dims.rank
                 ? Status()
                 : Bad(row_rank, " dimensions to a row");
    }
    case XNNQuantParams::PerChannelGroupQuant: {
      const auto& params = *quantized->quant_params_as_PerChannelGroupQuant();
      if (entry.datatype != xnn_datatype_qbint4 || !entry.constant || entry.dims.rank != 2 ||
          params.channel_dim() != 0) {
        return Bad("only a constant qbint4 matrix is quantised by group, along dimension 0");
      }
      if (params.group_size() <= 0 ||
          entry.dims[1] % static_cast<uint64_t>(params.group_size()) != 0) {
        return Bad("groups of ", params.group_size(), " do not divide ", entry.dims[1],
                   " channels");
      }
      const uint64_t count =
          entry.dims[0] * (entry.dims[1] / static_cast<uint64_t>(params.group_size()));
      return VerifyScales(params.scale(), params.scale_buffer_idx(), count, sizeof(uint16_t));
    }
    default:
      return Bad("quantisation of kind ", static_cast<int>(quantized->quant_params_type()));
  }
}

const GraphValue* GraphVerifier::Find(uint32_t id) const {
  const auto found = values_.find(id);
  return found == values_.end() ? nullptr : &found->second;
}

Result<const GraphValue*> GraphVerifier::Input(uint32_t id) const {
  const GraphValue* value = Find(id);
  if (value == nullptr) return Bad("operand ", id, " does not exist");
  if (!value->written) return Bad("operand ", id, " is read before it is written");
  if (!IsPlain(value->datatype)) {
    return Bad("operand ", id, " is ", graph::EnumNameXNNDatatype(value->tensor->datatype()),
               ", which this node does not read");
  }
  return value;
}

Result<const GraphValue*> GraphVerifier::MatrixInput(uint32_t id, int32_t row_rank) const {
  const GraphValue* value = Find(id);
  if (value == nullptr || !IsRowQuantized(value->datatype)) return Input(id);
  if (!value->written) return Bad("operand ", id, " is read before it is written");
  const auto* params = value->value->xvalue_union_as_XNNQuantizedTensorValue()
                           ->quant_params_as_PerTokenDynamicQuant();
  if (params->num_nonbatch_dims() != row_rank) {
    return Bad("operand ", id, " is quantised over ", params->num_nonbatch_dims(),
               " dimensions, not ", row_rank);
  }
  return value;
}

Result<const GraphValue*> GraphVerifier::Filter(uint32_t id, bool must_be_constant) const {
  const GraphValue* value = Find(id);
  if (value == nullptr) return Bad("filter ", id, " does not exist");
  if (value->constant) return value;
  if (must_be_constant) return Bad("filter ", id, " is not a constant");
  return Input(id);
}

Status GraphVerifier::Bias(uint32_t id, uint64_t channels, bool must_be_constant) const {
  if (id == XNN_INVALID_VALUE_ID) return {};
  XIR_ASSIGN_OR_RETURN(const GraphValue* bias, Filter(id, must_be_constant));
  if (bias->dims.rank == 0 || bias->numel() != channels) {
    return Bad("bias ", id, " of shape ", bias->dims.ToString(), " for ", channels, " channels");
  }
  return {};
}

Status GraphVerifier::Write(uint32_t id, const Dims& dims, xnn_datatype datatype) {
  const auto found = values_.find(id);
  if (found == values_.end()) return Bad("result ", id, " does not exist");
  GraphValue& value = found->second;
  if (value.written) return Bad("result ", id, " is a constant, an input, or already written");
  if (value.datatype != datatype) {
    return Bad("result ", id, " has datatype ",
               graph::EnumNameXNNDatatype(value.tensor->datatype()));
  }
  if (!(value.dims == dims)) {
    return Bad("result ", id, " is declared ", value.dims.ToString(), " but has shape ",
               dims.ToString());
  }
  value.written = true;
  return {};
}

Status GraphVerifier::Output(uint32_t id, const Dims& dims) {
  const GraphValue* value = Find(id);
  if (value != nullptr && !IsPlain(value->datatype)) {
    return Bad("result ", id, " is ", graph::EnumNameXNNDatatype(value->tensor->datatype()),
               ", which this node does not write");
  }
  return Write(id, dims, value == nullptr ? xnn_datatype_invalid : value->datatype);
}

Status GraphVerifier::OutputLike(uint32_t id, const Dims& dims, const GraphValue& like) {
  return Write(id, dims, like.datatype);
}

Status GraphVerifier::DynamicOutput(uint32_t id, const Dims& dims) {
  return Write(id, dims, xnn_datatype_qdint8);
}

Status GraphVerifier::Scratch(std::initializer_list<uint64_t> factors) {
  uint64_t nbytes = 1;
  bool fits = true;
  for (const uint64_t factor : factors) fits = fits && CheckedMul(nbytes, factor, &nbytes);
  if (fits && CheckedAdd(total_, nbytes, &total_) && total_ <= max_memory_) return {};
  return Fail(Code::kResource, "the graph up to here takes more than the limit of ", max_memory_,
              " bytes with its scratch memory");
}

}  // namespace xir
