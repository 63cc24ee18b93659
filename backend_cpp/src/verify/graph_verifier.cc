#include "verify/graph_verifier.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_set>

#include "core/checked.h"
#include "core/invalid_program.h"
#include "verify/verify_node.h"
#include "xnnpack/datatype.h"

namespace xir {
namespace {

constexpr uint64_t kMaxDim = INT32_MAX;
constexpr uint32_t kExternalFlags = XNN_VALUE_FLAG_EXTERNAL_INPUT | XNN_VALUE_FLAG_EXTERNAL_OUTPUT;

bool IsRowQuantized(xnn_datatype datatype) { return datatype == xnn_datatype_qdint8; }

// Whether `value`, which is between nodes, is declared with the sizes `dims` in another order, of
// as many rows with a scale of their own. ExecuTorch 1.5 declares some images as [N, C, H, W] where
// nodes compute [N, H, W, C], or the reverse. XNNPACK takes shapes between nodes from the nodes.
bool IsReordered(const GraphValue& value, const Dims& dims) {
  const Dims& declared = value.dims;
  if ((value.tensor->flags() & kExternalFlags) != 0 || declared.rank != dims.rank ||
      !std::is_permutation(dims.size.begin(), dims.size.begin() + dims.rank,
                           declared.size.begin())) {
    return false;
  }
  if (!IsRowQuantized(value.datatype)) return true;
  // VerifyQuantization allows this datatype no other parameters.
  const auto& rows = *value.value->xvalue_union_as_XNNQuantizedTensorValue()
                          ->quant_params_as_PerTokenDynamicQuant();
  const auto count = [&](const Dims& shape) {
    const auto begin = shape.size.begin();
    return std::accumulate(begin,
                           begin + (shape.rank - static_cast<size_t>(rows.num_nonbatch_dims())),
                           uint64_t{1}, std::multiplies<>());
  };
  return count(declared) == count(dims);
}

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

bool Within(const Dims& dims, const Dims& largest) {
  if (dims.rank != largest.rank) return false;
  for (size_t i = 0; i < dims.rank; ++i) {
    if (dims[i] > largest[i]) return false;
  }
  return true;
}

std::string NodeName(size_t index, const graph::XNode& node) {
  return "node " + std::to_string(index) + " (" +
         graph::EnumNameXNodeUnion(node.xnode_union_type()) + ")";
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

Status GraphVerifier::Run(WorkBudget* budget) {
  budget_ = budget;
  for (const graph::XValue* value : *view_.graph->xvalues()) {
    const graph::XNNTensorValue* tensor =
        value->xvalue_union() == nullptr ? nullptr : TensorOf(*value);
    if (tensor == nullptr) return Bad("a value of unknown kind");
    XIR_RETURN_IF_ERROR(budget->Charge(WorkBudget::kGraphValue));
    XIR_RETURN_IF_ERROR(AddValue(*value).In("value " + std::to_string(tensor->id_out())));
  }
  size_t index = 0;
  for (const graph::XNode* node : *view_.graph->xnodes()) {
    XIR_RETURN_IF_ERROR(budget->Charge(WorkBudget::kGraphNode));
    XIR_RETURN_IF_ERROR(VerifyNode(*node).In(NodeName(index++, *node)));
  }
  if (index == 0) return Bad("the graph has no node");
  for (const auto& [id, value] : values_) {
    if ((value.tensor->flags() & XNN_VALUE_FLAG_EXTERNAL_OUTPUT) != 0 && !value.written) {
      return Bad("no node writes output value ", id);
    }
  }
  XIR_RETURN_IF_ERROR(VerifyPairs());
  budget_ = nullptr;
  return {};
}

Status GraphVerifier::Follow(const std::function<Dims(const graph::XNNTensorValue&)>& dims_of) {
  following_ = true;
  for (auto& [id, value] : values_) {
    if ((value.tensor->flags() & XNN_VALUE_FLAG_EXTERNAL_INPUT) == 0) continue;
    value.dims = dims_of(*value.tensor);
    if (!Within(value.dims, value.largest)) {
      return Fail(Code::kInvalidArgument, "input ", value.tensor->external_id(), " of shape ",
                  value.dims.ToString(), " is none within ", value.largest.ToString());
    }
  }
  size_t index = 0;
  for (const graph::XNode* node : *view_.graph->xnodes()) {
    XIR_RETURN_IF_ERROR(VerifyXnode(*node, this).In(NodeName(index++, *node)));
  }
  return {};
}

std::unordered_set<uint32_t> GraphVerifier::Empty() const {
  std::unordered_set<uint32_t> empty;
  for (const auto& [id, value] : values_) {
    if (value.numel() == 0) empty.insert(id);
  }
  return empty;
}

namespace {

Status VerifyBounds(const NodeRules& rules, const graph::XNode& node) {
  const auto* bounds = node.output_min_max();
  if (bounds == nullptr) {
    return rules.bounds != BoundsRule::kRequired ? Status() : Bad("it has no output range");
  }
  const float low = bounds->output_min(), high = bounds->output_max();
  if (!(low < high)) return Bad("its output range [", low, ", ", high, "] is empty");
  if (rules.bounds == BoundsRule::kNone && (std::isfinite(low) || std::isfinite(high))) {
    return Bad("it has an output range, but bounds nothing");
  }
  return {};
}

// "FP32, none and FP32"
template <size_t size>
std::string Names(const std::array<graph::XNNDatatype, size>& datatypes) {
  std::string names;
  for (const graph::XNNDatatype each : datatypes) {
    if (each == graph::XNNDatatype::Invalid) continue;
    names += (names.empty() ? "" : ", ") + std::string(graph::EnumNameXNNDatatype(each));
  }
  return names;
}

}  // namespace

Status GraphVerifier::VerifyNode(const graph::XNode& node) {
  if (node.xnode_union() == nullptr) return Bad("it is empty");
  const NodeRules* rules = FindNodeRules(node.xnode_union_type());
  if (rules == nullptr) {
    return Fail(Code::kUnsupported, "node kind ", static_cast<int>(node.xnode_union_type()),
                " is unknown to this runtime");
  }
  const NodeOperands ids = OperandsOf(node);
  // XNNPACK gives some bits internal meanings that a file must not reach.
  if ((ids.flags & ~rules->flags) != 0) {
    return Bad("flags ", ids.flags, " have bits that it does not take");
  }
  XIR_RETURN_IF_ERROR(VerifyBounds(*rules, node));
  XIR_RETURN_IF_ERROR(VerifyOperands(*rules, ids));
  const GraphValue& result = Operand(ids.results[0]);
  if (result.datatype == xnn_datatype_int32 && node.output_min_max() != nullptr) {
    // XNNPACK casts both bounds to integers, infinite ones too.
    return Fail(Code::kUnsupported, "integers are not bounded");
  }
  return VerifyXnode(node, this);
}

Status GraphVerifier::VerifyPairs() const {
  std::unordered_set<uint32_t> used;
  for (const auto& [id, value] : values_) {
    if ((value.tensor->flags() & XNN_VALUE_FLAG_EXTERNAL_OUTPUT) != 0) used.insert(id);
  }
  const auto& nodes = *view_.graph->xnodes();
  for (flatbuffers::uoffset_t i = nodes.size(); i-- > 0;) {
    const NodeOperands ids = OperandsOf(*nodes.Get(i));
    const bool is_pair = ids.results[1] != XNN_INVALID_VALUE_ID;
    const bool first = used.count(ids.results[0]) > 0;
    if (is_pair && !(first && used.count(ids.results[1]) > 0)) {
      return Bad("nothing uses result ", ids.results[first ? 1 : 0]).In(NodeName(i, *nodes.Get(i)));
    }
    if (first) used.insert(ids.operands.begin(), ids.operands.end());
  }
  return {};
}

Status GraphVerifier::VerifyOperands(const NodeRules& rules, const NodeOperands& ids) const {
  Signature given{};
  for (size_t i = 0; i < kMaxNodeOperands; ++i) {
    const uint32_t id = ids.operands[i];
    if (id == XNN_INVALID_VALUE_ID) continue;
    const auto found = values_.find(id);
    if (found == values_.end()) return Bad("operand ", id, " does not exist");
    if (!found->second.written) return Bad("operand ", id, " is read before it is written");
    XIR_RETURN_IF_ERROR(budget_->Charge(found->second.scale_bytes));
    given.operands[i] = found->second.tensor->datatype();
  }
  for (size_t i = 0; i < kMaxNodeResults; ++i) {
    const uint32_t id = ids.results[i];
    if (id == XNN_INVALID_VALUE_ID) continue;
    const auto found = values_.find(id);
    if (found == values_.end()) return Bad("result ", id, " does not exist");
    if (found->second.written) {
      return Bad("result ", id, " is a constant, an input, or already written");
    }
    given.results[i] = found->second.tensor->datatype();
  }
  const auto* const match = std::find_if(
      rules.signatures.begin(), rules.signatures.end(), [&](const Signature& signature) {
        return signature.operands == given.operands && signature.results == given.results;
      });
  if (match == rules.signatures.end()) {
    return Fail(Code::kUnsupported, "XNNPACK does not compute it from ", Names(given.operands),
                " to ", Names(given.results));
  }
  for (size_t i = 0; i < kMaxNodeOperands; ++i) {
    const uint32_t id = ids.operands[i];
    if (id != XNN_INVALID_VALUE_ID && (match->constants >> i & 1) != 0 && !Operand(id).constant) {
      return Bad("operand ", id, " is not a constant");
    }
  }
  return rules.filter_axis < 0 ? Status() : VerifyFilter(rules, ids);
}

Status GraphVerifier::VerifyFilter(const NodeRules& rules, const NodeOperands& ids) const {
  const auto quantization = [&](uint32_t id) {
    return Operand(id).value->xvalue_union_as_XNNQuantizedTensorValue();
  };
  if (const auto* input = quantization(ids.operands[0])) {
    const auto* rows = input->quant_params_as_PerTokenDynamicQuant();
    if (rows != nullptr && rows->num_nonbatch_dims() != rules.row_rank) {
      return Bad("operand ", ids.operands[0], " is quantised over ", rows->num_nonbatch_dims(),
                 " dimensions, not ", rules.row_rank);
    }
  }
  const auto* filter = quantization(ids.operands[1]);
  if (filter == nullptr) return {};
  const GraphValue& value = Operand(ids.operands[1]);
  if (rules.whole_bytes && DatatypeBits(value.datatype) == 4 && value.dims.last() % 2 != 0) {
    return Fail(Code::kUnsupported, "a filter in 4 bits with an odd number of input channels (",
                value.dims.last(), "), for which XNNPACK computes too few rows");
  }
  const auto* channels = filter->quant_params_as_PerChannelQuant();
  if (channels != nullptr && channels->channel_dim() != rules.filter_axis) {
    return Bad("the filter's scales are along dimension ", channels->channel_dim(), ", not ",
               rules.filter_axis);
  }
  const auto* whole = filter->quant_params_as_PerTensorQuant();
  if (whole != nullptr && value.datatype == xnn_datatype_qint8 && whole->zero_point() != 0) {
    return Bad("the filter has the zero point ", whole->zero_point());
  }
  return {};
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
  entry.largest = entry.dims;
  if (!ByteSize(entry.dims, entry.datatype, &entry.nbytes)) return Bad("its size overflows");
  XIR_RETURN_IF_ERROR(VerifyExternal(tensor));
  XIR_RETURN_IF_ERROR(VerifyConstant(tensor, &entry));
  XIR_RETURN_IF_ERROR(VerifyQuantization(value, &entry));
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
  if (id >= view_.graph->num_externs()) {
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
                                   uint64_t count, uint64_t buffer_element_size,
                                   GraphValue* entry) const {
  // XNNPACK looks at each, and what is not a buffer of the file's may be converted.
  XIR_RETURN_IF_ERROR(budget_->Charge(scales));
  XIR_RETURN_IF_ERROR(budget_->Charge(count, buffer_element_size));
  entry->scale_bytes = (scales == nullptr ? 0 : uint64_t{scales->size()} * sizeof(float)) +
                       count * buffer_element_size;
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

Status GraphVerifier::VerifyQuantization(const graph::XValue& value, GraphValue* entry) const {
  using graph::XNNQuantParams;
  const auto* quantized = value.xvalue_union_as_XNNQuantizedTensorValue();
  if (quantized == nullptr) {
    const bool plain =
        entry->datatype == xnn_datatype_fp32 || entry->datatype == xnn_datatype_fp16 ||
        entry->datatype == xnn_datatype_bf16 || entry->datatype == xnn_datatype_int32;
    return plain ? Status() : Bad("a quantised datatype without quantisation parameters");
  }
  if (quantized->quant_params() == nullptr) return Bad("it has no quantisation parameters");
  switch (quantized->quant_params_type()) {
    case XNNQuantParams::PerTensorQuant:
      // XNNPACK checks scale and zero point.
      return IsPlain(entry->datatype) && DatatypeBits(entry->datatype) != 16 &&
                     entry->datatype != xnn_datatype_fp32 && entry->datatype != xnn_datatype_int32
                 ? Status()
                 : Bad("its datatype is not quantised by tensor");
    case XNNQuantParams::PerChannelQuant: {
      const auto& params = *quantized->quant_params_as_PerChannelQuant();
      if (!entry->constant) return Bad("only a constant is quantised by channel");
      if (params.channel_dim() < 0 ||
          static_cast<uint64_t>(params.channel_dim()) >= entry->dims.rank) {
        return Bad("channel dimension ", params.channel_dim());
      }
      return VerifyScales(params.scale(), params.scale_buffer_idx(),
                          entry->dims[static_cast<size_t>(params.channel_dim())], sizeof(float),
                          entry);
    }
    case XNNQuantParams::PerTokenDynamicQuant: {
      const int32_t row_rank =
          quantized->quant_params_as_PerTokenDynamicQuant()->num_nonbatch_dims();
      if (!IsRowQuantized(entry->datatype) || entry->tensor->flags() != 0) {
        return Bad("only an internal qdint8 value is quantised at run time");
      }
      return row_rank >= 1 && static_cast<uint64_t>(row_rank) <= entry->dims.rank
                 ? Status()
                 : Bad(row_rank, " dimensions to a row");
    }
    case XNNQuantParams::PerChannelGroupQuant: {
      const auto& params = *quantized->quant_params_as_PerChannelGroupQuant();
      if (entry->datatype != xnn_datatype_qbint4 || !entry->constant || entry->dims.rank != 2 ||
          params.channel_dim() != 0) {
        return Bad("only a constant qbint4 matrix is quantised by group, along dimension 0");
      }
      if (params.group_size() <= 0 ||
          entry->dims[1] % static_cast<uint64_t>(params.group_size()) != 0 ||
          static_cast<uint64_t>(params.group_size()) % GroupMultiple() != 0) {
        return Bad("groups of ", params.group_size(), " do not divide ", entry->dims[1],
                   " channels into multiples of ", GroupMultiple());
      }
      const uint64_t count =
          entry->dims[0] * (entry->dims[1] / static_cast<uint64_t>(params.group_size()));
      return VerifyScales(params.scale(), params.scale_buffer_idx(), count, sizeof(uint16_t),
                          entry);
    }
    default:
      return Bad("quantisation of kind ", static_cast<int>(quantized->quant_params_type()));
  }
}

Status GraphVerifier::Output(uint32_t id, const Dims& dims) {
  GraphValue& value = values_.at(id);
  if (following_) {
    value.dims = dims;
    return Within(dims, value.largest)
               ? Status()
               : Fail(Code::kInvalidArgument, "its result has shape ", dims.ToString(),
                      ", which is none within ", value.largest.ToString());
  }
  if (value.written) return Bad("result ", id, " is written twice");
  if (IsReordered(value, dims)) value.dims = value.largest = dims;
  if (!(value.dims == dims)) {
    return Bad("result ", id, " is declared ", value.dims.ToString(), " but has shape ",
               dims.ToString());
  }
  value.written = true;
  return {};
}

Status GraphVerifier::Scratch(std::initializer_list<uint64_t> factors) {
  // Its memory was counted at the largest shapes.
  if (following_) return {};
  uint64_t nbytes = 1;
  bool fits = true;
  for (const uint64_t factor : factors) fits = fits && CheckedMul(nbytes, factor, &nbytes);
  if (fits && CheckedAdd(total_, nbytes, &total_) && total_ <= max_memory_) return {};
  return Fail(Code::kResource, "the graph up to here takes more than the limit of ", max_memory_,
              " bytes with its scratch memory");
}

}  // namespace xir
