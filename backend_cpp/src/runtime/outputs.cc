#include "runtime/outputs.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/overlap.h"
#include "runtime/output_placement.h"

namespace xir {

Status MethodOutputs::Check(size_t index, const void* data, size_t nbytes) const {
  if (index >= plan_.method->outputs.size()) {
    return Fail(Code::kInvalidArgument, "output ", index, " of ", plan_.method->outputs.size(),
                " does not exist");
  }
  const Value& value = memory_[plan_.method->outputs[index]];
  const auto* tensor = value.get<Tensor>();
  if (tensor == nullptr) {
    return Fail(Code::kInvalidArgument, "output ", index, " is a ", KindName(value),
                ", not a tensor");
  }
  if (reinterpret_cast<uintptr_t>(data) % ElementSize(tensor->dtype) != 0) {
    return Fail(Code::kInvalidArgument, "output ", index, " is not aligned to its elements");
  }
  const bool has_one_shape = !tensor->resizable || tensor->rank() == 0;
  if (has_one_shape && data != nullptr && tensor->nbytes() > nbytes) {
    return Fail(Code::kInvalidArgument, "output ", index, " takes ", tensor->nbytes(),
                " bytes, not ", nbytes);
  }
  return {};
}

Status MethodOutputs::CheckFree(size_t index, const void* data, size_t nbytes) const {
  if (memory_.Overlaps(data, nbytes)) {
    return Fail(Code::kInvalidArgument, "the memory for output ", index, " is the method's own");
  }
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (i == index || !Overlaps(bound_[i].bound, bound_[i].bound_size, data, nbytes)) continue;
    return Fail(Code::kInvalidArgument, "the memory for output ", index,
                " overlaps the memory that is bound to output ", i);
  }
  return {};
}

void MethodOutputs::RememberOwn() {
  if (!bound_.empty()) return;
  // All of them or none, should memory end.
  std::vector<Output> outputs(plan_.method->outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto* own = memory_[plan_.method->outputs[i]].get<Tensor>();
    if (own != nullptr) outputs[i].own = *own;
  }
  bound_ = std::move(outputs);
}

Result<Method::Binding> MethodOutputs::Bind(size_t index, void* data, size_t nbytes) {
  XIR_RETURN_IF_ERROR(Check(index, data, nbytes));
  const size_t value = plan_.method->outputs[index];
  auto* tensor = memory_[value].get<Tensor>();
  nbytes = data == nullptr ? 0 : std::min(nbytes, LargestBytes(*tensor));
  XIR_RETURN_IF_ERROR(CheckFree(index, data, nbytes));
  const bool movable = MayMove(plan_, value);
  RememberOwn();
  Output& output = bound_[index];
  output.bound = data;
  output.bound_size = nbytes;
  output.is_copied = false;
  if (movable) {
    tensor->data = output.own.data;
    tensor->capacity = output.own.capacity;
  }
  if (data == nullptr) return Method::Binding::kCopied;
  if (movable && MayOverread(data, nbytes)) {
    tensor->data = data;
    tensor->capacity = nbytes;
    // Operators take it that a tensor has memory for its shape, also one that they change in place.
    if (tensor->nbytes() > nbytes) std::fill_n(tensor->shape.dims.begin(), tensor->rank(), 0);
    return Method::Binding::kInPlace;
  }
  output.is_copied = true;
  return Method::Binding::kCopied;
}

Status MethodOutputs::CopyToBound() const {
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (!bound_[i].is_copied) continue;
    const Tensor& tensor = *memory_[plan_.method->outputs[i]].get<Tensor>();
    const size_t nbytes = tensor.nbytes();
    if (nbytes > bound_[i].bound_size || (nbytes > 0 && tensor.data == nullptr)) {
      return Fail(Code::kInvalidArgument, "output ", i, " of shape ", tensor.shape.ToString(),
                  " takes ", nbytes, " bytes, and ", bound_[i].bound_size, " were bound");
    }
    if (nbytes > 0) std::memmove(bound_[i].bound, tensor.data, nbytes);
  }
  return {};
}

WrittenRanges MethodOutputs::Bound() const {
  WrittenRanges ranges;
  for (const Output& output : bound_) ranges.Add(output.bound, output.bound_size, SIZE_MAX);
  return ranges;
}

}  // namespace xir
