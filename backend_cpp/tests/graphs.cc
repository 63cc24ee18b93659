#include "graphs.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "xnnpack/datatype.h"

namespace xir::testing {
namespace {

constexpr float kScale = 1.0f / 16;
constexpr uint32_t kAbsent = UINT32_MAX;

size_t Bytes4BitRows(graph::XNNDatatype datatype, const std::vector<uint32_t>& dims) {
  const size_t bits = DatatypeBits(ToXnnDatatype(datatype));
  size_t count = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    count *= bits == 4 && i + 1 == dims.size() ? (dims[i] + 1) / 2 : dims[i];
  }
  return bits == 4 ? count : count * bits / 8;
}

bool IsQuantized(graph::XNNDatatype datatype) {
  using graph::XNNDatatype;
  return datatype != XNNDatatype::FP32 && datatype != XNNDatatype::FP16 &&
         datatype != XNNDatatype::BF16 && datatype != XNNDatatype::Int32;
}

program::ScalarType ScalarTypeOf(graph::XNNDatatype datatype) {
  using graph::XNNDatatype;
  switch (datatype) {
    case XNNDatatype::FP32:
      return program::ScalarType::Float;
    case XNNDatatype::FP16:
      return program::ScalarType::Half;
    case XNNDatatype::BF16:
      return program::ScalarType::BFloat16;
    case XNNDatatype::QUInt8:
      return program::ScalarType::Byte;
    case XNNDatatype::Int32:
    case XNNDatatype::QInt32:
      return program::ScalarType::Int;
    default:
      return program::ScalarType::Char;
  }
}

std::unique_ptr<program::EValueT> TensorFor(const graph::XNNTensorValueT& external,
                                            int64_t* arena) {
  program::TensorT tensor;
  tensor.scalar_type = ScalarTypeOf(external.datatype);
  tensor.sizes.assign(external.dims.begin(), external.dims.end());
  tensor.dim_order.resize(external.dims.size());
  std::iota(tensor.dim_order.begin(), tensor.dim_order.end(), uint8_t{0});
  tensor.shape_dynamism = program::TensorShapeDynamism::DynamicBound;
  if ((external.flags & XNN_VALUE_FLAG_EXTERNAL_OUTPUT) != 0) {
    tensor.allocation_info = std::make_unique<program::AllocationDetailsT>();
    tensor.allocation_info->memory_id = 1;
    tensor.allocation_info->memory_offset_low = static_cast<uint32_t>(*arena);
    const size_t nbytes = Bytes4BitRows(external.datatype, external.dims);
    *arena += static_cast<int64_t>((nbytes + 63) / 64 * 64);
  }
  auto value = std::make_unique<program::EValueT>();
  value->val.Set(tensor);
  return value;
}

}  // namespace

uint32_t GraphMaker::Add(Datatype datatype, const Sizes& dims, uint32_t flags) {
  const auto id = static_cast<uint32_t>(graph_.xvalues.size());
  graph::XNNTensorValueT tensor;
  tensor.datatype = datatype;
  tensor.num_dims = static_cast<uint32_t>(dims.size());
  tensor.dims = dims;
  tensor.flags = flags;
  tensor.external_id = flags == 0 ? kAbsent : graph_.num_externs++;
  tensor.id_out = id;
  auto value = std::make_unique<graph::XValueT>();
  value->xvalue_union.Set(tensor);
  graph_.xvalues.push_back(std::move(value));
  if (IsQuantized(datatype)) QuantizeByTensor(id, kScale, 0);
  return id;
}

uint32_t GraphMaker::Input(Datatype datatype, const Sizes& dims) {
  return Add(datatype, dims, XNN_VALUE_FLAG_EXTERNAL_INPUT);
}

uint32_t GraphMaker::Output(Datatype datatype, const Sizes& dims) {
  return Add(datatype, dims, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
}

uint32_t GraphMaker::Internal(Datatype datatype, const Sizes& dims) {
  return Add(datatype, dims, 0);
}

uint32_t GraphMaker::Constant(Datatype datatype, const Sizes& dims) {
  if (graph_.constant_buffer.empty()) {
    graph_.constant_buffer.push_back(std::make_unique<graph::BufferT>());
  }
  const uint32_t id = Add(datatype, dims, 0);
  FindValue(&graph_, id)->constant_buffer_idx =
      static_cast<uint32_t>(graph_.constant_buffer.size());
  auto buffer = std::make_unique<graph::BufferT>();
  buffer->storage.assign(Bytes4BitRows(datatype, dims), 1);
  graph_.constant_buffer.push_back(std::move(buffer));
  return id;
}

graph::XNNQuantParamsUnion* GraphMaker::Quantize(uint32_t id) {
  auto& value = graph_.xvalues[id]->xvalue_union;
  if (value.AsXNNQuantizedTensorValue() == nullptr) {
    graph::XNNQuantizedTensorValueT quantized;
    quantized.tensor_value = std::make_unique<graph::XNNTensorValueT>(*value.AsXNNTensorValue());
    value.Set(std::move(quantized));
  }
  return &value.AsXNNQuantizedTensorValue()->quant_params;
}

void GraphMaker::QuantizeByTensor(uint32_t id, float scale, int32_t zero_point) {
  graph::PerTensorQuantT params;
  params.scale = scale;
  params.zero_point = zero_point;
  Quantize(id)->Set(params);
}

void GraphMaker::QuantizeByChannel(uint32_t id, int32_t dim, size_t num_scales) {
  graph::PerChannelQuantT params;
  params.channel_dim = dim;
  params.scale.assign(num_scales, kScale);
  params.num_scales = static_cast<uint32_t>(num_scales);
  Quantize(id)->Set(params);
}

void GraphMaker::QuantizeByGroup(uint32_t id, int32_t group_size, size_t num_scales) {
  graph::PerChannelGroupQuantT params;
  params.group_size = group_size;
  params.scale.assign(num_scales, kScale);
  params.num_scales = static_cast<uint32_t>(num_scales);
  Quantize(id)->Set(params);
}

void GraphMaker::QuantizeByRow(uint32_t id, int32_t row_rank) {
  graph::PerTokenDynamicQuantT params;
  params.num_nonbatch_dims = row_rank;
  Quantize(id)->Set(params);
}

void GraphMaker::Bounds(graph::XNodeT* node, float min, float max) {
  node->output_min_max = std::make_unique<graph::OutputMinMaxT>();
  node->output_min_max->output_min = min;
  node->output_min_max->output_max = max;
}

Blob GraphMaker::Flatbuffer() const {
  flatbuffers::FlatBufferBuilder builder;
  graph::FinishXNNGraphBuffer(builder, graph::CreateXNNGraph(builder, &graph_));
  return Blob(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
}

Blob GraphMaker::Program() const {
  auto plan = std::make_unique<program::ExecutionPlanT>();
  plan->name = "forward";
  program::DelegateCallT call;
  int64_t arena = 0;
  for (const auto& value : graph_.xvalues) {
    const auto* quantized = value->xvalue_union.AsXNNQuantizedTensorValue();
    const auto& tensor =
        quantized != nullptr ? *quantized->tensor_value : *value->xvalue_union.AsXNNTensorValue();
    if (tensor.external_id == kAbsent) continue;
    const auto index = static_cast<int32_t>(plan->values.size());
    plan->values.push_back(TensorFor(tensor, &arena));
    call.args.push_back(index);
    const bool output = (tensor.flags & XNN_VALUE_FLAG_EXTERNAL_OUTPUT) != 0;
    (output ? plan->outputs : plan->inputs).push_back(index);
  }
  plan->non_const_buffer_sizes = {0, arena};
  auto delegate = std::make_unique<program::BackendDelegateT>();
  delegate->id = "XnnpackBackend";
  delegate->processed = std::make_unique<program::BackendDelegateDataReferenceT>();
  plan->delegates.push_back(std::move(delegate));
  auto instruction = std::make_unique<program::InstructionT>();
  instruction->instr_args.Set(call);
  plan->chains.push_back(std::make_unique<program::ChainT>());
  plan->chains[0]->instructions.push_back(std::move(instruction));

  program::ProgramT program;
  program.execution_plan.push_back(std::move(plan));
  program.backend_delegate_data.push_back(std::make_unique<program::BackendDelegateInlineDataT>());
  program.backend_delegate_data[0]->data = Flatbuffer();
  flatbuffers::FlatBufferBuilder builder;
  program::FinishProgramBuffer(builder, program::CreateProgram(builder, &program));
  return Blob(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
}

}  // namespace xir::testing
