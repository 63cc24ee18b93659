#include "program/decode_values.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/checked.h"
#include "core/invalid_program.h"
#include "program/decode_layout.h"
#include "verify/flatbuffer.h"

namespace xir {
namespace {

using flatbuffers::uoffset_t;
using program::ExecutionPlan;
using program::KernelTypes;

static_assert(sizeof(ValueDescription) + sizeof(Value) <= WorkBudget::kValue);

template <typename T>
Status CheckAligned(const flatbuffers::Vector<T>* vector) {
  return IsAligned(vector) ? Status() : Bad("a list is not aligned in the file");
}

// Whether a tensor's content is named data, of a .ptd file.
bool IsExternal(const program::Tensor& tensor) {
  return tensor.extra_tensor_info() != nullptr &&
         tensor.extra_tensor_info()->location() == program::TensorDataLocation::External;
}

bool HasContent(const program::Tensor& tensor) {
  return tensor.data_buffer_idx() != 0 || IsExternal(tensor);
}

Status DecodeShape(const program::Tensor& from, TensorDescription* to) {
  XIR_RETURN_IF_ERROR(DecodeLayout(from, to));
  if (from.storage_offset() != 0) return Bad("a storage offset of ", from.storage_offset());
  if (from.layout() != 0) return Bad("its layout is not strided");
  if (from.shape_dynamism() != program::TensorShapeDynamism::Static &&
      from.shape_dynamism() != program::TensorShapeDynamism::DynamicBound) {
    return Fail(Code::kUnsupported, "its shape has no upper bound");
  }
  to->resizable = from.shape_dynamism() == program::TensorShapeDynamism::DynamicBound;
  return {};
}

Status DecodePlace(const program::AllocationDetails& from, const std::vector<uint64_t>& arenas,
                   TensorDescription* to) {
  const uint64_t offset =
      static_cast<uint64_t>(from.memory_offset_high()) << 32 | from.memory_offset_low();
  if (from.memory_id() == 0 || from.memory_id() >= arenas.size()) {
    return Bad("memory id ", from.memory_id(), " does not exist");
  }
  // Arena 0 is the placeholder: memory id n is entry n of the sizes.
  const uint64_t arena = arenas[from.memory_id()];
  if (!Fits(offset, to->nbytes, arena)) {
    return Bad("[", offset, ", +", to->nbytes, ") leaves arena ", from.memory_id(), " of ", arena,
               " bytes");
  }
  if (offset % ElementSize(to->dtype) != 0) {
    return Bad("offset ", offset, " is not aligned to its elements");
  }
  to->place = Place{from.memory_id(), offset, offset + to->nbytes};
  return {};
}

Status DecodeContent(const std::string& name, Bytes bytes, TensorDescription* to) {
  if (to->nbytes > bytes.size()) {
    return Bad(name, " has ", bytes.size(), " bytes, not ", to->nbytes);
  }
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  if (address % ElementSize(to->dtype) != 0) return Bad(name, " is not aligned to its elements");
  to->content = bytes.subspan(0, to->nbytes);
  return {};
}

bool SameLayout(const data::TensorLayout& layout, const TensorDescription& tensor) {
  const auto equal = [&](const auto* a, const auto& b) {
    return SizeOf(a) == tensor.rank &&
           (tensor.rank == 0 || std::equal(a->begin(), a->end(), b.begin()));
  };
  return layout.scalar_type() == static_cast<int8_t>(tensor.dtype) &&
         equal(layout.sizes(), tensor.sizes) && equal(layout.dim_order(), tensor.dim_order);
}

// A tensor whose content a data file has.
Status DecodeExternal(const FileData& data, const program::Tensor& from, WorkBudget* budget,
                      TensorDescription* to) {
  const auto* name = from.extra_tensor_info()->fully_qualified_name();
  if (name == nullptr) return Bad("its data is in another file and has no name");
  XIR_RETURN_IF_ERROR(budget->Charge(name));
  const auto found = data.named.find(View(name));
  if (found == data.named.end()) {
    return Fail(Code::kMissingData, "its data '", View(name), "' is missing");
  }
  const NamedBytes& named = found->second;
  if (named.layout != nullptr && !SameLayout(*named.layout, *to)) {
    return Bad("its data '", View(name), "' has another type or shape in the data file");
  }
  return DecodeContent("its data '" + name->str() + "'", named.bytes, to);
}

// A tensor with initial content, in the program or outside.
Status DecodeInitial(const FileData& data, const program::Tensor& from, WorkBudget* budget,
                     TensorDescription* to) {
  if (IsExternal(from)) return DecodeExternal(data, from, budget, to);
  const uint32_t index = from.data_buffer_idx();
  const auto& parts = to->place.has_value() ? data.mutable_data : data.constants;
  const std::string name = "constant " + std::to_string(index);
  return index < parts.size() ? DecodeContent(name, parts[index], to)
                              : Bad(name, " does not exist");
}

// The name of a tensor in an arena: it is a mutable buffer, then, which is found, described and
// reset by its name.
Status DecodeBuffer(const program::Tensor& from, WorkBudget* budget, TensorDescription* to) {
  const auto* extra = from.extra_tensor_info();
  const auto name = extra == nullptr ? std::string_view() : View(extra->fully_qualified_name());
  if (!HasContent(from) && name.empty()) return {};
  XIR_RETURN_IF_ERROR(
      budget->Charge(WorkBudget::kBuffer + WorkBudget::kNameCopies * uint64_t{name.size()}));
  to->name = name;
  return {};
}

Status DecodeTensor(const FileData& data, const std::vector<uint64_t>& arenas,
                    const program::Tensor& from, WorkBudget* budget, TensorDescription* to) {
  XIR_RETURN_IF_ERROR(DecodeShape(from, to));
  if (const auto* extra = from.extra_tensor_info()) {
    if (extra->location() != program::TensorDataLocation::Segment && !IsExternal(from)) {
      return Bad("its data is in a place that is unknown");
    }
    if (extra->device_type() != program::DeviceType::CPU) {
      return Fail(Code::kUnsupported, "it is on another device than the CPU");
    }
    if (extra->mutable_data_segments_idx() != 0) {
      return Fail(Code::kUnsupported, "it uses a second mutable data segment");
    }
  }
  if (from.allocation_info() != nullptr) {
    XIR_RETURN_IF_ERROR(DecodePlace(*from.allocation_info(), arenas, to));
    XIR_RETURN_IF_ERROR(DecodeBuffer(from, budget, to));
  }
  if (!HasContent(from)) return {};
  // The content of an arena is copied into it.
  if (to->place.has_value()) XIR_RETURN_IF_ERROR(budget->Charge(to->nbytes));
  return DecodeInitial(data, from, budget, to);
}

KernelTypes KindAt(const ExecutionPlan& plan, int64_t index) {
  if (index < 0 || index >= static_cast<int64_t>(SizeOf(plan.values()))) return KernelTypes::NONE;
  return plan.values()->Get(static_cast<uoffset_t>(index))->val_type();
}

// Items refer to values before and behind the list.
template <typename List>
Status DecodeItems(const ExecutionPlan& plan, const List& list, KernelTypes kind, bool optional,
                   WorkBudget* budget, std::vector<uint32_t>* to) {
  if (list.items() == nullptr) return {};
  XIR_RETURN_IF_ERROR(budget->Charge(SizeOf(list.items()), WorkBudget::kArgument));
  XIR_RETURN_IF_ERROR(CheckAligned(list.items()));
  to->reserve(list.items()->size());
  for (const auto index : *list.items()) {
    const KernelTypes found = KindAt(plan, index);
    const bool absent = optional && (index == -1 || found == KernelTypes::Null);
    if (found != kind && !absent) {
      return Bad("item ", index, " is no ", program::EnumNameKernelTypes(kind));
    }
    to->push_back(index < 0 ? ValueDescription::kAbsent : static_cast<uint32_t>(index));
  }
  return {};
}

Status DecodeTensors(const ExecutionPlan& plan, const program::EValue& from, WorkBudget* budget,
                     ValueDescription* to) {
  auto& items = to->content.emplace<ValueDescription::TensorItems>().items;
  if (const auto* list = from.val_as_TensorList()) {
    return DecodeItems(plan, *list, KernelTypes::Tensor, /*optional=*/false, budget, &items);
  }
  return DecodeItems(plan, *from.val_as_OptionalTensorList(), KernelTypes::Tensor,
                     /*optional=*/true, budget, &items);
}

Status DecodeValue(const FileData& data, const ExecutionPlan& plan, const program::EValue& from,
                   const std::vector<uint64_t>& arenas, WorkBudget* budget, ValueDescription* to) {
  switch (from.val_type()) {
    case KernelTypes::Null:
      return {};
    case KernelTypes::Int:
      to->content = from.val_as_Int()->int_val();
      return {};
    case KernelTypes::Bool:
      to->content = from.val_as_Bool()->bool_val();
      return {};
    case KernelTypes::Double:
      to->content = from.val_as_Double()->double_val();
      return {};
    case KernelTypes::Tensor:
      return DecodeTensor(data, arenas, *from.val_as_Tensor(), budget,
                          &to->content.emplace<TensorDescription>());
    case KernelTypes::String: {
      const flatbuffers::String* text = from.val_as_String()->string_val();
      if (text == nullptr) return Bad("a string without text");
      XIR_RETURN_IF_ERROR(budget->Charge(text->size(), WorkBudget::kValueCopies));
      to->content = text->str();
      return {};
    }
    case KernelTypes::IntList:
      return DecodeItems(plan, *from.val_as_IntList(), KernelTypes::Int, /*optional=*/false, budget,
                         &to->content.emplace<ValueDescription::IntItems>().items);
    case KernelTypes::DoubleList: {
      const auto* items = from.val_as_DoubleList()->items();
      auto& numbers = to->content.emplace<std::vector<double>>();
      XIR_RETURN_IF_ERROR(budget->Charge(SizeOf(items), WorkBudget::kValueCopies * sizeof(double)));
      XIR_RETURN_IF_ERROR(CheckAligned(items));
      if (items != nullptr) numbers.assign(items->begin(), items->end());
      return {};
    }
    case KernelTypes::BoolList: {
      const auto* items = from.val_as_BoolList()->items();
      auto& flags = to->content.emplace<std::vector<bool>>();
      XIR_RETURN_IF_ERROR(budget->Charge(items));
      if (items != nullptr) flags.assign(items->begin(), items->end());
      return {};
    }
    case KernelTypes::TensorList:
    case KernelTypes::OptionalTensorList:
      return DecodeTensors(plan, from, budget, to);
    default:
      return Bad("kind ", static_cast<int>(from.val_type()), " is unknown");
  }
}

}  // namespace

Status DecodeValues(const FileData& data, const ExecutionPlan& plan, WorkBudget* budget,
                    MethodDescription* method) {
  const uoffset_t count = static_cast<uoffset_t>(SizeOf(plan.values()));
  const auto context = [](uoffset_t i) { return "value " + std::to_string(i); };
  // All are paid for before there is room for any.
  for (uoffset_t i = 0; i < count; ++i) {
    if (plan.values()->Get(i)->val() == nullptr) return Bad("it is empty").In(context(i));
    Status charged = budget->Charge(WorkBudget::kValue);
    if (!charged.ok()) return std::move(charged).In(context(i));
  }
  method->values.resize(count);
  for (uoffset_t i = 0; i < count; ++i) {
    Status decoded = DecodeValue(data, plan, *plan.values()->Get(i), method->arena_sizes, budget,
                                 &method->values[i]);
    if (!decoded.ok()) return std::move(decoded).In(context(i));
  }
  return {};
}

}  // namespace xir
