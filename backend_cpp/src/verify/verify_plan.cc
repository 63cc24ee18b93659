#include "verify/verify_plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/checked.h"
#include "xir/tensor.h"

namespace xir {
namespace {

using flatbuffers::uoffset_t;
using program::ExecutionPlan;
using program::KernelTypes;

template <typename... Parts>
Status Bad(const Parts&... parts) {
  return Fail(Code::kInvalidProgram, parts...);
}

template <typename T>
size_t SizeOf(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

template <typename T>
Status CheckAligned(const flatbuffers::Vector<T>* vector) {
  return IsAligned(vector) ? Status() : Bad("a list is not aligned in the file");
}

// Sizes, dimension order, element type; `nbytes` is the size at the (largest) shape. Of an empty
// tensor the other dimensions' product has to be a number too: strides and numbers of rows are such
// products.
Status VerifyTensorShape(const program::Tensor& tensor, uint64_t* nbytes) {
  const size_t rank = SizeOf(tensor.sizes());
  if (rank > kMaxRank) return Bad("rank ", rank, " exceeds ", kMaxRank);
  if (SizeOf(tensor.dim_order()) != rank) {
    return Bad("rank ", rank, " with a dimension order of ", SizeOf(tensor.dim_order()));
  }
  uint32_t seen = 0;
  *nbytes = ElementSize(static_cast<DType>(tensor.scalar_type()));
  if (*nbytes == 0) {
    return Bad("element type ", static_cast<int>(tensor.scalar_type()), " is unknown");
  }
  bool empty = false;
  for (uoffset_t i = 0; i < rank; ++i) {
    const int32_t size = tensor.sizes()->Get(i);
    if (size < 0) return Bad("size ", size, " is negative");
    empty = empty || size == 0;
    if (!CheckedMul(*nbytes, static_cast<uint64_t>(std::max(size, 1)), nbytes)) {
      return Bad("its size in bytes overflows");
    }
    const uint8_t dim = tensor.dim_order()->Get(i);
    if (dim >= rank || (seen >> dim & 1) != 0) return Bad("the dimension order is no permutation");
    seen |= 1u << dim;
  }
  if (*nbytes > INT64_MAX) return Bad("its size in bytes overflows");
  if (empty) *nbytes = 0;
  if (tensor.storage_offset() != 0) return Bad("a storage offset of ", tensor.storage_offset());
  if (tensor.layout() != 0) return Bad("its layout is not strided");
  if (tensor.shape_dynamism() != program::TensorShapeDynamism::Static &&
      tensor.shape_dynamism() != program::TensorShapeDynamism::DynamicBound) {
    return Fail(Code::kUnsupported, "its shape has no upper bound");
  }
  return {};
}

Status VerifyPlanned(const program::Tensor& tensor, uint64_t nbytes, const ExecutionPlan& plan) {
  const program::AllocationDetails& place = *tensor.allocation_info();
  const uint64_t offset =
      static_cast<uint64_t>(place.memory_offset_high()) << 32 | place.memory_offset_low();
  const auto* arenas = plan.non_const_buffer_sizes();
  if (place.memory_id() == 0 || place.memory_id() >= SizeOf(arenas)) {
    return Bad("memory id ", place.memory_id(), " does not exist");
  }
  // Arena 0 is the placeholder: memory id n is entry n of the sizes.
  const auto arena = static_cast<uint64_t>(arenas->Get(place.memory_id()));
  if (!Fits(offset, nbytes, arena)) {
    return Bad("[", offset, ", +", nbytes, ") leaves arena ", place.memory_id(), " of ", arena,
               " bytes");
  }
  if (offset % ElementSize(static_cast<DType>(tensor.scalar_type())) != 0) {
    return Bad("offset ", offset, " is not aligned to its elements");
  }
  return {};
}

Status VerifyData(const std::string& name, Bytes bytes, const program::Tensor& tensor,
                  uint64_t nbytes) {
  if (nbytes > bytes.size()) {
    return Bad(name, " has ", bytes.size(), " bytes, not ", nbytes);
  }
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  if (address % ElementSize(static_cast<DType>(tensor.scalar_type())) != 0) {
    return Bad(name, " is not aligned to its elements");
  }
  return {};
}

bool SameLayout(const data::TensorLayout& layout, const program::Tensor& tensor) {
  const auto equal = [](const auto* a, const auto* b) {
    return SizeOf(a) == SizeOf(b) &&
           (SizeOf(a) == 0 || std::equal(a->begin(), a->end(), b->begin()));
  };
  return layout.scalar_type() == static_cast<int8_t>(tensor.scalar_type()) &&
         equal(layout.sizes(), tensor.sizes()) && equal(layout.dim_order(), tensor.dim_order());
}

// A tensor whose content a data file has.
Status VerifyExternal(const ProgramView& view, const program::Tensor& tensor, uint64_t nbytes,
                      WorkBudget* budget) {
  const auto* name = tensor.extra_tensor_info()->fully_qualified_name();
  if (name == nullptr) return Bad("its data is in another file and has no name");
  XIR_RETURN_IF_ERROR(budget->Charge(name));
  const auto found = view.named_data.find(View(name));
  if (found == view.named_data.end()) {
    return Fail(Code::kMissingData, "its data '", View(name), "' is missing");
  }
  const NamedBytes& named = found->second;
  if (named.layout != nullptr && !SameLayout(*named.layout, tensor)) {
    return Bad("its data '", View(name), "' has another type or shape in the data file");
  }
  return VerifyData("its data '" + name->str() + "'", named.bytes, tensor, nbytes);
}

// A tensor with initial content, in the program or outside.
Status VerifyContent(const ProgramView& view, const program::Tensor& tensor, uint64_t nbytes,
                     WorkBudget* budget) {
  if (IsExternal(tensor)) return VerifyExternal(view, tensor, nbytes, budget);
  const uint32_t index = tensor.data_buffer_idx();
  const auto& data = tensor.allocation_info() != nullptr ? view.mutable_data : view.constants;
  const std::string name = "constant " + std::to_string(index);
  return index < data.size() ? VerifyData(name, data[index], tensor, nbytes)
                             : Bad(name, " does not exist");
}

// A mutable buffer is found, described and reset by its name.
Status ChargeBuffer(const program::Tensor& tensor, WorkBudget* budget) {
  if (!IsBuffer(tensor)) return {};
  return budget->Charge(WorkBudget::kBuffer +
                        WorkBudget::kNameCopies * uint64_t{BufferName(tensor).size()});
}

Status VerifyTensor(const ProgramView& view, const ExecutionPlan& plan,
                    const program::Tensor& tensor, WorkBudget* budget) {
  uint64_t nbytes = 0;
  XIR_RETURN_IF_ERROR(VerifyTensorShape(tensor, &nbytes));
  if (const auto* extra = tensor.extra_tensor_info()) {
    if (extra->location() != program::TensorDataLocation::Segment && !IsExternal(tensor)) {
      return Bad("its data is in a place that is unknown");
    }
    if (extra->device_type() != program::DeviceType::CPU) {
      return Fail(Code::kUnsupported, "it is on another device than the CPU");
    }
    if (extra->mutable_data_segments_idx() != 0) {
      return Fail(Code::kUnsupported, "it uses a second mutable data segment");
    }
  }
  const bool planned = tensor.allocation_info() != nullptr;
  if (planned) {
    XIR_RETURN_IF_ERROR(VerifyPlanned(tensor, nbytes, plan));
    XIR_RETURN_IF_ERROR(ChargeBuffer(tensor, budget));
  }
  if (!HasContent(tensor)) return {};
  // The content of an arena is copied into it.
  if (planned) XIR_RETURN_IF_ERROR(budget->Charge(nbytes));
  return VerifyContent(view, tensor, nbytes, budget);
}

KernelTypes KindAt(const ExecutionPlan& plan, int64_t index) {
  const auto* values = plan.values();
  if (values == nullptr || index < 0 || index >= static_cast<int64_t>(values->size())) {
    return KernelTypes::NONE;
  }
  return values->Get(static_cast<uoffset_t>(index))->val_type();
}

template <typename List>
Status VerifyItems(const ExecutionPlan& plan, const List& list, KernelTypes kind, bool optional,
                   WorkBudget* budget) {
  if (list.items() == nullptr) return {};
  XIR_RETURN_IF_ERROR(budget->Charge(SizeOf(list.items()), WorkBudget::kArgument));
  XIR_RETURN_IF_ERROR(CheckAligned(list.items()));
  for (const auto index : *list.items()) {
    const KernelTypes found = KindAt(plan, index);
    const bool absent = optional && (index == -1 || found == KernelTypes::Null);
    if (found != kind && !absent) {
      return Bad("item ", index, " is no ", program::EnumNameKernelTypes(kind));
    }
  }
  return {};
}

Status VerifyValue(const ProgramView& view, const ExecutionPlan& plan, const program::EValue& value,
                   WorkBudget* budget) {
  if (value.val() == nullptr) return Bad("it is empty");
  XIR_RETURN_IF_ERROR(budget->Charge(WorkBudget::kValue));
  switch (value.val_type()) {
    case KernelTypes::Null:
    case KernelTypes::Int:
    case KernelTypes::Bool:
    case KernelTypes::Double:
      return {};
    case KernelTypes::Tensor:
      return VerifyTensor(view, plan, *value.val_as_Tensor(), budget);
    case KernelTypes::String: {
      const flatbuffers::String* text = value.val_as_String()->string_val();
      if (text == nullptr) return Bad("a string without text");
      return budget->Charge(text->size(), WorkBudget::kValueCopies);
    }
    case KernelTypes::IntList:
      return VerifyItems(plan, *value.val_as_IntList(), KernelTypes::Int, false, budget);
    case KernelTypes::DoubleList: {
      const auto* items = value.val_as_DoubleList()->items();
      XIR_RETURN_IF_ERROR(budget->Charge(SizeOf(items), WorkBudget::kValueCopies * sizeof(double)));
      return CheckAligned(items);
    }
    case KernelTypes::BoolList:
      return budget->Charge(value.val_as_BoolList()->items());
    case KernelTypes::TensorList:
      return VerifyItems(plan, *value.val_as_TensorList(), KernelTypes::Tensor, false, budget);
    case KernelTypes::OptionalTensorList:
      return VerifyItems(plan, *value.val_as_OptionalTensorList(), KernelTypes::Tensor, true,
                         budget);
    default:
      return Bad("kind ", static_cast<int>(value.val_type()), " is unknown");
  }
}

Status VerifyArenas(const ExecutionPlan& plan, const VerifyLimits& limits, WorkBudget* budget) {
  XIR_RETURN_IF_ERROR(budget->Charge(SizeOf(plan.non_const_buffer_sizes()), WorkBudget::kArena));
  XIR_RETURN_IF_ERROR(CheckAligned(plan.non_const_buffer_sizes()));
  uint64_t total = 0;
  for (uoffset_t i = 0; i < SizeOf(plan.non_const_buffer_sizes()); ++i) {
    const int64_t size = plan.non_const_buffer_sizes()->Get(i);
    if (size < 0) return Bad("arena ", i, " has ", size, " bytes");
    if (!CheckedAdd(total, static_cast<uint64_t>(size), &total)) total = UINT64_MAX;
  }
  if (total > limits.max_memory) {
    return Fail(Code::kResource, "its arenas take ", total, " bytes; the limit is ",
                limits.max_memory);
  }
  for (uoffset_t i = 0; i < SizeOf(plan.non_const_buffer_device()); ++i) {
    if (plan.non_const_buffer_device()->Get(i)->device_type() != program::DeviceType::CPU) {
      return Fail(Code::kUnsupported, "an arena is on another device than the CPU");
    }
  }
  return {};
}

// `each` is what is built of one, as a charge.
Status VerifyIndices(const ExecutionPlan& plan, const flatbuffers::Vector<int32_t>* indices,
                     uint64_t each, WorkBudget* budget) {
  if (indices == nullptr) return {};
  XIR_RETURN_IF_ERROR(budget->Charge(indices->size(), each));
  for (const int32_t index : *indices) {
    if (KindAt(plan, index) == KernelTypes::NONE) return Bad("value ", index, " does not exist");
  }
  return {};
}

// The number of a list's items; 0 for a value that is none.
size_t NumItems(const program::EValue& value) {
  switch (value.val_type()) {
    case KernelTypes::IntList:
      return SizeOf(value.val_as_IntList()->items());
    case KernelTypes::TensorList:
      return SizeOf(value.val_as_TensorList()->items());
    case KernelTypes::OptionalTensorList:
      return SizeOf(value.val_as_OptionalTensorList()->items());
    default:
      return 0;
  }
}

// What calls read of a list they read each time that it is an argument.
Status VerifyArguments(const ExecutionPlan& plan, const flatbuffers::Vector<int32_t>* indices,
                       WorkBudget* budget) {
  XIR_RETURN_IF_ERROR(VerifyIndices(plan, indices, WorkBudget::kArgument, budget));
  for (uoffset_t i = 0; i < SizeOf(indices); ++i) {
    const auto& value = *plan.values()->Get(static_cast<uoffset_t>(indices->Get(i)));
    XIR_RETURN_IF_ERROR(budget->Charge(NumItems(value), WorkBudget::kArgument));
  }
  return {};
}

// A caller takes each output as a tensor of its own, also where several are one value.
Status VerifyOutputs(const ExecutionPlan& plan, const VerifyLimits& limits, WorkBudget* budget) {
  XIR_RETURN_IF_ERROR(VerifyIndices(plan, plan.outputs(), WorkBudget::kPort, budget));
  uint64_t total = 0;
  for (uoffset_t i = 0; i < SizeOf(plan.outputs()); ++i) {
    const auto index = static_cast<uoffset_t>(plan.outputs()->Get(i));
    const auto* tensor = plan.values()->Get(index)->val_as_Tensor();
    uint64_t nbytes = 0;
    if (tensor != nullptr) XIR_RETURN_IF_ERROR(VerifyTensorShape(*tensor, &nbytes));
    if (!CheckedAdd(total, nbytes, &total) || total > limits.max_memory) {
      return Fail(Code::kResource, "they take more than the limit of ", limits.max_memory,
                  " bytes");
    }
  }
  return {};
}

// Which values are inputs and outputs: a bit for each, since there may be as many moves as values.
struct Ports {
  std::vector<bool> inputs, outputs;

  explicit Ports(const ExecutionPlan& plan)
      : inputs(Mark(plan, plan.inputs())), outputs(Mark(plan, plan.outputs())) {}

 private:
  static std::vector<bool> Mark(const ExecutionPlan& plan,
                                const flatbuffers::Vector<int32_t>* indices) {
    std::vector<bool> marked(SizeOf(plan.values()));
    for (uoffset_t i = 0; i < SizeOf(indices); ++i) {
      marked[static_cast<size_t>(indices->Get(i))] = true;
    }
    return marked;
  }
};

// ExecuTorch lets both slots share one tensor. Here the bytes are copied, since the memory plan may
// reuse a slot's memory after its last read, and an input's memory belongs to the caller.
Status VerifyTensorMove(const ExecutionPlan& plan, const Ports& ports, int32_t from_index,
                        int32_t to_index) {
  const auto tensor = [&](int32_t index) {
    return plan.values()->Get(static_cast<uoffset_t>(index))->val_as_Tensor();
  };
  const program::Tensor& from = *tensor(from_index);
  const program::Tensor& to = *tensor(to_index);
  const auto bad = [&](const char* why) {
    return Bad("it moves value ", from_index, " to ", to_index, why);
  };
  if (from.scalar_type() != to.scalar_type()) return bad(" of another dtype");
  const bool both_static = from.shape_dynamism() == program::TensorShapeDynamism::Static &&
                           to.shape_dynamism() == program::TensorShapeDynamism::Static;
  const bool same_sizes =
      SizeOf(from.sizes()) == SizeOf(to.sizes()) &&
      (SizeOf(to.sizes()) == 0 ||
       std::equal(from.sizes()->begin(), from.sizes()->end(), to.sizes()->begin()));
  if (SizeOf(from.sizes()) != SizeOf(to.sizes()) || (both_static && !same_sizes)) {
    return bad(" of another shape");
  }
  if (to.allocation_info() != nullptr) return {};
  if (HasContent(to)) return bad(", which is a constant");
  // Only results may be given memory.
  const auto at = static_cast<size_t>(to_index);
  if (ports.inputs[at] || !ports.outputs[at]) {
    return bad(", which has no memory of its own");
  }
  return {};
}

// A move may not change what a slot holds: kernels and delegates were bound to its kind, and to the
// items of a list.
Status VerifyMove(const ExecutionPlan& plan, const Ports& ports, const program::MoveCall& move) {
  const KernelTypes kind = KindAt(plan, move.move_from());
  const auto bad = [&](const char* why) {
    return Bad("it moves value ", move.move_from(), " to ", move.move_to(), why);
  };
  if (kind == KernelTypes::NONE || kind != KindAt(plan, move.move_to())) {
    return bad(" of another kind");
  }
  if (move.move_from() == move.move_to()) return {};
  switch (kind) {
    case KernelTypes::Null:
      return {};
    case KernelTypes::Int:
    case KernelTypes::Bool:
    case KernelTypes::Double:
      // Sizes that were fixed when the model was exported.
      return ports.inputs[static_cast<size_t>(move.move_to())] ? bad(", which is an input")
                                                               : Status();
    case KernelTypes::Tensor:
      return VerifyTensorMove(plan, ports, move.move_from(), move.move_to());
    default:
      return bad(", which is no number and no tensor");
  }
}

Status VerifyInstruction(const ExecutionPlan& plan, const Ports& ports,
                         const program::Instruction& instruction, size_t num_instructions,
                         WorkBudget* budget) {
  using program::InstructionArguments;
  if (instruction.instr_args() == nullptr) return Bad("it is empty");
  XIR_RETURN_IF_ERROR(budget->Charge(WorkBudget::kInstruction));
  switch (instruction.instr_args_type()) {
    case InstructionArguments::KernelCall: {
      const auto* call = instruction.instr_args_as_KernelCall();
      if (call->op_index() < 0 ||
          static_cast<size_t>(call->op_index()) >= SizeOf(plan.operators())) {
        return Bad("operator ", call->op_index(), " does not exist");
      }
      // No two calls share an operator's name.
      const auto& op = *plan.operators()->Get(static_cast<uoffset_t>(call->op_index()));
      XIR_RETURN_IF_ERROR(budget->Charge(View(op.name()).size() + View(op.overload()).size(),
                                         WorkBudget::kNameCopies));
      return VerifyArguments(plan, call->args(), budget);
    }
    case InstructionArguments::DelegateCall: {
      const auto* call = instruction.instr_args_as_DelegateCall();
      if (call->delegate_index() < 0 ||
          static_cast<size_t>(call->delegate_index()) >= SizeOf(plan.delegates())) {
        return Bad("delegate ", call->delegate_index(), " does not exist");
      }
      if (call->args() == nullptr) return Bad("it has no arguments");
      return VerifyArguments(plan, call->args(), budget);
    }
    case InstructionArguments::MoveCall:
      return VerifyMove(plan, ports, *instruction.instr_args_as_MoveCall());
    case InstructionArguments::JumpFalseCall: {
      const auto* jump = instruction.instr_args_as_JumpFalseCall();
      const KernelTypes condition = KindAt(plan, jump->cond_value_index());
      // A condition is a bool, or a tensor of one; the latter is checked where it is read.
      if (condition != KernelTypes::Bool && condition != KernelTypes::Tensor) {
        return Bad("value ", jump->cond_value_index(), " is no condition");
      }
      if (jump->destination_instruction() < 0 ||
          static_cast<size_t>(jump->destination_instruction()) > num_instructions) {
        return Bad("it jumps to instruction ", jump->destination_instruction());
      }
      return {};
    }
    case InstructionArguments::FreeCall:
      return KindAt(plan, instruction.instr_args_as_FreeCall()->value_index()) == KernelTypes::NONE
                 ? Bad("it frees a value that does not exist")
                 : Status();
    default:
      return Fail(Code::kUnsupported, "instruction kind ",
                  static_cast<int>(instruction.instr_args_type()), " is unknown");
  }
}

}  // namespace

Status VerifyPlan(const ProgramView& view, const ExecutionPlan& plan, const VerifyLimits& limits,
                  WorkBudget* budget) {
  XIR_RETURN_IF_ERROR(VerifyArenas(plan, limits, budget));
  for (uoffset_t i = 0; i < SizeOf(plan.values()); ++i) {
    XIR_RETURN_IF_ERROR(
        VerifyValue(view, plan, *plan.values()->Get(i), budget).In("value " + std::to_string(i)));
  }
  XIR_RETURN_IF_ERROR(VerifyIndices(plan, plan.inputs(), WorkBudget::kPort, budget).In("inputs"));
  XIR_RETURN_IF_ERROR(VerifyOutputs(plan, limits, budget).In("outputs"));
  for (uoffset_t i = 0; i < SizeOf(plan.operators()); ++i) {
    if (plan.operators()->Get(i)->name() == nullptr) return Bad("operator ", i, " has no name");
  }
  if (SizeOf(plan.chains()) > 1) return Fail(Code::kUnsupported, "it has more than one chain");
  if (SizeOf(plan.chains()) == 0) return {};
  const Ports ports(plan);
  const auto* instructions = plan.chains()->Get(0)->instructions();
  for (uoffset_t i = 0; i < SizeOf(instructions); ++i) {
    XIR_RETURN_IF_ERROR(
        VerifyInstruction(plan, ports, *instructions->Get(i), instructions->size(), budget)
            .In("instruction " + std::to_string(i)));
  }
  return {};
}

}  // namespace xir
