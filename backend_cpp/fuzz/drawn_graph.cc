#include "drawn_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace xir::fuzz {
namespace {

constexpr uint32_t kExternalInput = 1;
constexpr uint32_t kExternalOutput = 2;
constexpr uint32_t kNoDebugHandle = 65535;

// Whether a node of this kind bounds its results where a file says so.
bool HasBounds(XNodeUnion kind) {
  switch (kind) {
    case XNodeUnion::XNNAdd:
    case XNodeUnion::XNNSubtract:
    case XNodeUnion::XNNMultiply:
    case XNodeUnion::XNNDiv:
    case XNodeUnion::XNNClamp:
    case XNodeUnion::XNNFullyConnected:
    case XNodeUnion::XNNConv2d:
    case XNodeUnion::XNNDepthwiseConv2d:
    case XNodeUnion::XNNConvTranspose2d:
    case XNodeUnion::XNNAvgPooling2d:
    case XNodeUnion::XNNMaxPooling2d:
      return true;
    default:
      return false;
  }
}

}  // namespace

DrawnGraph::DrawnGraph(Draws* draws, bool odd) : draws_(*draws), odd_(odd) {
  graph_.version = "0";
  graph_.constant_data.push_back(std::make_unique<graph::ConstantDataOffsetT>());
}

uint32_t DrawnGraph::Small(uint32_t from, uint32_t below) {
  return Odd() ? static_cast<uint32_t>(OddNumber())
               : from + static_cast<uint32_t>(draws_.Below(below));
}

Dims DrawnGraph::AnyDims(uint64_t rank) {
  Dims dims;
  for (uint64_t i = 0; i < rank; ++i) {
    uint32_t dim = 1 + static_cast<uint32_t>(draws_.Below(7));
    if (draws_.OneIn(8)) dim = 1 + static_cast<uint32_t>(draws_.Below(70));
    if (Odd()) dim = static_cast<uint32_t>(OddNumber());
    dims.push_back(dim);
  }
  // A graph of large tensors says no more than one of small ones, and takes longer.
  for (size_t i = 0; Numel(dims) > 20'000 && i < dims.size(); ++i) {
    if (dims[i] < 1000) dims[i] = 1 + dims[i] % 4;
  }
  return dims;
}

float DrawnGraph::AnyScale() {
  constexpr float kScales[] = {0.5F, 0.05F, 1.0F, 0.0078125F};
  constexpr float kOddScales[] = {0.0F, -1.0F, 1e-38F, 1e38F, INFINITY, NAN};
  return Odd() ? draws_.Of(kOddScales) : draws_.Of(kScales);
}

DrawnGraph::Entry* DrawnGraph::AddValue(XNNDatatype type, Dims dims, uint32_t constant,
                                        uint32_t external, uint32_t flags, int32_t row_rank) {
  graph::XNNTensorValueT tensor;
  tensor.datatype = Odd() ? draws_.Of(kAny) : type;
  tensor.num_dims = static_cast<uint32_t>(dims.size());
  tensor.dims = dims;
  if (Odd() && !tensor.dims.empty()) {
    tensor.dims[draws_.Below(dims.size())] = static_cast<uint32_t>(OddNumber());
  }
  tensor.constant_buffer_idx = constant;
  tensor.external_id = external;
  tensor.flags = flags;
  tensor.id_out = static_cast<uint32_t>(graph_.xvalues.size());
  Entry entry;
  entry.id = tensor.id_out;
  entry.type = type;
  entry.dims = std::move(dims);
  entry.row_rank = type == XNNDatatype::QDInt8 ? row_rank : 0;
  auto value = std::make_unique<graph::XValueT>();
  Quantize(entry, std::move(tensor), value.get());
  graph_.xvalues.push_back(std::move(value));
  entries_.push_back(std::make_unique<Entry>(std::move(entry)));
  return entries_.back().get();
}

void DrawnGraph::Quantize(const Entry& entry, graph::XNNTensorValueT tensor,
                          graph::XValueT* value) {
  graph::XNNQuantParamsUnion params;
  switch (entry.type) {
    case XNNDatatype::QInt8:
    case XNNDatatype::QUInt8:
    case XNNDatatype::QInt32: {
      graph::PerTensorQuantT quant;
      quant.scale = AnyScale();
      const bool centered = entry.type == XNNDatatype::QInt32;
      quant.zero_point = centered ? 0 : static_cast<int32_t>(draws_.Below(100));
      if (Odd()) quant.zero_point = static_cast<int32_t>(OddNumber());
      params.Set(std::move(quant));
      break;
    }
    case XNNDatatype::QCInt8:
    case XNNDatatype::QCInt4:
    case XNNDatatype::QCInt32: {
      graph::PerChannelQuantT quant;
      quant.channel_dim = static_cast<int32_t>(channel_dim_);
      if (Odd()) quant.channel_dim = static_cast<int32_t>(draws_.Below(6)) - 1;
      uint64_t count = channel_dim_ < entry.dims.size() ? entry.dims[channel_dim_] : 1;
      if (Odd()) count = draws_.Below(4);
      FillScales(std::min<uint64_t>(count, 1000), &quant);
      params.Set(std::move(quant));
      break;
    }
    case XNNDatatype::QBInt4: {
      graph::PerChannelGroupQuantT quant;
      quant.group_size = Odd() ? static_cast<int32_t>(OddNumber()) : 32;
      quant.channel_dim = Odd() ? 1 : 0;
      const uint64_t groups = entry.dims.size() < 2 ? 1 : entry.dims[1] / 32;
      quant.scale.assign(entry.dims.empty() ? 1 : std::min<uint64_t>(entry.dims[0] * groups, 4000),
                         0.5F);
      params.Set(std::move(quant));
      break;
    }
    case XNNDatatype::QDInt8: {
      graph::PerTokenDynamicQuantT quant;
      quant.num_nonbatch_dims = Odd() ? static_cast<int32_t>(draws_.Below(6)) : entry.row_rank;
      params.Set(std::move(quant));
      break;
    }
    default:
      if (!Odd()) {
        value->xvalue_union.Set(std::move(tensor));
        return;
      }
  }
  graph::XNNQuantizedTensorValueT quantized;
  quantized.tensor_value = std::make_unique<graph::XNNTensorValueT>(std::move(tensor));
  quantized.quant_params = std::move(params);
  value->xvalue_union.Set(std::move(quantized));
}

void DrawnGraph::FillScales(uint64_t count, graph::PerChannelQuantT* quant) {
  std::vector<float> scales;
  for (uint64_t i = 0; i < count; ++i) scales.push_back(AnyScale());
  if (draws_.OneIn(3)) {
    quant->scale_buffer_idx = AddConstantData(scales.data(), scales.size() * sizeof(float));
    quant->num_scales = static_cast<uint32_t>(count);
    return;
  }
  quant->scale = std::move(scales);
}

uint32_t DrawnGraph::AddConstantData(const void* data, size_t size) {
  constants_.resize((constants_.size() + 15) / 16 * 16, 0);
  auto entry = std::make_unique<graph::ConstantDataOffsetT>();
  entry->offset = constants_.size();
  entry->size = size;
  if (Odd()) entry->offset = OddNumber();
  if (Odd()) entry->size = OddNumber();
  const auto* bytes = static_cast<const uint8_t*>(data);
  constants_.insert(constants_.end(), bytes, bytes + size);
  graph_.constant_data.push_back(std::move(entry));
  return static_cast<uint32_t>(graph_.constant_data.size() - 1);
}

DrawnGraph::Entry* DrawnGraph::AddConstant(XNNDatatype type, const Dims& dims) {
  Blob data(std::min<size_t>(ByteSize(type, dims), 1 << 17));
  const uint64_t first = draws_.Below(256);
  if (type == XNNDatatype::FP32) {
    for (size_t i = 0; i + 4 <= data.size(); i += 4) {
      const float number = static_cast<float>((i / 4 * 7 + first) % 23) * 0.125F - 1.0F;
      std::memcpy(data.data() + i, &number, sizeof(number));
    }
  } else {
    // Halves and bfloats below 2, and bytes of any value.
    const bool small = Bits(type) == 16 || Bits(type) == 32;
    for (size_t i = 0; i < data.size(); ++i) {
      const bool high = i % (Bits(type) / 8 == 0 ? 1 : Bits(type) / 8) != 0;
      data[i] =
          static_cast<uint8_t>(small && high ? (Bits(type) == 16 ? 0x3A : 0) : i * 11 + first);
    }
  }
  return AddValue(type, dims, AddConstantData(data.data(), data.size()), kNone, 0);
}

DrawnGraph::Entry* DrawnGraph::AddExternal(XNNDatatype type, const Dims& dims, bool output) {
  const auto id = static_cast<uint32_t>(externals_.size());
  externals_.push_back({type, dims, output});
  graph_.num_externs = id + 1;
  (output ? graph_.output_ids : graph_.input_ids)
      .push_back(static_cast<uint32_t>(graph_.xvalues.size()));
  return AddValue(type, dims, 0, id, output ? kExternalOutput : kExternalInput);
}

DrawnGraph::Entry* DrawnGraph::Operand(size_t rank) {
  const size_t start = draws_.Below(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry* entry = entries_[(start + i) % entries_.size()].get();
    const bool weight = Bits(entry->type) == 4 || entry->type == XNNDatatype::QCInt8 ||
                        entry->type == XNNDatatype::QCInt32 || entry->type == XNNDatatype::QDInt8;
    if (weight && !Odd()) continue;
    if (rank != SIZE_MAX && entry->dims.size() != rank && !Odd()) continue;
    entry->used = true;
    return entry;
  }
  XNNDatatype type = draws_.Of(kPlain);
  Entry* entry = rank == SIZE_MAX ? entries_[0].get() : AddExternal(type, AnyDims(rank), false);
  entry->used = true;
  return entry;
}

DrawnGraph::Entry* DrawnGraph::Result(XNNDatatype type, Dims dims, int32_t row_rank) {
  Entry* entry = AddValue(type, std::move(dims), 0, kNone, 0, row_rank);
  entry->internal = true;
  return entry;
}

void DrawnGraph::Push(std::unique_ptr<graph::XNodeT> node) {
  const XNodeUnion kind = node->xnode_union.type;
  node->debug_handle = kNoDebugHandle;
  if (draws_.OneIn(2) || kind == XNodeUnion::XNNClamp) {
    node->output_min_max = std::make_unique<graph::OutputMinMaxT>();
    const bool bounded =
        draws_.OneIn(2) && (odd_ ? draws_.OneIn(2) || HasBounds(kind) : HasBounds(kind));
    node->output_min_max->output_min = bounded ? -1.0F : -INFINITY;
    node->output_min_max->output_max = bounded ? 2.0F : INFINITY;
    if (Odd()) node->output_min_max->output_min = NAN;
  }
  graph_.xnodes.push_back(std::move(node));
}

void DrawnGraph::MarkOutputs() {
  const Entry* last = nullptr;
  for (const auto& entry : entries_) {
    if (entry->internal && Bits(entry->type) >= 8 && entry->type != XNNDatatype::QDInt8) {
      last = entry.get();
    }
  }
  for (const auto& entry : entries_) {
    const bool unread = entry->internal && !entry->used && entry->type != XNNDatatype::QDInt8;
    if (!unread && entry.get() != last) continue;
    graph::XValueT& value = *graph_.xvalues[entry->id];
    auto* tensor = value.xvalue_union.AsXNNTensorValue();
    if (auto* quantized = value.xvalue_union.AsXNNQuantizedTensorValue()) {
      tensor = quantized->tensor_value.get();
    }
    tensor->external_id = static_cast<uint32_t>(externals_.size());
    tensor->flags = kExternalOutput;
    graph_.output_ids.push_back(entry->id);
    externals_.push_back({entry->type, entry->dims, true});
    graph_.num_externs = static_cast<uint32_t>(externals_.size());
  }
}

BuiltGraph DrawnGraph::Build() {
  BuiltGraph built;
  MarkOutputs();
  if (odd_ && draws_.OneIn(64)) graph_.num_externs = static_cast<uint32_t>(OddNumber());
  flatbuffers::FlatBufferBuilder builder;
  graph::FinishXNNGraphBuffer(builder, graph::CreateXNNGraph(builder, &graph_));
  built.blob = WriteDelegateBlob(
      Blob(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()), constants_);
  built.externals = std::move(externals_);
  return built;
}

}  // namespace xir::fuzz
