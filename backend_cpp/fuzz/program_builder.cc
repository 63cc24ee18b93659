#include "program_builder.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "graph_builder.h"
#include "graph_values.h"
#include "kernels/registry.h"
#include "program_generated.h"
#include "xir/dtype.h"

namespace xir::fuzz {
namespace {

using program::ScalarType;
using Sizes = std::vector<int32_t>;

constexpr size_t kAlignment = 16;
// XNNPACK reads a little past its tensors.
constexpr size_t kSlack = 64;
constexpr uint64_t kLargest = 1 << 20;

constexpr ScalarType kTypes[] = {ScalarType::Float,  ScalarType::Float,    ScalarType::Long,
                                 ScalarType::Int,    ScalarType::Half,     ScalarType::Char,
                                 ScalarType::Byte,   ScalarType::Bool,     ScalarType::Double,
                                 ScalarType::Short,  ScalarType::BFloat16, ScalarType::UInt32,
                                 ScalarType::QInt8,  ScalarType::UInt16,   ScalarType::QUInt8,
                                 ScalarType::QInt32, ScalarType::UInt64,   ScalarType::Bits16};

// What kernels of any runtime compute with.
constexpr ScalarType kPlainTypes[] = {ScalarType::Float, ScalarType::Float, ScalarType::Float,
                                      ScalarType::Long,  ScalarType::Int,   ScalarType::Half,
                                      ScalarType::Bool,  ScalarType::Double};

// The arena that holds nothing but buffers.
constexpr uint32_t kBufferArena = 2;

enum class Place { kPlanned, kInput, kConstant, kState };

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

class ProgramBuilder {
 public:
  ProgramBuilder(Draws* draws, Manner manner, std::vector<std::string_view> kernels)
      : draws_(*draws), odd_(manner == Manner::kOdd), kernels_(std::move(kernels)) {}

  Blob Build() {
    constants_.offsets = {0};
    // Of programs in which much is odd few come as far as to run.
    constexpr uint64_t kRarities[] = {48, 48, 400, 4000};
    if (odd_) rarity_ = draws_.Of(kRarities);
    const uint64_t methods = odd_ && draws_.OneIn(6) ? 1 + draws_.Below(3) : 1;
    for (uint64_t i = 0; i < methods; ++i) {
      AddMethod(i == 0 ? "forward" : Odd() ? "forward" : "method_" + std::to_string(i));
    }
    return Write();
  }

 private:
  struct Data {
    Blob bytes;
    std::vector<uint64_t> offsets;
  };

  bool Odd() { return odd_ && draws_.OneIn(rarity_); }
  bool OneIn(uint64_t n) { return draws_.OneIn(n); }

  // What the next tensors of a call look like: most calls get far only when their arguments agree.
  void NewManner() {
    type_ = odd_ ? draws_.Of(kTypes) : draws_.Of(kPlainTypes);
    sizes_ = AnySizes();
    stretched_ = odd_ && sizes_.size() > 1 && OneIn(8);
    if (stretched_) Stretch(&sizes_);
  }

  // Nothing, in as many rows as there may be: who walks them walks for ever.
  void Stretch(Sizes* sizes) {
    (*sizes)[draws_.Below(sizes->size())] = 1 << 30;
    (*sizes)[draws_.Below(sizes->size())] = 0;
  }

  Sizes AnySizes() {
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

  int32_t Index(size_t index) {
    return Odd() ? static_cast<int32_t>(OddNumber(&draws_)) : static_cast<int32_t>(index);
  }

  template <typename T>
  int32_t AddValue(T content) {
    auto value = std::make_unique<program::EValueT>();
    value->val.Set(std::move(content));
    plan_->values.push_back(std::move(value));
    return Index(plan_->values.size() - 1);
  }

  int32_t AddNone() { return AddValue(program::NullT()); }

  int32_t AddInt() {
    program::IntT value;
    value.int_val = static_cast<int64_t>(odd_ && OneIn(8) ? OddNumber(&draws_) : draws_.Below(6));
    if (OneIn(4)) value.int_val = ~value.int_val;
    return AddValue(value);
  }

  int32_t AddBool(bool flag) {
    program::BoolT value;
    value.bool_val = flag;
    return AddValue(value);
  }

  int32_t AddBool() { return AddBool(OneIn(2)); }

  double AnyDouble() {
    constexpr double kNumbers[] = {1.0, 0.5, 0.0, -1.0, 2.0, -0.0, 1e300, 1e-300, 0x1p63};
    if (!odd_) return draws_.Below(9) * 0.25 - 1.0;
    if (OneIn(16)) return std::numeric_limits<double>::quiet_NaN();
    return draws_.Of(kNumbers);
  }

  int32_t AddDouble() {
    program::DoubleT value;
    value.double_val = AnyDouble();
    return AddValue(value);
  }

  int32_t AddString() {
    constexpr const char* kTexts[] = {"none", "floor", "trunc", "tanh", "mean", "bilinear", ""};
    program::StringT value;
    value.string_val = draws_.Of(kTexts);
    return AddValue(std::move(value));
  }

  int32_t AddInts() {
    program::IntListT list;
    for (uint64_t i = draws_.Below(6); i > 0; --i) list.items.push_back(AddInt());
    return AddValue(std::move(list));
  }

  int32_t AddDoubles() {
    program::DoubleListT list;
    for (uint64_t i = draws_.Below(4); i > 0; --i) list.items.push_back(AnyDouble());
    return AddValue(std::move(list));
  }

  int32_t AddBools() {
    program::BoolListT list;
    for (uint64_t i = draws_.Below(4); i > 0; --i) list.items.push_back(OneIn(2));
    return AddValue(std::move(list));
  }

  uint32_t AddData(Data* data, uint64_t size) {
    data->bytes.resize((data->bytes.size() + kAlignment - 1) / kAlignment * kAlignment, 0);
    data->offsets.push_back(Odd() ? OddNumber(&draws_) : data->bytes.size());
    const uint64_t first = draws_.Below(8);
    const uint64_t stride = OneIn(2) ? 8 : 1;
    // Small integers of 8 bytes may be indices; as floats the other bytes are small numbers.
    for (uint64_t i = 0; i < size; ++i) {
      data->bytes.push_back(static_cast<uint8_t>(stride == 8
                                                     ? (i % 8 == 0 ? (i / 8 + first) % 4 : 0)
                                                     : (i % 4 == 3 ? 0x3F : i * 37 + first)));
    }
    return static_cast<uint32_t>(data->offsets.size() - 1);
  }

  // An offset in the arena, mostly behind everything else.
  std::unique_ptr<program::AllocationDetailsT> Plan(uint64_t size) {
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

  // A place in the arena of all methods' buffers, behind the others.
  std::unique_ptr<program::AllocationDetailsT> PlanBuffer(uint64_t size) {
    auto place = std::make_unique<program::AllocationDetailsT>();
    place->memory_id = kBufferArena;
    place->memory_offset_low = static_cast<uint32_t>(buffer_arena_);
    if (size < kLargest) buffer_arena_ += (size + kAlignment - 1) / kAlignment * kAlignment;
    return place;
  }

  // Has a tensor keep what it holds. Half of them lie where methods can share them.
  void MakeBuffer(program::TensorT* tensor, uint64_t size) {
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

  // A buffer that this method, or one before it, has already; seldom another where it lies.
  int32_t AddKnownBuffer() {
    program::TensorT tensor(buffers_[draws_.Below(buffers_.size())]);
    if (Odd()) tensor.extra_tensor_info->fully_qualified_name += "'s other name";
    if (Odd() && !tensor.sizes.empty()) --tensor.sizes.back();
    if (Odd()) tensor.allocation_info->memory_offset_low += kAlignment;
    const int32_t index = AddValue(std::move(tensor));
    tensors_.push_back(index);
    return index;
  }

  int32_t AddTensor(ScalarType type, const Sizes& sizes, Place place, bool dynamic,
                    const std::vector<uint8_t>& order = {}) {
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
        for (uint64_t i = 0; i < size; ++i)
          constants_.bytes.end()[-1 - static_cast<int64_t>(i)] &= 1;
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

  // An operand as the call's others are, for the most part; or a result of an earlier call.
  int32_t PlainOperand() {
    if (!plan_->outputs.empty() && OneIn(6)) {
      return plan_->outputs[draws_.Below(plan_->outputs.size())];
    }
    Sizes sizes = sizes_;
    if (OneIn(4)) {
      for (int32_t& size : sizes) size = OneIn(3) ? 1 : size;
    }
    if (OneIn(8)) sizes = AnySizes();
    return AddTensor(OneIn(5) ? draws_.Of(kPlainTypes) : type_, sizes,
                     OneIn(2) ? Place::kInput : Place::kConstant, /*dynamic=*/false);
  }

  // A result with room for whatever is computed. It is an output once its call is complete.
  int32_t PlainResult() {
    const Sizes room(OneIn(4) ? draws_.Below(5) : sizes_.size(), 8);
    const ScalarType type = OneIn(3) ? draws_.Of(kPlainTypes) : type_;
    results_.push_back(AddTensor(type, room, Place::kPlanned, /*dynamic=*/true));
    return results_.back();
  }

  int32_t AnyTensor(bool written) {
    if (!odd_) return written ? PlainResult() : PlainOperand();
    if (!tensors_.empty() && OneIn(written ? 8 : 3)) return tensors_[draws_.Below(tensors_.size())];
    if (!buffers_.empty() && OneIn(4)) return AddKnownBuffer();
    constexpr Place kPlaces[] = {Place::kInput, Place::kPlanned, Place::kConstant, Place::kState};
    const ScalarType type = OneIn(4) ? draws_.Of(kTypes) : type_;
    const Sizes sizes = OneIn(3) ? AnySizes() : sizes_;
    if (!written) return AddTensor(type, sizes, draws_.Of(kPlaces), OneIn(3));
    if (stretched_ && !OneIn(4)) return AddTensor(type, sizes_, Place::kPlanned, OneIn(2));
    // Room for most results of this rank, so that kernels come as far as to write.
    if (OneIn(3)) return AddTensor(type, sizes, Place::kPlanned, OneIn(2));
    Sizes room(sizes.size(), sizes.size() > 6 ? 2 : 6);
    return AddTensor(type, room, Place::kPlanned, true);
  }

  int32_t AnyTensors(bool written, bool optional) {
    std::vector<int32_t> items;
    for (uint64_t i = draws_.Below(4); i > 0; --i) {
      items.push_back(optional && OneIn(3) ? (OneIn(2) ? -1 : AddNone()) : AnyTensor(written));
    }
    if (optional) {
      program::OptionalTensorListT list;
      list.items = std::move(items);
      return AddValue(std::move(list));
    }
    program::TensorListT list;
    list.items = std::move(items);
    return AddValue(std::move(list));
  }

  // A value that the kernel takes for a parameter, seldom one of another kind.
  int32_t Argument(std::string_view kind) {
    if (Odd()) kind = "anything";
    if (kind == "a tensor") return AnyTensor(false);
    if (kind == "a tensor to write") return AnyTensor(true);
    if (kind == "a tensor or none") return OneIn(3) ? AddNone() : AnyTensor(false);
    if (kind == "a list of tensors to write") return AnyTensors(true, false);
    if (kind == "a list of tensors, none of them absent") return AnyTensors(false, false);
    if (kind == "a list of tensors") return AnyTensors(false, true);
    if (kind == "an int") return AddInt();
    if (kind == "a bool") return AddBool();
    if (kind == "a number") return OneIn(2) ? AddInt() : AddDouble();
    if (kind == "a string") return AddString();
    if (kind == "a list of floats") return OneIn(4) ? AddNone() : AddDoubles();
    if (kind == "a list of ints") return OneIn(8) ? AddNone() : AddInts();
    if (Odd()) return AddBools();
    return Odd() && !plan_->values.empty()
               ? static_cast<int32_t>(draws_.Below(plan_->values.size()))
               : AddNone();
  }

  // A call of the operator, which has no arguments yet.
  program::KernelCallT CallOf(std::string_view name) {
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

  void AddKernelCall() {
    const std::string_view name = kernels_[draws_.Below(kernels_.size())];
    const TypedKernel& kernel = *FindPortableKernel(name);
    NewManner();
    program::KernelCallT call = CallOf(name);
    std::vector<int32_t> written;
    for (const std::string_view kind : kernel.parameters) {
      call.args.push_back(Argument(kind));
      if (kind == "a tensor to write" || kind == "a list of tensors to write") {
        written.push_back(call.args.back());
      }
    }
    plan_->outputs.insert(plan_->outputs.end(), results_.begin(), results_.end());
    results_.clear();
    if (Odd() && !call.args.empty()) call.args.pop_back();
    // ExecuTorch repeats the results behind the arguments.
    if (!odd_ || OneIn(2)) call.args.insert(call.args.end(), written.begin(), written.end());
    if (Odd()) call.args.push_back(AddNone());
    AddInstruction(std::move(call));
  }

  template <typename T>
  void AddInstruction(T content) {
    auto instruction = std::make_unique<program::InstructionT>();
    instruction->instr_args.Set(std::move(content));
    chain_->instructions.push_back(std::move(instruction));
  }

  // Half of them agree in all, and half have weights to be packed.
  void AddDelegate() {
    const bool odd = odd_ && OneIn(2), weights = odd_ && OneIn(2);
    AddDelegate(BuildGraph(&draws_, odd, weights));
  }

  void AddDelegate(const BuiltGraph& built) {
    auto delegate = std::make_unique<program::BackendDelegateT>();
    delegate->id = Odd() ? "CoreML" : "XnnpackBackend";
    delegate->processed = std::make_unique<program::BackendDelegateDataReferenceT>();
    if (OneIn(3)) {
      delegate->processed->location = program::DataLocation::Segment;
      delegate->processed->index = static_cast<uint32_t>(blobs_.size());
      blobs_.push_back(built.blob);
      blob_references_.push_back(delegate->processed.get());
    } else {
      delegate->processed->index = static_cast<uint32_t>(program_.backend_delegate_data.size());
      auto data = std::make_unique<program::BackendDelegateInlineDataT>();
      data->data = built.blob;
      program_.backend_delegate_data.push_back(std::move(data));
    }
    plan_->delegates.push_back(std::move(delegate));
    for (uint64_t calls = odd_ && OneIn(4) ? 2 : 1; calls > 0; --calls) CallDelegate(built);
  }

  void CallDelegate(const BuiltGraph& built) {
    program::DelegateCallT call;
    call.delegate_index = Index(plan_->delegates.size() - 1);
    const bool dynamic = OneIn(3);
    for (const ExternalTensor& external : built.externals) {
      Sizes sizes(external.dims.begin(), external.dims.end());
      std::vector<uint8_t> order;
      for (size_t i = 0; i < sizes.size(); ++i) order.push_back(static_cast<uint8_t>(i));
      if (sizes.size() == 4 && OneIn(2)) {
        order = {0, 2, 3, 1};
        sizes = {sizes[0], sizes[3], sizes[1], sizes[2]};
      }
      const Place place = external.output || (odd_ && OneIn(4)) ? Place::kPlanned : Place::kInput;
      ScalarType type = ScalarTypeOf(external.datatype);
      if (Odd()) type = draws_.Of(kTypes);
      const int32_t index = AddTensor(type, sizes, place, dynamic, order);
      call.args.push_back(index);
      if (external.output) plan_->outputs.push_back(index);
    }
    if (Odd() && !call.args.empty()) call.args.pop_back();
    AddInstruction(std::move(call));
  }

  // Moves between values of a kind pass the verifier; the others should not.
  void AddMove() {
    if (plan_->values.empty()) return;
    program::MoveCallT move;
    const bool tensors = !tensors_.empty() && !OneIn(4);
    const auto any = [&] {
      return tensors ? tensors_[draws_.Below(tensors_.size())]
                     : static_cast<int32_t>(draws_.Below(plan_->values.size()));
    };
    move.move_from = any();
    move.move_to = any();
    if (!tensors && OneIn(2)) {
      move.move_from = AddInt();
      move.move_to = AddInt();
    }
    AddInstruction(move);
  }

  void AddJump() {
    program::JumpFalseCallT jump;
    jump.cond_value_index = OneIn(2) || tensors_.empty() ? AddBool() : AnyTensor(false);
    jump.destination_instruction = Index(draws_.Below(chain_->instructions.size() + 3));
    AddInstruction(jump);
  }

  void AddFree() {
    program::FreeCallT free;
    free.value_index = tensors_.empty() ? 0 : tensors_[draws_.Below(tensors_.size())];
    AddInstruction(free);
  }

  int32_t AddInt(int64_t number) {
    program::IntT value;
    value.int_val = number;
    return AddValue(value);
  }

  int32_t AddInts(std::initializer_list<int32_t> items) {
    program::IntListT list;
    list.items.assign(items.begin(), items.end());
    return AddValue(std::move(list));
  }

  // `right`, or `other`, which is given what `right` holds before it is read.
  int32_t Late(int32_t right, int32_t other) {
    if (!OneIn(2)) return right;
    program::MoveCallT move;
    move.move_from = right;
    move.move_to = other;
    AddInstruction(move);
    return other;
  }

  // A constant for the most part, which the runtime packs when it loads.
  int32_t AddWeight(const Sizes& sizes) {
    return AddTensor(type_, sizes, OneIn(6) ? Place::kState : Place::kConstant, OneIn(8));
  }

  int32_t AddInput(const Sizes& sizes) {
    return AddTensor(type_, sizes, Place::kInput, /*dynamic=*/OneIn(4));
  }

  // A program's caches of keys and values, and attention over them, whose operands agree; positions
  // are anything now and then.
  void AddAttention() {
    type_ = OneIn(6) ? draws_.Of(kPlainTypes) : ScalarType::Float;
    const auto size = [&](uint64_t below) { return static_cast<int32_t>(1 + draws_.Below(below)); };
    const int32_t length = size(4), window = length + size(8), kv_heads = size(2);
    const int32_t heads = kv_heads * size(3), features = OneIn(2) ? size(40) : size(8);
    const auto position = [&] {
      return AddInt(OneIn(4) ? static_cast<int64_t>(OddNumber(&draws_))
                             : static_cast<int64_t>(draws_.Below(8)));
    };
    const Sizes cache{1, window, kv_heads, features};
    int32_t caches[2];
    for (int32_t& each : caches) {
      each = AddTensor(type_, cache, OneIn(3) ? Place::kInput : Place::kState, OneIn(4));
      program::KernelCallT update = CallOf("llama::update_cache.out");
      const int32_t dummy = AddTensor(type_, {1}, Place::kPlanned, /*dynamic=*/true);
      update.args = {AddInput({1, length, kv_heads, features}), each, position(), dummy, dummy};
      AddInstruction(std::move(update));
    }
    const int32_t query = AddInput({1, length, heads, features});
    const int32_t result =
        AddTensor(type_, {1, length, heads, features}, Place::kPlanned, /*dynamic=*/OneIn(2));
    const auto scale = [&] { return OneIn(2) ? AddNone() : AddDouble(); };
    program::KernelCallT call = CallOf("llama::custom_sdpa.out");
    const int32_t mask = OneIn(3) ? AddInput({length, window}) : AddNone();
    program::DoubleT none;
    call.args = {query,          caches[0], caches[1], position(), mask,
                 AddValue(none), AddBool(), scale(),   result,     result};
    AddInstruction(std::move(call));
    plan_->outputs.push_back(result);
  }

  // Where instructions come from: one long name for many, or one for each.
  void AddFrames() {
    std::string name(1 + draws_.Below(OneIn(4) ? 2000 : 20), 'm');
    for (size_t i = 0; i < chain_->instructions.size(); ++i) {
      auto list = std::make_unique<program::FrameListT>();
      auto frame = std::make_unique<program::FrameT>();
      frame->filename = name;
      frame->lineno = static_cast<int32_t>(i);
      list->items.push_back(std::move(frame));
      chain_->stacktrace.push_back(std::move(list));
    }
  }

  // A product whose operands agree.
  void AddProduct() {
    type_ = OneIn(4) ? draws_.Of(kPlainTypes) : ScalarType::Float;
    if (OneIn(2)) return AddConvolution();
    const auto size = [&] { return static_cast<int32_t>(24 - draws_.Below(24)); };
    const int32_t m = size(), k = size(), n = size();
    const bool batched = OneIn(3), added = OneIn(2);
    const auto shaped = [&](int32_t rows, int32_t columns) {
      return batched ? Sizes{2, rows, columns} : Sizes{rows, columns};
    };
    program::KernelCallT call = CallOf(batched ? (added ? "aten::baddbmm.out" : "aten::bmm.out")
                                               : (added ? "aten::addmm.out" : "aten::mm.out"));
    if (added) call.args.push_back(AddInput(shaped(m, n)));
    call.args.push_back(AddInput(shaped(m, k)));
    call.args.push_back(AddWeight(shaped(k, n)));
    if (added) call.args.insert(call.args.end(), {AddInt(1), AddInt(1)});
    FinishProduct(std::move(call), shaped(m, n));
  }

  // A convolution of one dimension in groups, with a filter of one element.
  void AddConvolution() {
    const auto groups = static_cast<int32_t>(1 + draws_.Below(4));
    const auto in = static_cast<int32_t>(1 + draws_.Below(4));
    const auto out = static_cast<int32_t>(8 - draws_.Below(8));
    const auto length = static_cast<int32_t>(1 + draws_.Below(6));
    const bool transposed = OneIn(3);
    program::KernelCallT call = CallOf("aten::convolution.out");
    const int32_t right_flag = AddBool(transposed), other_flag = AddBool(OneIn(4));
    const int32_t flag = Late(right_flag, other_flag);
    const int32_t right = AddInt(groups);
    const int32_t other = AddInt(static_cast<int64_t>(1 + draws_.Below(4)));
    const int32_t number = Late(right, other);
    call.args = {AddInput({1, groups * in, length}),
                 AddWeight(transposed ? Sizes{groups * in, out, 1} : Sizes{groups * out, in, 1}),
                 AddNone(),
                 AddInts({AddInt(1)}),
                 AddInts({AddInt(0)}),
                 AddInts({AddInt(1)}),
                 flag,
                 AddInts({AddInt(0)}),
                 number};
    FinishProduct(std::move(call), {1, groups * out, length});
  }

  void FinishProduct(program::KernelCallT call, const Sizes& sizes) {
    const int32_t result = AddTensor(type_, sizes, Place::kPlanned, /*dynamic=*/OneIn(3));
    call.args.insert(call.args.end(), {result, result});
    plan_->outputs.push_back(result);
    AddInstruction(std::move(call));
  }

  program::KernelTypes KindOf(int32_t value) const {
    return plan_->values[static_cast<size_t>(value)]->val.type;
  }

  // Whether a move between the two may pass the verifier.
  bool Alike(int32_t a, int32_t b) const {
    if (KindOf(a) != KindOf(b)) return false;
    const auto tensor = [&](int32_t value) {
      return plan_->values[static_cast<size_t>(value)]->val.AsTensor();
    };
    return tensor(a) == nullptr || (tensor(a)->scalar_type == tensor(b)->scalar_type &&
                                    tensor(a)->sizes.size() == tensor(b)->sizes.size());
  }

  // One of the values for which `fits`; -1 if there is none.
  template <typename Predicate>
  int32_t AnyValue(const Predicate& fits) {
    std::vector<int32_t> found;
    for (size_t i = 0; i < plan_->values.size(); ++i) {
      if (fits(static_cast<int32_t>(i))) found.push_back(static_cast<int32_t>(i));
    }
    return found.empty() ? -1 : found[draws_.Below(found.size())];
  }

  int32_t AnyNumber() {
    return AnyValue([&](int32_t value) {
      const program::KernelTypes kind = KindOf(value);
      return kind == program::KernelTypes::Int || kind == program::KernelTypes::Bool ||
             kind == program::KernelTypes::Double;
    });
  }

  // Some value of the method is given to another, which something may read by then.
  void MoveKnown() {
    program::MoveCallT move;
    move.move_to = OneIn(3) ? AnyValue([](int32_t) { return true; }) : AnyNumber();
    if (move.move_to < 0) return;
    move.move_from = AnyValue(
        [&](int32_t value) { return value != move.move_to && Alike(value, move.move_to); });
    if (move.move_from < 0) move.move_from = AnyNumber();
    InsertInstruction(move);
  }

  // A number that something may read is computed.
  void ComputeKnown() {
    const auto number = [](std::string_view kind) {
      return kind == "a number" || kind == "an int";
    };
    std::vector<const TypedKernel*> computing;
    for (const std::string_view name : kernels_) {
      const TypedKernel* kernel = FindPortableKernel(name);
      const auto& kinds = kernel->parameters;
      if (std::all_of(kinds.begin(), kinds.end(), number)) computing.push_back(kernel);
    }
    const int32_t result = AnyNumber();
    if (computing.empty() || result < 0) return;
    const TypedKernel& kernel = *computing[draws_.Below(computing.size())];
    program::KernelCallT call = CallOf(kernel.name);
    for (size_t i = 1; i < kernel.parameters.size(); ++i) call.args.push_back(AnyNumber());
    call.args.insert(call.args.end(), {result, result});
    InsertInstruction(std::move(call));
  }

  // Over calls or back to them.
  void JumpAnywhere() {
    program::JumpFalseCallT jump;
    jump.cond_value_index = AnyValue([&](int32_t value) {
      const auto* tensor = plan_->values[static_cast<size_t>(value)]->val.AsTensor();
      return KindOf(value) == program::KernelTypes::Bool ||
             (tensor != nullptr && tensor->scalar_type == ScalarType::Bool);
    });
    if (jump.cond_value_index < 0) jump.cond_value_index = AddBool();
    jump.destination_instruction =
        static_cast<int32_t>(draws_.Below(chain_->instructions.size() + 2));
    InsertInstruction(jump);
  }

  // Adds an instruction somewhere, at first before all others.
  template <typename T>
  void InsertInstruction(T content) {
    auto& all = chain_->instructions;
    const auto at = static_cast<std::ptrdiff_t>(draws_.Below(all.size() + 1));
    AddInstruction(std::move(content));
    std::rotate(all.begin() + at, all.end() - 1, all.end());
  }

  // What the instructions were written for changes while they run: numbers that calls read, the
  // tensors in their slots, the order.
  void Disturb() {
    if (!OneIn(2)) return;
    if (OneIn(3)) AddProduct();
    for (uint64_t i = 1 + draws_.Below(4); i > 0; --i) {
      switch (draws_.Below(5)) {
        case 3:
          ComputeKnown();
          break;
        case 4:
          JumpAnywhere();
          break;
        default:
          MoveKnown();
      }
    }
  }

  void AddMethod(const std::string& name) {
    program_.execution_plan.push_back(std::make_unique<program::ExecutionPlanT>());
    plan_ = program_.execution_plan.back().get();
    plan_->name = name;
    plan_->chains.push_back(std::make_unique<program::ChainT>());
    chain_ = plan_->chains.back().get();
    tensors_.clear();
    arena_ = 0;
    AddNone();
    const bool calls = !odd_ && !kernels_.empty();
    const uint64_t count = odd_ ? draws_.Below(7) : calls ? 1 + draws_.Below(2) : 1;
    // Stock ExecuTorch wants a list of delegates, and an input: the plainest graph gives it both.
    if (calls) {
      Draws none{Bytes()};
      AddDelegate(BuildGraph(&none, /*odd=*/false));
    }
    const bool delegates_only = !calls && (!odd_ || OneIn(6));
    for (uint64_t i = 0; i < count; ++i) {
      switch (delegates_only ? 9 : odd_ ? draws_.Below(10) : 0) {
        case 6:
          AddMove();
          break;
        case 7:
          OneIn(4) ? AddFree() : AddJump();
          break;
        case 8:
        case 9:
          AddDelegate();
          break;
        default:
          AddKernelCall();
      }
    }
    if (odd_) Disturb();
    if (odd_ && OneIn(6)) AddAttention();
    if (odd_ && OneIn(8)) AddFrames();
    FinishMethod();
  }

  void FinishMethod() {
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

  uint32_t AddSegment(Blob bytes) {
    segments_.push_back(std::move(bytes));
    return static_cast<uint32_t>(segments_.size() - 1);
  }

  Blob Write() {
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

  Draws& draws_;
  const bool odd_;
  uint64_t rarity_ = 48;  // of what is odd
  const std::vector<std::string_view> kernels_;
  program::ProgramT program_;
  Data constants_;
  Data state_;
  std::vector<program::TensorT> buffers_;
  uint64_t buffer_arena_ = 0;
  std::vector<Blob> blobs_;
  std::vector<program::BackendDelegateDataReferenceT*> blob_references_;
  std::vector<Blob> segments_;

  // Of the method at hand.
  program::ExecutionPlanT* plan_ = nullptr;
  program::ChainT* chain_ = nullptr;
  std::vector<int32_t> tensors_;
  std::vector<int32_t> results_;  // of the call at hand
  uint64_t arena_ = 0;
  ScalarType type_ = ScalarType::Float;
  Sizes sizes_;
  bool stretched_ = false;
};

}  // namespace

Blob BuildProgram(Draws* draws, Manner manner) {
  std::vector<std::string_view> kernels;
  if (manner == Manner::kOdd) kernels = PortableKernelNames();
  return ProgramBuilder(draws, manner, std::move(kernels)).Build();
}

Blob BuildKernelProgram(Draws* draws, const std::string& kernel) {
  return ProgramBuilder(draws, Manner::kValid, {kernel}).Build();
}

}  // namespace xir::fuzz
