#include "drawn_program.h"

#include <algorithm>
#include <limits>

#include "xir/dtype.h"

namespace xir::fuzz {
namespace {

constexpr size_t kAlignment = 16;
// XNNPACK reads a little past its tensors.
constexpr size_t kSlack = 64;
constexpr uint64_t kLargest = 1 << 20;

// The arena that holds nothing but buffers.
constexpr uint32_t kBufferArena = 2;

uint64_t ByteSize(ScalarType type, const Sizes& sizes) {
  // Whatever else it may be the size of.
  if (std::any_of(sizes.begin(), sizes.end(), [](int32_t dim) { return dim <= 0; })) return 0;
  uint64_t size = ElementSize(static_cast<DType>(type));
  for (const int32_t dim : sizes) {
    size *= static_cast<uint64_t>(std::max(dim, 0));
    if (size > kLargest) return kLargest;
  }
  return size;
}

}  // namespace

DrawnProgram::DrawnProgram(Draws* draws, bool odd) : draws_(*draws), odd_(odd) {
  constants_.offsets = {0};
  // Of programs in which much is odd few come as far as to run.
  constexpr uint64_t kRarities[] = {48, 48, 400, 4000};
  if (odd_) rarity_ = draws_.Of(kRarities);
}

void DrawnProgram::NewLook() {
  look.type = odd_ ? draws_.Of(kTypes) : draws_.Of(kPlainTypes);
  look.sizes = AnySizes();
  look.stretched = odd_ && look.sizes.size() > 1 && OneIn(8);
  if (look.stretched) Stretch(&look.sizes);
}

void DrawnProgram::Stretch(Sizes* sizes) {
  (*sizes)[draws_.Below(sizes->size())] = 1 << 30;
  (*sizes)[draws_.Below(sizes->size())] = 0;
}

Sizes DrawnProgram::AnySizes() {
  Sizes sizes;
  for (uint64_t i = draws_.Below(odd_ && OneIn(20) ? 17 : 6); i > 0; --i) {
    int32_t size = 1 + static_cast<int32_t>(draws_.Below(sizes.size() > 5 ? 2 : 5));
    if (OneIn(12)) size = 0;
    if (odd_ && OneIn(24)) size = static_cast<int32_t>(draws_.Below(300));
    if (Odd()) size = static_cast<int32_t>(OddNumber(&draws_));
    sizes.push_back(size);
  }
  if (odd_ && sizes.size() > 1 && OneIn(24)) Stretch(&sizes);
  return sizes;
}

int32_t DrawnProgram::Index(size_t index) {
  return Odd() ? static_cast<int32_t>(OddNumber(&draws_)) : static_cast<int32_t>(index);
}

int32_t DrawnProgram::AddInt() {
  program::IntT value;
  value.int_val = static_cast<int64_t>(odd_ && OneIn(8) ? OddNumber(&draws_) : draws_.Below(6));
  if (OneIn(4)) value.int_val = ~value.int_val;
  return AddValue(value);
}

int32_t DrawnProgram::AddBool(bool flag) {
  program::BoolT value;
  value.bool_val = flag;
  return AddValue(value);
}

double DrawnProgram::AnyDouble() {
  constexpr double kNumbers[] = {1.0, 0.5, 0.0, -1.0, 2.0, -0.0, 1e300, 1e-300, 0x1p63};
  if (!odd_) return draws_.Below(9) * 0.25 - 1.0;
  if (OneIn(16)) return std::numeric_limits<double>::quiet_NaN();
  return draws_.Of(kNumbers);
}

int32_t DrawnProgram::AddDouble() {
  program::DoubleT value;
  value.double_val = AnyDouble();
  return AddValue(value);
}

int32_t DrawnProgram::AddString() {
  constexpr const char* kTexts[] = {"none", "floor", "trunc", "tanh", "mean", "bilinear", ""};
  program::StringT value;
  value.string_val = draws_.Of(kTexts);
  return AddValue(std::move(value));
}

int32_t DrawnProgram::AddInts() {
  program::IntListT list;
  for (uint64_t i = draws_.Below(6); i > 0; --i) list.items.push_back(AddInt());
  return AddValue(std::move(list));
}

int32_t DrawnProgram::AddDoubles() {
  program::DoubleListT list;
  for (uint64_t i = draws_.Below(4); i > 0; --i) list.items.push_back(AnyDouble());
  return AddValue(std::move(list));
}

int32_t DrawnProgram::AddBools() {
  program::BoolListT list;
  for (uint64_t i = draws_.Below(4); i > 0; --i) list.items.push_back(OneIn(2));
  return AddValue(std::move(list));
}

int32_t DrawnProgram::AddInt(int64_t number) {
  program::IntT value;
  value.int_val = number;
  return AddValue(value);
}

int32_t DrawnProgram::AddInts(std::initializer_list<int32_t> items) {
  program::IntListT list;
  list.items.assign(items.begin(), items.end());
  return AddValue(std::move(list));
}

uint32_t DrawnProgram::AddData(Data* data, uint64_t size) {
  data->bytes.resize((data->bytes.size() + kAlignment - 1) / kAlignment * kAlignment, 0);
  data->offsets.push_back(Odd() ? OddNumber(&draws_) : data->bytes.size());
  const uint64_t first = draws_.Below(8);
  const uint64_t stride = OneIn(2) ? 8 : 1;
  // Small integers of 8 bytes may be indices; as floats the other bytes are small numbers.
  for (uint64_t i = 0; i < size; ++i) {
    data->bytes.push_back(static_cast<uint8_t>(stride == 8 ? (i % 8 == 0 ? (i / 8 + first) % 4 : 0)
                                                           : (i % 4 == 3 ? 0x3F : i * 37 + first)));
  }
  return static_cast<uint32_t>(data->offsets.size() - 1);
}

std::unique_ptr<program::AllocationDetailsT> DrawnProgram::Plan(uint64_t size) {
  auto place = std::make_unique<program::AllocationDetailsT>();
  place->memory_id = 1;
  uint64_t offset = arena_;
  if (odd_ && OneIn(8)) offset = draws_.Below(arena_ / kAlignment + 1) * kAlignment;
  if (Odd()) offset = OddNumber(&draws_);
  place->memory_offset_low = static_cast<uint32_t>(offset);
  place->memory_offset_high = Odd() ? 1 : 0;
  if (offset < kLargest) arena_ = std::max(arena_, offset + size);
  arena_ = (arena_ + kSlack + kAlignment - 1) / kAlignment * kAlignment;
  return place;
}

std::unique_ptr<program::AllocationDetailsT> DrawnProgram::PlanBuffer(uint64_t size) {
  auto place = std::make_unique<program::AllocationDetailsT>();
  place->memory_id = kBufferArena;
  place->memory_offset_low = static_cast<uint32_t>(buffer_arena_);
  if (size < kLargest) buffer_arena_ += (size + kAlignment - 1) / kAlignment * kAlignment;
  return place;
}

void DrawnProgram::MakeBuffer(program::TensorT* tensor, uint64_t size) {
  tensor->allocation_info = OneIn(2) ? PlanBuffer(size) : Plan(size);
  if (OneIn(2)) {
    if (state_.offsets.empty()) AddData(&state_, 0);
    tensor->data_buffer_idx = AddData(&state_, size);
  }
  tensor->extra_tensor_info = std::make_unique<program::ExtraTensorInfoT>();
  tensor->extra_tensor_info->fully_qualified_name =
      Odd() ? "state" : "state_" + std::to_string(buffers_.size());
  buffers_.push_back(*tensor);
}

int32_t DrawnProgram::AddKnownBuffer() {
  program::TensorT tensor(buffers_[draws_.Below(buffers_.size())]);
  if (Odd()) tensor.extra_tensor_info->fully_qualified_name += "'s other name";
  if (Odd() && !tensor.sizes.empty()) --tensor.sizes.back();
  if (Odd()) tensor.allocation_info->memory_offset_low += kAlignment;
  const int32_t index = AddValue(std::move(tensor));
  tensors_.push_back(index);
  return index;
}

int32_t DrawnProgram::AddTensor(ScalarType type, const Sizes& sizes, Place place, bool dynamic,
                                const std::vector<uint8_t>& order) {
  program::TensorT tensor;
  tensor.scalar_type = type;
  tensor.sizes = sizes;
  tensor.dim_order = order;
  if (order.empty()) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      tensor.dim_order.push_back(static_cast<uint8_t>(i));
    }
    if (odd_ && sizes.size() == 4 && OneIn(6)) tensor.dim_order = {0, 2, 3, 1};
  }
  if (Odd() && !tensor.dim_order.empty()) tensor.dim_order.back() = 0;
  if (dynamic) tensor.shape_dynamism = program::TensorShapeDynamism::DynamicBound;
  const uint64_t size = ByteSize(type, sizes);
  if (place == Place::kPlanned) tensor.allocation_info = Plan(size);
  if (place == Place::kConstant) {
    tensor.data_buffer_idx = AddData(&constants_, size);
    // Runtimes read a bool that is neither 0 nor 1 as they like.
    if (!odd_ && type == ScalarType::Bool) {
      for (uint64_t i = 0; i < size; ++i) constants_.bytes.end()[-1 - static_cast<int64_t>(i)] &= 1;
    }
  }
  if (place == Place::kState) MakeBuffer(&tensor, size);
  if (Odd()) tensor.storage_offset = 1;
  if (Odd()) tensor.data_buffer_idx = static_cast<uint32_t>(OddNumber(&draws_));
  const int32_t index = AddValue(std::move(tensor));
  if (place == Place::kInput) plan_->inputs.push_back(index);
  tensors_.push_back(index);
  return index;
}

program::KernelCallT DrawnProgram::CallOf(std::string_view name) {
  auto op = std::make_unique<program::OperatorT>();
  const size_t dot = name.find('.');
  op->name = std::string(name.substr(0, dot));
  if (dot != std::string_view::npos) op->overload = std::string(name.substr(dot + 1));
  if (Odd()) op->name = "aten::none";
  plan_->operators.push_back(std::move(op));
  program::KernelCallT call;
  call.op_index = Index(plan_->operators.size() - 1);
  return call;
}

std::unique_ptr<program::BackendDelegateDataReferenceT> DrawnProgram::AddDelegateData(
    const Blob& blob) {
  auto processed = std::make_unique<program::BackendDelegateDataReferenceT>();
  if (OneIn(3)) {
    processed->location = program::DataLocation::Segment;
    processed->index = static_cast<uint32_t>(blobs_.size());
    blobs_.push_back(blob);
    blob_references_.push_back(processed.get());
  } else {
    processed->index = static_cast<uint32_t>(program_.backend_delegate_data.size());
    auto data = std::make_unique<program::BackendDelegateInlineDataT>();
    data->data = blob;
    program_.backend_delegate_data.push_back(std::move(data));
  }
  return processed;
}

void DrawnProgram::BeginMethod(const std::string& name) {
  program_.execution_plan.push_back(std::make_unique<program::ExecutionPlanT>());
  plan_ = program_.execution_plan.back().get();
  plan_->name = name;
  plan_->chains.push_back(std::make_unique<program::ChainT>());
  chain_ = plan_->chains.back().get();
  tensors_.clear();
  arena_ = 0;
  AddNone();
}

void DrawnProgram::FinishMethod() {
  for (const int32_t index : tensors_) {
    if (odd_ && OneIn(3)) plan_->outputs.push_back(index);
    if (odd_ && OneIn(12)) plan_->inputs.push_back(index);
  }
  if (odd_ && OneIn(8)) plan_->inputs.push_back(AddInt());
  if (odd_ && OneIn(8)) plan_->outputs.push_back(AddBool());
  plan_->non_const_buffer_sizes = {0, static_cast<int64_t>(arena_ + kSlack)};
  if (!buffers_.empty()) {
    plan_->non_const_buffer_sizes.push_back(static_cast<int64_t>(buffer_arena_ + kSlack));
  }
  if (Odd()) plan_->non_const_buffer_sizes.push_back(static_cast<int64_t>(OddNumber(&draws_)));
  if (Odd()) plan_->non_const_buffer_sizes[1] = static_cast<int64_t>(draws_.Below(64));
  if (Odd()) plan_->chains.push_back(std::make_unique<program::ChainT>());
}

uint32_t DrawnProgram::AddSegment(Blob bytes) {
  segments_.push_back(std::move(bytes));
  return static_cast<uint32_t>(segments_.size() - 1);
}

Blob DrawnProgram::Write() {
  if (program_.backend_delegate_data.empty()) {
    // Stock ExecuTorch reads the list without looking whether there is one.
    program_.backend_delegate_data.push_back(
        std::make_unique<program::BackendDelegateInlineDataT>());
  }
  program_.constant_segment = std::make_unique<program::SubsegmentOffsetsT>();
  program_.constant_segment->offsets = constants_.offsets;
  if (constants_.offsets.size() > 1) {
    program_.constant_segment->segment_index = AddSegment(constants_.bytes);
  }
  if (!state_.offsets.empty()) {
    auto offsets = std::make_unique<program::SubsegmentOffsetsT>();
    offsets->offsets = state_.offsets;
    offsets->segment_index = AddSegment(state_.bytes);
    program_.mutable_data_segments.push_back(std::move(offsets));
  }
  for (size_t i = 0; i < blobs_.size(); ++i) {
    blob_references_[i]->index = AddSegment(std::move(blobs_[i]));
  }
  for (const Extent& extent : PlaceSegments(segments_)) {
    auto segment = std::make_unique<program::DataSegmentT>();
    segment->offset = Odd() ? OddNumber(&draws_) : extent.offset;
    segment->size = Odd() ? OddNumber(&draws_) : extent.size;
    program_.segments.push_back(std::move(segment));
  }
  if (Odd()) program_.version = 1;
  flatbuffers::FlatBufferBuilder builder;
  program::FinishProgramBuffer(builder, program::CreateProgram(builder, &program_));
  ProgramFile file;
  file.program.assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  file.segments = std::move(segments_);
  return WriteProgramFile(file);
}

}  // namespace xir::fuzz
