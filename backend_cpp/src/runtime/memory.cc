#include "runtime/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/overlap.h"
#include "verify/work_budget.h"

namespace xir {
namespace {

static_assert(sizeof(Value*) + sizeof(size_t) <= WorkBudget::kArgument);

}  // namespace

size_t LargestBytes(const Tensor& tensor) {
  return static_cast<size_t>(tensor.bound.numel()) * ElementSize(tensor.dtype);
}

Result<MethodMemory> MethodMemory::Create(const MethodDescription& method,
                                          const ProgramState& state, Allocator* allocator) {
  MethodMemory memory;
  memory.state_ = &state;
  for (const uint64_t size : method.arena_sizes) {
    const size_t id = memory.arenas_.size();
    if (uint8_t* shared = id < method.num_planned_arenas ? state.arena(id) : nullptr) {
      memory.arenas_.push_back({shared, static_cast<size_t>(size)});
      continue;
    }
    memory.own_.push_back(AllocateBuffer(static_cast<size_t>(size), allocator));
    if (memory.own_.back() == nullptr) {
      return Fail(Code::kResource, "out of memory: an arena of ", size, " bytes");
    }
    memory.arenas_.push_back({memory.own_.back().get(), static_cast<size_t>(size)});
  }
  memory.MakeValues(method);
  return memory;
}

bool MethodMemory::Overlaps(const void* data, size_t nbytes) const {
  if (state_ != nullptr && state_->Overlaps(data, nbytes)) return true;
  return std::any_of(arenas_.begin(), arenas_.end(), [&](const Arena& arena) {
    return xir::Overlaps(arena.data, arena.nbytes, data, nbytes);
  });
}

MethodMemory MethodMemory::Declare(const MethodDescription& method) {
  MethodMemory memory;
  memory.MakeValues(method);
  return memory;
}

Tensor MethodMemory::MakeTensor(const TensorDescription& from) const {
  Tensor tensor;
  tensor.dtype = from.dtype;
  tensor.shape = from.bound();
  tensor.bound = tensor.shape;
  tensor.dim_order = from.dim_order;
  tensor.resizable = from.resizable;
  if (!from.place.has_value() && !from.content.has_value()) return tensor;
  tensor.capacity = static_cast<size_t>(from.nbytes);
  if (from.IsConstant()) {
    tensor.data = const_cast<uint8_t*>(from.content->data());
    tensor.writable = false;
  } else if (!arenas_.empty()) {
    tensor.data = arenas_[from.place->arena].data + from.place->begin;
  }
  return tensor;
}

struct MethodMemory::ValueMaker {
  const MethodMemory& memory;
  Value* to;

  void operator()(const TensorDescription& from) const { to->content = memory.MakeTensor(from); }
  void operator()(const ValueDescription::IntItems& from) const {
    auto& list = to->content.emplace<IntList>();
    for (const uint32_t item : from.items) list.items.push_back(&memory.values_[item]);
  }
  void operator()(const ValueDescription::TensorItems& from) const {
    auto& list = to->content.emplace<TensorList>();
    for (const uint32_t item : from.items) {
      list.items.push_back(item == ValueDescription::kAbsent ? nullptr : &memory.values_[item]);
    }
  }
  // Numbers, texts, and lists of numbers.
  template <typename T>
  void operator()(const T& same) const {
    to->content = same;
  }
};

void MethodMemory::MakeValues(const MethodDescription& method) {
  size_ = method.values.size();
  values_ = std::make_unique<Value[]>(size_);
  for (size_t i = 0; i < size_; ++i) {
    std::visit(ValueMaker{*this, &values_[i]}, method.values[i].content);
  }
}

}  // namespace xir
