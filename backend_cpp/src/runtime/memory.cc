#include "runtime/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/overlap.h"
#include "verify/work_budget.h"

namespace xir {
namespace {

static_assert(sizeof(Value) <= WorkBudget::kValue);
static_assert(sizeof(Value*) + sizeof(size_t) <= WorkBudget::kArgument);

// A writer may leave an empty list out.
template <typename T>
Span<const T> Items(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? Span<const T>() : Span<const T>(vector->data(), vector->size());
}

}  // namespace

using flatbuffers::uoffset_t;

Result<MethodMemory> MethodMemory::Create(const ProgramView& program,
                                          const program::ExecutionPlan& plan,
                                          const ProgramState& state, Allocator* allocator) {
  MethodMemory memory;
  if (const auto* sizes = plan.non_const_buffer_sizes()) {
    for (const int64_t size : *sizes) {
      if (uint8_t* shared = state.arena(memory.arenas_.size())) {
        memory.arenas_.push_back({shared, static_cast<size_t>(size)});
        continue;
      }
      memory.own_.push_back(AllocateBuffer(static_cast<size_t>(size), allocator));
      if (memory.own_.back() == nullptr) {
        return Fail(Code::kResource, "out of memory: an arena of ", size, " bytes");
      }
      memory.arenas_.push_back({memory.own_.back().get(), static_cast<size_t>(size)});
    }
  }
  memory.MakeValues(program, plan);
  return memory;
}

bool MethodMemory::Overlaps(const void* data, size_t nbytes) const {
  return std::any_of(arenas_.begin(), arenas_.end(), [&](const Arena& arena) {
    return xir::Overlaps(arena.data, arena.nbytes, data, nbytes);
  });
}

MethodMemory MethodMemory::Declare(const ProgramView& program, const program::ExecutionPlan& plan) {
  MethodMemory memory;
  memory.MakeValues(program, plan);
  return memory;
}

void MethodMemory::MakeValues(const ProgramView& program, const program::ExecutionPlan& plan) {
  size_ = plan.values() == nullptr ? 0 : plan.values()->size();
  values_ = std::make_unique<Value[]>(size_);
  for (size_t i = 0; i < size_; ++i) {
    MakeValue(program, *plan.values()->Get(static_cast<uoffset_t>(i)), &values_[i]);
  }
}

Tensor MethodMemory::MakeTensor(const ProgramView& program, const program::Tensor& from) {
  Tensor tensor;
  tensor.dtype = static_cast<DType>(from.scalar_type());
  tensor.shape.rank = from.sizes() == nullptr ? 0 : from.sizes()->size();
  for (size_t i = 0; i < tensor.rank(); ++i) {
    tensor.shape[i] = from.sizes()->Get(static_cast<uoffset_t>(i));
    tensor.dim_order[i] = from.dim_order()->Get(static_cast<uoffset_t>(i));
  }
  tensor.bound = tensor.shape;
  tensor.resizable = from.shape_dynamism() == program::TensorShapeDynamism::DynamicBound;
  const size_t nbytes = tensor.nbytes();
  const Bytes* content = ContentOf(program, from);
  if (const auto* place = from.allocation_info(); place != nullptr && arenas_.empty()) {
    tensor.capacity = nbytes;
  } else if (place != nullptr) {
    const uint64_t offset =
        static_cast<uint64_t>(place->memory_offset_high()) << 32 | place->memory_offset_low();
    tensor.data = arenas_[place->memory_id()].data + offset;
    tensor.capacity = nbytes;
  } else if (content != nullptr) {
    tensor.data = const_cast<uint8_t*>(content->data());
    tensor.capacity = nbytes;
    tensor.writable = false;
  }
  return tensor;
}

void MethodMemory::MakeValue(const ProgramView& program, const program::EValue& from, Value* to) {
  using program::KernelTypes;
  const auto tensors = [this](const flatbuffers::Vector<int32_t>* items) {
    TensorList list;
    for (const int32_t index : Items(items)) {
      list.items.push_back(index < 0 ? nullptr : &values_[static_cast<size_t>(index)]);
    }
    return list;
  };
  switch (from.val_type()) {
    case KernelTypes::Int:
      to->content = from.val_as_Int()->int_val();
      return;
    case KernelTypes::Bool:
      to->content = from.val_as_Bool()->bool_val();
      return;
    case KernelTypes::Double:
      to->content = from.val_as_Double()->double_val();
      return;
    case KernelTypes::Tensor:
      to->content = MakeTensor(program, *from.val_as_Tensor());
      return;
    case KernelTypes::String:
      to->content = from.val_as_String()->string_val()->str();
      return;
    case KernelTypes::IntList: {
      IntList list;
      for (const int64_t index : Items(from.val_as_IntList()->items())) {
        list.items.push_back(&values_[static_cast<size_t>(index)]);
      }
      to->content = std::move(list);
      return;
    }
    case KernelTypes::DoubleList: {
      const Span<const double> items = Items(from.val_as_DoubleList()->items());
      to->content = std::vector<double>(items.begin(), items.end());
      return;
    }
    case KernelTypes::BoolList: {
      const Span<const uint8_t> items = Items(from.val_as_BoolList()->items());
      to->content = std::vector<bool>(items.begin(), items.end());
      return;
    }
    case KernelTypes::TensorList:
      to->content = tensors(from.val_as_TensorList()->items());
      return;
    case KernelTypes::OptionalTensorList:
      to->content = tensors(from.val_as_OptionalTensorList()->items());
      return;
    default:
      to->content = None{};
  }
}

}  // namespace xir
