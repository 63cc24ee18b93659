#include "graph_builder.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

namespace xir::fuzz {
namespace {

using graph::XNNDatatype;
using graph::XNodeUnion;
using Dims = std::vector<uint32_t>;

constexpr uint32_t kNone = UINT32_MAX;
constexpr uint32_t kExternalInput = 1;
constexpr uint32_t kExternalOutput = 2;
constexpr uint32_t kTransposeWeights = 1;
constexpr uint32_t kSamePadding = 4;
constexpr uint32_t kAlignCorners = 8;
constexpr uint32_t kKeepDims = 0x40;
constexpr uint32_t kNoDebugHandle = 65535;

constexpr XNNDatatype kPlain[] = {XNNDatatype::FP32,  XNNDatatype::FP32,   XNNDatatype::QInt8,
                                  XNNDatatype::FP16,  XNNDatatype::QUInt8, XNNDatatype::FP32,
                                  XNNDatatype::Int32, XNNDatatype::BF16};
constexpr XNNDatatype kAny[] = {XNNDatatype::Invalid, XNNDatatype::FP32,    XNNDatatype::FP16,
                                XNNDatatype::QInt8,   XNNDatatype::QUInt8,  XNNDatatype::QInt32,
                                XNNDatatype::QCInt8,  XNNDatatype::QCInt32, XNNDatatype::QCInt4,
                                XNNDatatype::QDInt8,  XNNDatatype::QBInt4,  XNNDatatype::QPInt8,
                                XNNDatatype::Int32,   XNNDatatype::PFP32,   XNNDatatype::BF16};

size_t Bits(XNNDatatype type) {
  switch (type) {
    case XNNDatatype::FP16:
    case XNNDatatype::BF16:
      return 16;
    case XNNDatatype::QInt8:
    case XNNDatatype::QUInt8:
    case XNNDatatype::QCInt8:
    case XNNDatatype::QDInt8:
      return 8;
    case XNNDatatype::QCInt4:
    case XNNDatatype::QBInt4:
      return 4;
    default:
      return 32;
  }
}

size_t ByteSize(XNNDatatype type, const Dims& dims) {
  size_t size = Bits(type) < 8 ? 1 : Bits(type) / 8;
  for (size_t i = 0; i < dims.size(); ++i) {
    size *= Bits(type) == 4 && i + 1 == dims.size() ? (dims[i] + 1) / 2 : dims[i];
  }
  return size;
}

uint64_t Numel(const Dims& dims) {
  uint64_t count = 1;
  for (const uint32_t dim : dims) count *= dim;
  return count;
}

// Nodes whose constants XNNPACK packs.
constexpr XNodeUnion kWithWeights[] = {XNodeUnion::XNNFullyConnected, XNodeUnion::XNNConv2d,
                                       XNodeUnion::XNNDepthwiseConv2d,
                                       XNodeUnion::XNNConvTranspose2d};

// Tags from here on are not ExecuTorch's.
constexpr auto kFirstOwnKind = static_cast<XNodeUnion>(128);

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

bool IsFloat(XNNDatatype type) {
  return type == XNNDatatype::FP32 || type == XNNDatatype::FP16 || type == XNNDatatype::BF16;
}

class GraphBuilder {
 public:
  GraphBuilder(Draws* draws, bool odd, bool weights)
      : draws_(*draws), odd_(odd), weights_(weights) {
    graph_.version = "0";
    graph_.constant_data.push_back(std::make_unique<graph::ConstantDataOffsetT>());
  }

  BuiltGraph Build() {
    for (uint64_t i = 1 + draws_.Below(3); i > 0; --i) {
      AddExternal(draws_.Of(kPlain), AnyDims(draws_.Below(2) == 0 ? 4 : draws_.Below(6)), false);
    }
    for (uint64_t i = 1 + draws_.Below(odd_ ? 8 : 5); i > 0; --i) AddNode();
    BuiltGraph built;
    MarkOutputs();
    if (odd_ && draws_.OneIn(64)) graph_.num_externs = static_cast<uint32_t>(OddNumber(&draws_));
    flatbuffers::FlatBufferBuilder builder;
    graph::FinishXNNGraphBuffer(builder, graph::CreateXNNGraph(builder, &graph_));
    built.blob = WriteDelegateBlob(
        Blob(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()),
        constants_);
    built.externals = std::move(externals_);
    return built;
  }

 private:
  struct Entry {
    uint32_t id = 0;
    XNNDatatype type = XNNDatatype::FP32;
    Dims dims;
    int32_t row_rank = 0;   // of a value quantised at run time
    bool internal = false;  // written by a node
    bool used = false;
  };

  bool Odd() { return odd_ && draws_.OneIn(24); }
  uint32_t Id(uint32_t id) { return Odd() ? static_cast<uint32_t>(OddNumber(&draws_)) : id; }
  uint32_t Flags(uint32_t flags) {
    return Odd() ? static_cast<uint32_t>(OddNumber(&draws_)) : flags;
  }
  uint32_t Small(uint32_t from, uint32_t below) {
    return Odd() ? static_cast<uint32_t>(OddNumber(&draws_))
                 : from + static_cast<uint32_t>(draws_.Below(below));
  }

  Dims AnyDims(uint64_t rank) {
    Dims dims;
    for (uint64_t i = 0; i < rank; ++i) {
      uint32_t dim = 1 + static_cast<uint32_t>(draws_.Below(7));
      if (draws_.OneIn(8)) dim = 1 + static_cast<uint32_t>(draws_.Below(70));
      if (Odd()) dim = static_cast<uint32_t>(OddNumber(&draws_));
      dims.push_back(dim);
    }
    // A graph of large tensors says no more than one of small ones, and takes longer.
    for (size_t i = 0; Numel(dims) > 20'000 && i < dims.size(); ++i) {
      if (dims[i] < 1000) dims[i] = 1 + dims[i] % 4;
    }
    return dims;
  }

  float AnyScale() {
    constexpr float kScales[] = {0.5F, 0.05F, 1.0F, 0.0078125F};
    constexpr float kOddScales[] = {0.0F, -1.0F, 1e-38F, 1e38F, INFINITY, NAN};
    return Odd() ? draws_.Of(kOddScales) : draws_.Of(kScales);
  }

  // A value of the graph; `constant` is an index into the constants.
  Entry* AddValue(XNNDatatype type, Dims dims, uint32_t constant, uint32_t external, uint32_t flags,
                  int32_t row_rank = 1) {
    graph::XNNTensorValueT tensor;
    tensor.datatype = Odd() ? draws_.Of(kAny) : type;
    tensor.num_dims = static_cast<uint32_t>(dims.size());
    tensor.dims = dims;
    if (Odd() && !tensor.dims.empty()) {
      tensor.dims[draws_.Below(dims.size())] = static_cast<uint32_t>(OddNumber(&draws_));
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
    Quantise(entry, std::move(tensor), value.get());
    graph_.xvalues.push_back(std::move(value));
    entries_.push_back(std::make_unique<Entry>(std::move(entry)));
    return entries_.back().get();
  }

  void Quantise(const Entry& entry, graph::XNNTensorValueT tensor, graph::XValueT* value) {
    graph::XNNQuantParamsUnion params;
    switch (entry.type) {
      case XNNDatatype::QInt8:
      case XNNDatatype::QUInt8:
      case XNNDatatype::QInt32: {
        graph::PerTensorQuantT quant;
        quant.scale = AnyScale();
        const bool centred = entry.type == XNNDatatype::QInt32;
        quant.zero_point = centred ? 0 : static_cast<int32_t>(draws_.Below(100));
        if (Odd()) quant.zero_point = static_cast<int32_t>(OddNumber(&draws_));
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
        quant.group_size = Odd() ? static_cast<int32_t>(OddNumber(&draws_)) : 32;
        quant.channel_dim = Odd() ? 1 : 0;
        const uint64_t groups = entry.dims.size() < 2 ? 1 : entry.dims[1] / 32;
        quant.scale.assign(
            entry.dims.empty() ? 1 : std::min<uint64_t>(entry.dims[0] * groups, 4000), 0.5F);
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

  void FillScales(uint64_t count, graph::PerChannelQuantT* quant) {
    std::vector<float> scales;
    for (uint64_t i = 0; i < count; ++i) scales.push_back(AnyScale());
    if (draws_.OneIn(3)) {
      quant->scale_buffer_idx = AddConstantData(scales.data(), scales.size() * sizeof(float));
      quant->num_scales = static_cast<uint32_t>(count);
      return;
    }
    quant->scale = std::move(scales);
  }

  uint32_t AddConstantData(const void* data, size_t size) {
    constants_.resize((constants_.size() + 15) / 16 * 16, 0);
    auto entry = std::make_unique<graph::ConstantDataOffsetT>();
    entry->offset = constants_.size();
    entry->size = size;
    if (Odd()) entry->offset = OddNumber(&draws_);
    if (Odd()) entry->size = OddNumber(&draws_);
    const auto* bytes = static_cast<const uint8_t*>(data);
    constants_.insert(constants_.end(), bytes, bytes + size);
    graph_.constant_data.push_back(std::move(entry));
    return static_cast<uint32_t>(graph_.constant_data.size() - 1);
  }

  Entry* AddConstant(XNNDatatype type, const Dims& dims) {
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

  Entry* AddExternal(XNNDatatype type, const Dims& dims, bool output) {
    const auto id = static_cast<uint32_t>(externals_.size());
    externals_.push_back({type, dims, output});
    graph_.num_externs = id + 1;
    (output ? graph_.output_ids : graph_.input_ids)
        .push_back(static_cast<uint32_t>(graph_.xvalues.size()));
    return AddValue(type, dims, 0, id, output ? kExternalOutput : kExternalInput);
  }

  // A value that has content; of rank `rank` and float type where one asks for it and there is one.
  Entry* Operand(size_t rank = SIZE_MAX) {
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

  Entry* Result(XNNDatatype type, Dims dims, int32_t row_rank = 1) {
    Entry* entry = AddValue(type, std::move(dims), 0, kNone, 0, row_rank);
    entry->internal = true;
    return entry;
  }

  template <typename T>
  void Push(XNodeUnion kind, T node) {
    auto xnode = std::make_unique<graph::XNodeT>();
    xnode->xnode_union.type = kind;
    xnode->xnode_union.value = new T(std::move(node));
    xnode->debug_handle = kNoDebugHandle;
    if (draws_.OneIn(2) || kind == XNodeUnion::XNNClamp) {
      xnode->output_min_max = std::make_unique<graph::OutputMinMaxT>();
      const bool bounded =
          draws_.OneIn(2) && (odd_ ? draws_.OneIn(2) || HasBounds(kind) : HasBounds(kind));
      xnode->output_min_max->output_min = bounded ? -1.0F : -INFINITY;
      xnode->output_min_max->output_max = bounded ? 2.0F : INFINITY;
      if (Odd()) xnode->output_min_max->output_min = NAN;
    }
    graph_.xnodes.push_back(std::move(xnode));
  }

  void AddNode() {
    const auto& kinds = graph::EnumValuesXNodeUnion();
    constexpr size_t kCount = sizeof(kinds) / sizeof(kinds[0]);
    XNodeUnion kind = kinds[1 + draws_.Below(kCount - 1)];
    if (weights_ && draws_.OneIn(2)) kind = draws_.Of(kWithWeights);
    // A program for both runtimes has nodes that both know.
    if (!odd_ && kind >= kFirstOwnKind) return AddUnary(XNodeUnion::XNNAbs);
    switch (kind) {
      case XNodeUnion::XNNFullyConnected:
        return AddFullyConnected();
      case XNodeUnion::XNNConv2d:
      case XNodeUnion::XNNDepthwiseConv2d:
      case XNodeUnion::XNNConvTranspose2d:
        return AddConv(kind);
      case XNodeUnion::XNNAvgPooling2d:
      case XNodeUnion::XNNMaxPooling2d:
        return AddPooling(kind);
      case XNodeUnion::XNNArgMaxPooling2d:
        return AddArgMax();
      case XNodeUnion::XNNGlobalAvgPooling2d:
        return AddGlobalPooling();
      case XNodeUnion::XNNBatchMatrixMultiply:
        return AddMatrixMultiply();
      case XNodeUnion::XNNStaticTranspose:
        return AddTranspose();
      case XNodeUnion::XNNStaticReshape:
        return AddReshape();
      case XNodeUnion::XNNStaticSlice:
        return AddSlice();
      case XNodeUnion::XNNStaticConstantPad:
        return AddPad();
      case XNodeUnion::XNNStaticResizeBilinear2D:
        return AddResize();
      case XNodeUnion::XNNConcatenate2:
      case XNodeUnion::XNNConcatenate3:
      case XNodeUnion::XNNConcatenate4:
      case XNodeUnion::XNNConcatenate5:
        return AddConcatenate(kind);
      case XNodeUnion::XNNConvert:
        return AddConvert();
      case XNodeUnion::XNNELU:
      case XNodeUnion::XNNLeakyReLU:
        return AddWithSlope(kind);
      case XNodeUnion::XNNClamp:
      case XNodeUnion::XNNCopy:
      case XNodeUnion::XNNSoftmax:
        return AddUnary(kind);
#define XIR_UNARY(name, op)   \
  case XNodeUnion::XNN##name: \
    return AddUnary(kind);
#define XIR_BINARY(name, op)  \
  case XNodeUnion::XNN##name: \
    return AddBinary(kind);
#define XIR_REDUCE(name, op)  \
  case XNodeUnion::XNN##name: \
    return AddReduce(kind);
#define XIR_NODE(name)
#include "xnnpack/node_dispatch.inc"
#undef XIR_UNARY
#undef XIR_BINARY
#undef XIR_REDUCE
#undef XIR_NODE
      case XNodeUnion::XNNScaledDotProductAttention:
        if (odd_) Push(kind, graph::XNNScaledDotProductAttentionT());
        return;
      // No default: a node that has no case here does not compile.
      case XNodeUnion::NONE:
        return;
    }
  }

  void AddUnary(XNodeUnion kind) {
    const Entry* input = Operand();
    graph::XNNNode1x1T node;
    node.input_id = Id(input->id);
    node.output_id = Id(Result(input->type, input->dims)->id);
    node.flags = Flags(0);
    Push(kind, node);
  }

  template <typename T>
  void FinishSlope(XNodeUnion kind, T node) {
    const Entry* input = Operand();
    node.input_id = Id(input->id);
    node.output_id = Id(Result(input->type, input->dims)->id);
    node.flags = Flags(0);
    Push(kind, node);
  }

  void AddWithSlope(XNodeUnion kind) {
    const float slope = AnyScale();
    if (kind == XNodeUnion::XNNELU) {
      graph::XNNELUT node;
      node.alpha = slope;
      return FinishSlope(kind, node);
    }
    graph::XNNLeakyReLUT node;
    node.negative_slope = slope;
    FinishSlope(kind, node);
  }

  // Float to rows of integers, between floats, to integers and back.
  void AddConvert() {
    const Entry* input = Operand();
    XNNDatatype type = draws_.Of(kPlain);
    int32_t row_rank = 1;
    if (IsFloat(input->type) && !input->dims.empty() && draws_.OneIn(2)) {
      type = XNNDatatype::QDInt8;
      row_rank = input->dims.size() == 4 && draws_.OneIn(2) ? 3 : 1;
    }
    graph::XNNNode1x1T node;
    node.input_id = Id(input->id);
    const Entry* output = Result(type, input->dims, row_rank);
    node.output_id = Id(output->id);
    Push(XNodeUnion::XNNConvert, node);
    if (type != XNNDatatype::QDInt8) return;
    const Entry quantised = *output;
    row_rank == 3 ? AddConvOf(XNodeUnion::XNNConv2d, quantised, input->type)
                  : AddFullyConnectedOf(quantised, input->type);
  }

  // Another operand that broadcasts with `a`.
  const Entry* Partner(const Entry& a) {
    for (size_t tries = 0; tries < 2; ++tries) {
      const Entry* other = Operand();
      if (other->type == a.type && other->dims == a.dims) return other;
    }
    Dims dims = a.dims;
    for (uint32_t& dim : dims) {
      if (draws_.OneIn(3)) dim = 1;
    }
    if (!dims.empty() && draws_.OneIn(3)) dims.erase(dims.begin());
    return AddConstant(a.type, dims);
  }

  void AddBinary(XNodeUnion kind) {
    const Entry a = *Operand();
    const Entry* b = Partner(a);
    graph::XNNNode2x1T node;
    const bool swapped = draws_.OneIn(4);
    node.input1_id = Id(swapped ? b->id : a.id);
    node.input2_id = Id(swapped ? a.id : b->id);
    node.output_id = Id(Result(a.type, a.dims)->id);
    node.flags = Flags(0);
    Push(kind, node);
  }

  // What weights of a matrix node a type goes with.
  XNNDatatype FilterType(const Entry& input) {
    constexpr XNNDatatype kForRows[] = {XNNDatatype::QCInt8, XNNDatatype::QCInt4,
                                        XNNDatatype::QBInt4};
    constexpr XNNDatatype kForInt8[] = {XNNDatatype::QCInt8, XNNDatatype::QInt8};
    if (Odd()) return draws_.Of(kAny);
    switch (input.type) {
      case XNNDatatype::QDInt8:
        return input.row_rank == 3 ? XNNDatatype::QCInt8 : draws_.Of(kForRows);
      case XNNDatatype::QInt8:
        return draws_.Of(kForInt8);
      case XNNDatatype::FP32:
        return draws_.OneIn(6) ? XNNDatatype::QCInt8 : XNNDatatype::FP32;
      default:
        return input.type;
    }
  }

  uint32_t Bias(const Entry& input, XNNDatatype filter, uint32_t channels, XNNDatatype result) {
    if (draws_.OneIn(3)) return kNone;
    XNNDatatype type = result;
    if (input.type == XNNDatatype::QInt8 || input.type == XNNDatatype::QUInt8) {
      type = filter == XNNDatatype::QCInt8 ? XNNDatatype::QCInt32 : XNNDatatype::QInt32;
    } else if (input.type == XNNDatatype::QDInt8 || input.type == XNNDatatype::BF16) {
      type = XNNDatatype::FP32;
    }
    channel_dim_ = 0;
    return AddConstant(type, {channels})->id;
  }

  void AddFullyConnected() {
    const Entry input = *Operand();
    if (input.dims.empty() && !odd_) return AddUnary(XNodeUnion::XNNAbs);
    AddFullyConnectedOf(input, input.type);
  }

  void AddFullyConnectedOf(const Entry& input, XNNDatatype result) {
    const uint32_t channels = 1 + static_cast<uint32_t>(draws_.Below(9));
    const uint32_t inner = input.dims.empty() ? 1 : input.dims.back();
    XNNDatatype type = FilterType(input);
    if (type == XNNDatatype::QBInt4 && inner % 32 != 0 && !odd_) type = XNNDatatype::QCInt8;
    const bool transposed = IsFloat(type) && draws_.OneIn(4);
    channel_dim_ = 0;
    const Dims dims = transposed ? Dims{inner, channels} : Dims{channels, inner};
    const Entry* filter =
        IsFloat(type) && draws_.OneIn(8) ? AddExternal(type, dims, false) : AddConstant(type, dims);
    graph::XNNFullyConnectedT node;
    node.input1_id = Id(input.id);
    node.filter_id = Id(filter->id);
    node.bias_id = Id(Bias(input, type, channels, result));
    Dims out = input.dims;
    if (!out.empty()) out.back() = channels;
    node.output_id = Id(Result(result, out)->id);
    node.flags = Flags(transposed ? kTransposeWeights : 0);
    Push(XNodeUnion::XNNFullyConnected, node);
  }

  void AddMatrixMultiply() {
    const Entry a = *Operand();
    if (a.dims.size() < 2 && !odd_) return AddUnary(XNodeUnion::XNNAbs);
    const uint32_t columns = 1 + static_cast<uint32_t>(draws_.Below(9));
    Dims dims = a.dims;
    Dims out = a.dims;
    if (dims.size() >= 2) {
      dims[dims.size() - 2] = dims.back();
      dims.back() = columns;
      out.back() = columns;
    }
    const XNNDatatype type = Odd() ? FilterType(a) : a.type;
    channel_dim_ = static_cast<uint32_t>(draws_.Below(dims.size() + 1));
    const Entry* b = draws_.OneIn(2) ? AddConstant(type, dims) : AddExternal(type, dims, false);
    graph::XNNNode2x1T node;
    node.input1_id = Id(a.id);
    node.input2_id = Id(b->id);
    node.output_id = Id(Result(a.type, out)->id);
    node.flags = Flags(0);
    Push(XNodeUnion::XNNBatchMatrixMultiply, node);
  }

  void AddConv(XNodeUnion kind) {
    const Entry input = *Operand(4);
    AddConvOf(kind, input, input.type);
  }

  // Sizes of a window along one axis.
  struct Axis {
    uint32_t before = 0, after = 0, kernel = 1, stride = 1, dilation = 1, adjustment = 0;

    uint32_t extent() const { return (kernel - 1) * dilation + 1; }
    uint32_t Slide(uint32_t size) const {
      const int64_t room = int64_t{size} + before + after - extent();
      return room < 0 || stride == 0 ? 0 : static_cast<uint32_t>(room / stride) + 1;
    }
    uint32_t Spread(uint32_t size) const {
      return stride * (size - 1) + extent() + adjustment - before - after;
    }
  };

  Axis AnyAxis(uint32_t size) {
    Axis axis;
    axis.kernel = Small(1, 3);
    axis.stride = Small(1, 3);
    axis.dilation = draws_.OneIn(4) ? Small(1, 2) : 1;
    axis.before = Small(0, std::min<uint32_t>(axis.kernel, 3));
    axis.after = Small(0, std::min<uint32_t>(axis.kernel, 3));
    while (!odd_ && axis.extent() > size + axis.before + axis.after) {
      axis.kernel = 1;
      axis.before = axis.after = 0;
    }
    return axis;
  }

  void AddConvOf(XNodeUnion kind, const Entry& input, XNNDatatype result) {
    const bool transposed = kind == XNodeUnion::XNNConvTranspose2d;
    const bool depthwise = kind == XNodeUnion::XNNDepthwiseConv2d;
    Dims image = input.dims;
    image.resize(4, 1);
    Axis rows = AnyAxis(image[1]);
    Axis columns = AnyAxis(image[2]);
    if (transposed && !odd_) rows.before = rows.after = columns.before = columns.after = 0;
    const uint32_t in = image[3];
    uint32_t groups = depthwise || (in > 1 && draws_.OneIn(4)) ? in : 1;
    const uint32_t each = 1 + static_cast<uint32_t>(draws_.Below(3));
    const uint32_t out = groups * each;
    const XNNDatatype type = FilterType(input);
    const uint32_t group_in = groups == 0 ? 1 : in / groups;
    channel_dim_ = depthwise ? 3 : 0;
    const Entry* filter =
        AddConstant(type, depthwise ? Dims{1, rows.kernel, columns.kernel, out}
                                    : Dims{out, rows.kernel, columns.kernel, group_in});
    graph::XNNNodeConvT node;
    node.padding_top = rows.before;
    node.padding_bottom = rows.after;
    node.padding_left = columns.before;
    node.padding_right = columns.after;
    node.kernel_height = Id(rows.kernel);
    node.kernel_width = Id(columns.kernel);
    node.subsampling_height = rows.stride;
    node.subsampling_width = columns.stride;
    node.dilation_height = rows.dilation;
    node.dilation_width = columns.dilation;
    node.group_input_channels = Id(depthwise ? 1 : group_in);
    node.group_output_channels = Id(each);
    node.groups = Id(groups);
    if (transposed && Odd()) node.adjustment_height = Small(0, 2);
    node.input1_id = Id(input.id);
    node.filter_id = Id(filter->id);
    node.bias_id = Id(Bias(input, type, out, result));
    node.flags = Flags(0);
    if (!transposed && draws_.OneIn(8)) {
      node.flags = kSamePadding;
      node.padding_top = node.padding_bottom = node.padding_left = node.padding_right = 0;
      rows = {0, 0, 1, rows.stride, 1, 0};
      columns = {0, 0, 1, columns.stride, 1, 0};
    }
    const uint32_t height = transposed ? rows.Spread(image[1]) : rows.Slide(image[1]);
    const uint32_t width = transposed ? columns.Spread(image[2]) : columns.Slide(image[2]);
    node.output_id = Id(Result(result, {image[0], height, width, out})->id);
    Push(kind, node);
  }

  void AddPooling(XNodeUnion kind) {
    const Entry input = *Operand(4);
    Dims image = input.dims;
    image.resize(4, 1);
    Axis rows = AnyAxis(image[1]);
    Axis columns = AnyAxis(image[2]);
    if (kind == XNodeUnion::XNNAvgPooling2d && !odd_) rows.dilation = columns.dilation = 1;
    graph::XNNPooling2DT node;
    node.padding_top = rows.before;
    node.padding_bottom = rows.after;
    node.padding_left = columns.before;
    node.padding_right = columns.after;
    node.pooling_height = rows.kernel;
    node.pooling_width = columns.kernel;
    node.stride_height = rows.stride;
    node.stride_width = columns.stride;
    node.dilation_height = rows.dilation;
    node.dilation_width = columns.dilation;
    node.input_id = Id(input.id);
    node.output_id =
        Id(Result(input.type, {image[0], rows.Slide(image[1]), columns.Slide(image[2]), image[3]})
               ->id);
    node.flags = Flags(0);
    Push(kind, node);
  }

  void AddArgMax() {
    const Entry input = *Operand(4);
    Dims image = input.dims;
    image.resize(4, 1);
    Axis rows = AnyAxis(image[1]);
    Axis columns = AnyAxis(image[2]);
    rows.dilation = columns.dilation = 1;
    rows.stride = rows.kernel;
    columns.stride = columns.kernel;
    graph::XNNArgMaxPooling2dT node;
    node.padding_top = rows.before;
    node.padding_bottom = rows.after;
    node.padding_left = columns.before;
    node.padding_right = columns.after;
    node.pooling_height = rows.kernel;
    node.pooling_width = columns.kernel;
    node.input_id = Id(input.id);
    const Dims out{image[0], rows.Slide(image[1]), columns.Slide(image[2]), image[3]};
    node.output_value_id = Id(Result(input.type, out)->id);
    node.output_index_id = Id(Result(XNNDatatype::Int32, out)->id);
    node.flags = Flags(0);
    Push(XNodeUnion::XNNArgMaxPooling2d, node);
  }

  void AddGlobalPooling() {
    const Entry input = *Operand(4);
    Dims image = input.dims;
    image.resize(4, 1);
    graph::XNNNode1x1T node;
    node.input_id = Id(input.id);
    const bool keep = draws_.OneIn(2);
    node.output_id = Id(
        Result(input.type, keep ? Dims{image[0], 1, 1, image[3]} : Dims{image[0], image[3]})->id);
    node.flags = Flags(keep ? kKeepDims : 0);
    Push(XNodeUnion::XNNGlobalAvgPooling2d, node);
  }

  void AddReduce(XNodeUnion kind) {
    const Entry input = *Operand();
    if (input.dims.empty() && !odd_) return AddUnary(XNodeUnion::XNNAbs);
    graph::XNNStaticReduceT node;
    const bool keep = draws_.OneIn(2);
    Dims out;
    for (uint32_t i = 0; i < input.dims.size(); ++i) {
      const bool last = i + 1 == input.dims.size() && node.reduction_axes.empty();
      if (!last && draws_.OneIn(2)) {
        out.push_back(input.dims[i]);
        continue;
      }
      node.reduction_axes.push_back(Id(i));
      if (keep) out.push_back(1);
    }
    node.num_reduction_axes = static_cast<uint32_t>(node.reduction_axes.size());
    node.input_id = Id(input.id);
    node.output_id = Id(Result(input.type, out)->id);
    node.flags = Flags(keep ? kKeepDims : 0);
    Push(kind, node);
  }

  void AddTranspose() {
    const Entry input = *Operand();
    if (input.dims.empty() && !odd_) return AddUnary(XNodeUnion::XNNAbs);
    graph::XNNStaticTransposeT node;
    Dims order;
    for (uint32_t i = 0; i < input.dims.size(); ++i) order.push_back(i);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws_.Below(i)]);
    Dims out;
    for (const uint32_t from : order) {
      out.push_back(input.dims[from]);
      node.perm.push_back(Id(from));
    }
    node.num_dims = static_cast<uint32_t>(order.size());
    node.input_id = Id(input.id);
    node.output_id = Id(Result(input.type, out)->id);
    node.flags = Flags(0);
    Push(XNodeUnion::XNNStaticTranspose, node);
  }

  void AddReshape() {
    const Entry input = *Operand();
    Dims out = input.dims;
    switch (draws_.Below(4)) {
      case 0:
        out = {static_cast<uint32_t>(Numel(input.dims))};
        break;
      case 1:
        out.push_back(1);
        break;
      case 2:
        out.insert(out.begin(), 1);
        break;
      default:
        std::reverse(out.begin(), out.end());
    }
    graph::XNNStaticReshapeT node;
    for (const uint32_t dim : out) node.new_shape.push_back(Id(dim));
    if (!out.empty() && draws_.OneIn(3)) node.new_shape[draws_.Below(out.size())] = 0;
    node.num_dims = static_cast<uint32_t>(out.size());
    node.input_id = Id(input.id);
    node.output_id = Id(Result(input.type, out)->id);
    node.flags = Flags(0);
    Push(XNodeUnion::XNNStaticReshape, node);
  }

  void AddSlice() {
    const Entry input = *Operand();
    if (input.dims.empty() && !odd_) return AddUnary(XNodeUnion::XNNAbs);
    graph::XNNStaticSliceT node;
    Dims out;
    for (const uint32_t dim : input.dims) {
      const auto offset = static_cast<uint32_t>(draws_.Below(dim == 0 ? 1 : dim));
      const uint32_t size = dim == 0 ? 0 : 1 + static_cast<uint32_t>(draws_.Below(dim - offset));
      node.offsets.push_back(Id(offset));
      node.sizes.push_back(Id(size));
      out.push_back(size);
    }
    node.num_dims = static_cast<uint32_t>(out.size());
    node.input_id = Id(input.id);
    node.output_id = Id(Result(input.type, out)->id);
    node.flags = Flags(0);
    Push(XNodeUnion::XNNStaticSlice, node);
  }

  void AddPad() {
    const Entry input = *Operand();
    graph::XNNStaticConstantPadT node;
    Dims out;
    for (const uint32_t dim : input.dims) {
      node.pre_paddings.push_back(Small(0, 3));
      node.post_paddings.push_back(Small(0, 3));
      out.push_back(dim + node.pre_paddings.back() + node.post_paddings.back());
    }
    node.padding_value = AnyScale();
    node.input_id = Id(input.id);
    node.output_id = Id(Result(input.type, out)->id);
    node.flags = Flags(0);
    Push(XNodeUnion::XNNStaticConstantPad, node);
  }

  void AddResize() {
    const Entry input = *Operand(4);
    Dims image = input.dims;
    image.resize(4, 1);
    graph::XNNStaticResizeBilinear2DT node;
    node.new_height = Small(1, 6);
    node.new_width = Small(1, 6);
    node.input_id = Id(input.id);
    node.output_id =
        Id(Result(input.type, {image[0], node.new_height, node.new_width, image[3]})->id);
    node.flags = Flags(draws_.OneIn(2) ? kAlignCorners : 0);
    Push(XNodeUnion::XNNStaticResizeBilinear2D, node);
  }

  void AddConcatenate(XNodeUnion kind) {
    const Entry first = *Operand();
    if (first.dims.empty() && !odd_) return AddUnary(XNodeUnion::XNNAbs);
    const size_t count =
        kind == XNodeUnion::XNNConcatenate5
            ? 5
            : 2 + static_cast<size_t>(kind) - static_cast<size_t>(XNodeUnion::XNNConcatenate2);
    const size_t axis = first.dims.empty() ? 0 : draws_.Below(first.dims.size());
    uint32_t ids[5] = {kNone, kNone, kNone, kNone, kNone};
    Dims out = first.dims;
    ids[0] = first.id;
    for (size_t i = 1; i < count; ++i) {
      const Entry* next = &first;
      if (draws_.OneIn(2)) {
        Dims dims = first.dims;
        if (!dims.empty()) dims[axis] = 1 + static_cast<uint32_t>(draws_.Below(4));
        next = AddConstant(first.type, dims);
      }
      ids[i] = Id(next->id);
      if (!out.empty()) out[axis] += next->dims[axis];
    }
    graph::XNNCatT node;
    node.axis = Odd() ? static_cast<uint32_t>(OddNumber(&draws_)) : static_cast<uint32_t>(axis);
    node.input1_id = ids[0];
    node.input2_id = ids[1];
    node.input3_id = ids[2];
    node.input4_id = ids[3];
    node.input5_id = ids[4];
    node.output_id = Id(Result(first.type, out)->id);
    node.flags = Flags(0);
    Push(kind, node);
  }

  // Results that no node reads become the graph's, the last one in any case.
  void MarkOutputs() {
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

  Draws& draws_;
  const bool odd_;
  const bool weights_;
  graph::XNNGraphT graph_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<ExternalTensor> externals_;
  Blob constants_;
  uint32_t channel_dim_ = 0;  // of the next value that is quantised by channel
};

}  // namespace

program::ScalarType ScalarTypeOf(XNNDatatype type) {
  using program::ScalarType;
  switch (type) {
    case XNNDatatype::FP16:
      return ScalarType::Half;
    case XNNDatatype::BF16:
      return ScalarType::BFloat16;
    case XNNDatatype::QInt8:
      return ScalarType::Char;
    case XNNDatatype::QUInt8:
      return ScalarType::Byte;
    case XNNDatatype::Int32:
    case XNNDatatype::QInt32:
      return ScalarType::Int;
    default:
      return ScalarType::Float;
  }
}

BuiltGraph BuildGraph(Draws* draws, bool odd, bool weights) {
  return GraphBuilder(draws, odd, weights).Build();
}

}  // namespace xir::fuzz
