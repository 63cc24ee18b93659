#include "runtime/inputs.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/guard.h"
#include "runtime/input_sizes.h"

namespace xir {
namespace {

std::string DimOrderOf(const Tensor& tensor) {
  Shape order;
  order.rank = tensor.rank();
  std::copy_n(tensor.dim_order.begin(), order.rank, order.dims.begin());
  return order.ToString();
}

}  // namespace

MethodInputs::MethodInputs(const MethodPlan& plan, MethodMemory* memory, Allocator* allocator)
    : plan_(plan), memory_(*memory), allocator_(allocator) {
  inputs_.reserve(plan.method->inputs.size());
  for (const size_t value : plan.method->inputs) {
    Input& input = inputs_.emplace_back();
    input.value = value;
    if (const Tensor* tensor = TensorOf(input)) input.own = *tensor;
  }
}

Status MethodInputs::CheckIndex(size_t index) const {
  if (index < inputs_.size()) return {};
  return Fail(Code::kInvalidArgument, "input ", index, " of ", inputs_.size(), " does not exist");
}

Status MethodInputs::CheckTensor(size_t index) const {
  XIR_RETURN_IF_ERROR(CheckIndex(index));
  if (TensorOf(inputs_[index]) != nullptr) return {};
  return Fail(Code::kInvalidArgument, "input ", index, " is a ",
              KindName(memory_[inputs_[index].value]), ", and a tensor was given");
}

Status MethodInputs::CheckShape(size_t index, const Shape& shape) const {
  return CheckSizes(index, *TensorOf(inputs_[index]), plan_.input_dims[index], shape);
}

Status MethodInputs::Set(size_t index, const Tensor& given) {
  XIR_RETURN_IF_ERROR(CheckTensor(index));
  const Tensor& wanted = *TensorOf(inputs_[index]);
  if (given.dtype != wanted.dtype) {
    return Fail(Code::kInvalidArgument, "input ", index, " is ", Name(wanted.dtype), ", and ",
                Name(given.dtype), " was given");
  }
  XIR_RETURN_IF_ERROR(CheckShape(index, given.shape));
  if (given.dim_order != wanted.dim_order && given.numel() > 1) {
    return Fail(Code::kInvalidArgument, "input ", index, " lies in memory in the order ",
                DimOrderOf(wanted), ", and ", DimOrderOf(given), " was given");
  }
  return Lend(index, given.data, given.capacity, given.shape, given.writable);
}

Status MethodInputs::Set(size_t index, void* data, size_t nbytes, const Shape& shape,
                         bool writable) {
  XIR_RETURN_IF_ERROR(CheckTensor(index));
  XIR_RETURN_IF_ERROR(CheckShape(index, shape));
  return Lend(index, data, nbytes, shape, writable);
}

template <typename T>
Status MethodInputs::CheckFixed(size_t index, std::string_view kind, T given) const {
  XIR_RETURN_IF_ERROR(CheckIndex(index));
  const Value& value = memory_[inputs_[index].value];
  if (KindName(value) != kind) {
    return Fail(Code::kInvalidArgument, "input ", index, " is a ", KindName(value), ", and a ",
                kind, " was given");
  }
  const T fixed = *value.get<T>();
  if (fixed == given || (fixed != fixed && given != given)) return {};  // NaN is one value
  return Fail(Code::kInvalidArgument, "input ", index, " was fixed at ", fixed,
              " when the model was exported, and ", given, " was given");
}

Status MethodInputs::Set(size_t index, int64_t number) const {
  return CheckFixed(index, "int", number);
}

Status MethodInputs::Set(size_t index, bool flag) const { return CheckFixed(index, "bool", flag); }

Status MethodInputs::Set(size_t index, double number) const {
  return CheckFixed(index, "double", number);
}

// All checks come first: a call that fails leaves what was given before.
Status MethodInputs::Lend(size_t index, void* data, size_t nbytes, const Shape& shape,
                          bool writable) {
  Input& input = inputs_[index];
  Tensor* tensor = TensorOf(input);
  Tensor given = *tensor;
  given.shape = shape;
  // The address of an empty tensor may be null, as that of an empty vector.
  alignas(kBufferAlignment) static uint8_t nothing[kOverreadBytes];
  if (data == nullptr && given.nbytes() == 0) {
    data = nothing;
    nbytes = 0;
  }
  if (data == nullptr || given.nbytes() > nbytes) {
    return Fail(Code::kInvalidArgument, "input ", index, " of shape ", shape.ToString(), " takes ",
                given.nbytes(), " bytes, not ", nbytes);
  }
  if (reinterpret_cast<uintptr_t>(data) % ElementSize(given.dtype) != 0) {
    return Fail(Code::kInvalidArgument, "input ", index, " is not aligned to its elements");
  }
  // What the model may have of it is no more than its largest shape takes.
  nbytes = std::min(nbytes, LargestBytes(given));
  given.data = data;
  given.capacity = nbytes;
  given.writable = writable;
  // XNNPACK may read past the end, where nothing need be mapped. Of the method's own memory, such
  // as an output of the execution before, the operators have something else to make.
  const bool is_own = memory_.Overlaps(data, nbytes);
  if (is_own) given.writable = false;
  if (is_own || !MayOverread(data, nbytes)) XIR_RETURN_IF_ERROR(Copy(index, &given));
  *tensor = given;
  input.lent = static_cast<uint8_t*>(data);
  input.given = true;
  return {};
}

Status MethodInputs::Copy(size_t index, Tensor* lent) {
  Input& input = inputs_[index];
  if (input.copy == nullptr || input.copy_size < lent->capacity) {
    AlignedBuffer copy = AllocateBuffer(lent->capacity, allocator_);
    if (copy == nullptr) return Fail(Code::kResource, "out of memory for input ", index);
    input.copy = std::move(copy);
    input.copy_size = lent->capacity;
  }
  std::memcpy(input.copy.get(), lent->data, lent->nbytes());
  lent->data = input.copy.get();
  return {};
}

Status MethodInputs::CheckGiven() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (TensorOf(inputs_[i]) != nullptr && !inputs_[i].given) {
      return Fail(Code::kInvalidArgument, "input ", i, " was not given");
    }
  }
  return {};
}

Status MethodInputs::CheckEqualSizes() const {
  struct Seen {
    size_t input, dim;
    int64_t size;
  };
  std::unordered_map<int32_t, Seen> seen;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor* tensor = TensorOf(inputs_[i]);
    for (size_t dim = 0; tensor != nullptr && dim < plan_.input_dims[i].size(); ++dim) {
      const int32_t symbol = plan_.input_dims[i][dim].symbol;
      if (symbol < 0) continue;
      const Seen& first = seen.emplace(symbol, Seen{i, dim, tensor->shape[dim]}).first->second;
      if (first.size == tensor->shape[dim]) continue;
      return Fail(Code::kInvalidArgument, "input ", i, " has the size ", tensor->shape[dim],
                  " in dimension ", dim, ", where the model takes as many as in dimension ",
                  first.dim, " of input ", first.input, ", ", first.size);
    }
  }
  return {};
}

Status MethodInputs::Separate(WrittenRanges written) {
  const std::vector<bool> shared = SharedWith(std::move(written));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!shared[i]) continue;
    Tensor* tensor = TensorOf(inputs_[i]);
    Tensor lent = *tensor;
    lent.writable = false;
    if (lent.data == inputs_[i].lent) XIR_RETURN_IF_ERROR(Copy(i, &lent));
    *tensor = lent;
  }
  return {};
}

void MethodInputs::Place() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor* tensor = TensorOf(inputs_[i]);
    const Tensor& own = inputs_[i].own;
    if (!plan_.has_other_name[i] || tensor == nullptr || tensor->data == own.data) continue;
    const size_t nbytes = std::min(tensor->nbytes(), own.capacity);
    if (own.data != nullptr && nbytes > 0) std::memcpy(own.data, tensor->data, nbytes);
  }
}

std::vector<bool> MethodInputs::SharedWith(WrittenRanges written) const {
  std::vector<bool> shared(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].lent == nullptr || !plan_.changes_input[i]) continue;
    written.Add(inputs_[i].lent, TensorOf(inputs_[i])->capacity, i);
  }
  written.Sort();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor* tensor = TensorOf(inputs_[i]);
    shared[i] = tensor != nullptr && written.Overlap(inputs_[i].lent, tensor->capacity, i);
  }
  return shared;
}

Status MethodInputs::GiveBack() {
  Status status;
  for (Input& input : inputs_) {
    input.given = false;
    Status given_back = Guarded([&] { return GiveBack(&input); });
    if (status.ok()) status = std::move(given_back);
  }
  return status;
}

Status MethodInputs::GiveBack(Input* input) {
  Tensor* tensor = TensorOf(*input);
  if (tensor == nullptr || input->lent == nullptr) return {};
  uint8_t* lent = std::exchange(input->lent, nullptr);
  const Tensor used = *tensor;
  tensor->data = input->own.data;
  tensor->capacity = input->own.capacity;
  tensor->writable = input->own.writable;
  // A kernel that failed may have left a shape that is too large for the memory.
  const size_t nbytes = std::min(used.nbytes(), used.capacity);
  const bool copied = used.data == input->copy.get() && used.data != nullptr;
  // The model may have written to the copy instead of the caller's memory.
  if (copied && used.writable && nbytes > 0 && std::memcmp(lent, used.data, nbytes) != 0) {
    std::memmove(lent, used.data, nbytes);
  }
  if (!plan_.IsOutput(input->value) || used.data == tensor->data || nbytes == 0) return {};
  if (tensor->data == nullptr || !tensor->writable) {
    const size_t size = LargestBytes(used);
    if (input->kept == nullptr) input->kept = AllocateBuffer(size, allocator_);
    if (input->kept == nullptr) return Fail(Code::kResource, "out of memory for an output");
    tensor->capacity = size;
    tensor->data = input->kept.get();
  }
  std::memmove(tensor->data, used.data, nbytes);
  return {};
}

std::unordered_map<size_t, const Tensor*> MethodInputs::OwnTensors() const {
  std::unordered_map<size_t, const Tensor*> own;
  for (const Input& each : inputs_) own[each.value] = &each.own;
  return own;
}

}  // namespace xir
