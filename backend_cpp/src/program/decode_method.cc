#include "program/decode_method.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/checked.h"
#include "core/invalid_program.h"
#include "core/round_up.h"
#include "program/decode_values.h"
#include "verify/flatbuffer.h"

namespace xir {
namespace {

using flatbuffers::uoffset_t;
using program::ExecutionPlan;
using Method = MethodDescription;

constexpr uint64_t kOutputAlignment = 16;  // more than the largest element takes

Status DecodeArenas(const ExecutionPlan& plan, const VerifyLimits& limits, WorkBudget* budget,
                    Method* method) {
  const auto* sizes = plan.non_const_buffer_sizes();
  XIR_RETURN_IF_ERROR(budget->Charge(SizeOf(sizes), WorkBudget::kArena));
  if (!IsAligned(sizes)) return Bad("a list is not aligned in the file");
  uint64_t total = 0;
  for (uoffset_t i = 0; i < SizeOf(sizes); ++i) {
    const int64_t size = sizes->Get(i);
    if (size < 0) return Bad("arena ", i, " has ", size, " bytes");
    method->arena_sizes.push_back(static_cast<uint64_t>(size));
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

// Null for a value that does not exist.
const ValueDescription* ValueAt(const Method& method, int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= method.values.size()) return nullptr;
  return &method.values[static_cast<size_t>(index)];
}

// `each` is what is built of one, as a charge.
Status DecodeIndices(const Method& method, const flatbuffers::Vector<int32_t>* indices,
                     uint64_t each, WorkBudget* budget, std::vector<size_t>* to) {
  if (indices == nullptr) return {};
  XIR_RETURN_IF_ERROR(budget->Charge(indices->size(), each));
  to->reserve(indices->size());
  for (const int32_t index : *indices) {
    if (ValueAt(method, index) == nullptr) return Bad("value ", index, " does not exist");
    to->push_back(static_cast<size_t>(index));
  }
  return {};
}

// The number of a list's items; 0 for a value that is none.
size_t NumItems(const ValueDescription& value) {
  if (const auto* list = std::get_if<ValueDescription::IntItems>(&value.content)) {
    return list->items.size();
  }
  const auto* list = std::get_if<ValueDescription::TensorItems>(&value.content);
  return list == nullptr ? 0 : list->items.size();
}

// What calls read of a list they read each time that it is an argument.
Status DecodeArguments(const Method& method, const flatbuffers::Vector<int32_t>* indices,
                       WorkBudget* budget, std::vector<size_t>* to) {
  XIR_RETURN_IF_ERROR(DecodeIndices(method, indices, WorkBudget::kArgument, budget, to));
  for (const size_t index : *to) {
    XIR_RETURN_IF_ERROR(budget->Charge(NumItems(method.values[index]), WorkBudget::kArgument));
  }
  return {};
}

// A caller takes each output as a tensor of its own, also where several are one value.
Status DecodeOutputs(const ExecutionPlan& plan, const VerifyLimits& limits, WorkBudget* budget,
                     Method* method) {
  XIR_RETURN_IF_ERROR(
      DecodeIndices(*method, plan.outputs(), WorkBudget::kPort, budget, &method->outputs));
  uint64_t total = 0;
  for (const size_t index : method->outputs) {
    const TensorDescription* tensor = method->TensorAt(index);
    const uint64_t nbytes = tensor == nullptr ? 0 : tensor->nbytes;
    total += nbytes;  // each is at most 2^63 - 1, and the total was at most VerifyLimits::kMost
    if (total > limits.max_memory) {
      return Fail(Code::kResource, "they take more than the limit of ", limits.max_memory,
                  " bytes");
    }
  }
  return {};
}

// Gives memory to outputs that are neither planned nor lent: callers of ExecuTorch place them.
Status PlaceOutputs(const VerifyLimits& limits, Method* method) {
  method->num_planned_arenas = method->arena_sizes.size();
  const size_t id = std::max<size_t>(method->num_planned_arenas, 1);  // 0 is no arena
  std::vector<bool> is_input(method->values.size());
  for (const size_t index : method->inputs) is_input[index] = true;
  uint64_t end = 0;
  for (const size_t index : method->outputs) {
    auto* tensor = std::get_if<TensorDescription>(&method->values[index].content);
    if (tensor == nullptr || tensor->nbytes == 0 || is_input[index]) continue;
    if (tensor->place.has_value() || tensor->content.has_value()) continue;
    // No sum of these overflows: `DecodeOutputs` has bounded it by `VerifyLimits::kMost`.
    tensor->place = Place{static_cast<uint32_t>(id), end, end + tensor->nbytes};
    end = RoundUp(end + tensor->nbytes, kOutputAlignment);
  }
  if (end == 0) return {};
  method->arena_sizes.resize(id);
  method->arena_sizes.push_back(end);
  const auto& sizes = method->arena_sizes;
  if (std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}) > limits.max_memory) {
    return Fail(Code::kResource, "with the arenas they take more than the limit of ",
                limits.max_memory, " bytes");
  }
  return {};
}

// "aten::add.out"
Status DecodeOperators(const ExecutionPlan& plan, WorkBudget* budget, Method* method) {
  for (uoffset_t i = 0; i < SizeOf(plan.operators()); ++i) {
    const program::Operator& op = *plan.operators()->Get(i);
    if (op.name() == nullptr) return Bad("operator ", i, " has no name");
    const std::string_view overload = View(op.overload());
    XIR_RETURN_IF_ERROR(
        budget->Charge(2 * sizeof(std::string) + op.name()->size() + overload.size()));
    std::string& name = method->operators.emplace_back(op.name()->str());
    if (!overload.empty()) name.append(".").append(overload);
  }
  return {};
}

// Decodes instructions. Which values are inputs and outputs it knows by a bit for each, since there
// may be as many moves as values.
class InstructionDecoder {
 public:
  InstructionDecoder(const Method& method, size_t num_delegates, size_t num_instructions,
                     WorkBudget* budget)
      : method_(method),
        num_delegates_(num_delegates),
        num_instructions_(num_instructions),
        budget_(*budget),
        is_input_(method.values.size()) {
    for (const size_t value : method.inputs) is_input_[value] = true;
  }

  Result<Method::Instruction> Decode(const program::Instruction& from) {
    using program::InstructionArguments;
    if (from.instr_args() == nullptr) return Bad("it is empty");
    XIR_RETURN_IF_ERROR(budget_.Charge(WorkBudget::kInstruction));
    switch (from.instr_args_type()) {
      case InstructionArguments::KernelCall:
        return DecodeKernel(*from.instr_args_as_KernelCall());
      case InstructionArguments::DelegateCall:
        return DecodeDelegate(*from.instr_args_as_DelegateCall());
      case InstructionArguments::MoveCall:
        return DecodeMove(*from.instr_args_as_MoveCall());
      case InstructionArguments::JumpFalseCall:
        return DecodeJump(*from.instr_args_as_JumpFalseCall());
      case InstructionArguments::FreeCall:
        if (ValueAt(method_, from.instr_args_as_FreeCall()->value_index()) == nullptr) {
          return Bad("it frees a value that does not exist");
        }
        return Method::Instruction(Method::Free{});
      default:
        return Fail(Code::kUnsupported, "instruction kind ",
                    static_cast<int>(from.instr_args_type()), " is unknown");
    }
  }

 private:
  Result<Method::Instruction> DecodeKernel(const program::KernelCall& from) {
    if (from.op_index() < 0 || static_cast<size_t>(from.op_index()) >= method_.operators.size()) {
      return Bad("operator ", from.op_index(), " does not exist");
    }
    Method::KernelCall call;
    call.op = static_cast<size_t>(from.op_index());
    // No two calls share an operator's name.
    XIR_RETURN_IF_ERROR(budget_.Charge(method_.operators[call.op].size(), WorkBudget::kNameCopies));
    XIR_RETURN_IF_ERROR(DecodeArguments(method_, from.args(), &budget_, &call.args));
    return Method::Instruction(std::move(call));
  }

  Result<Method::Instruction> DecodeDelegate(const program::DelegateCall& from) {
    if (from.delegate_index() < 0 || static_cast<size_t>(from.delegate_index()) >= num_delegates_) {
      return Bad("delegate ", from.delegate_index(), " does not exist");
    }
    if (from.args() == nullptr) return Bad("it has no arguments");
    Method::DelegateCall call;
    call.delegate = static_cast<size_t>(from.delegate_index());
    XIR_RETURN_IF_ERROR(DecodeArguments(method_, from.args(), &budget_, &call.args));
    return Method::Instruction(std::move(call));
  }

  // A move may not change what a slot holds: kernels and delegates were bound to its kind, and to
  // the items of a list.
  Result<Method::Instruction> DecodeMove(const program::MoveCall& from) const {
    const auto bad = [&](const char* why) {
      return Bad("it moves value ", from.move_from(), " to ", from.move_to(), why);
    };
    const ValueDescription* source = ValueAt(method_, from.move_from());
    const ValueDescription* target = ValueAt(method_, from.move_to());
    if (source == nullptr || target == nullptr ||
        source->content.index() != target->content.index()) {
      return bad(" of another kind");
    }
    const Method::Move move{static_cast<size_t>(from.move_from()),
                            static_cast<size_t>(from.move_to())};
    if (move.from == move.to || std::holds_alternative<None>(source->content)) {
      return Method::Instruction(move);
    }
    const char* why = nullptr;
    if (source->tensor() != nullptr) {
      why = WhyNoTensorMove(*source->tensor(), *target->tensor(), move.to);
    } else if (!IsNumber(*source)) {
      why = ", which is no number and no tensor";
    } else if (is_input_[move.to]) {
      why = ", which is an input";  // a size that was fixed when the model was exported
    }
    if (why != nullptr) return bad(why);
    return Method::Instruction(move);
  }

  static bool IsNumber(const ValueDescription& value) {
    return std::holds_alternative<int64_t>(value.content) ||
           std::holds_alternative<bool>(value.content) ||
           std::holds_alternative<double>(value.content);
  }

  // What is wrong with a move, or null. ExecuTorch lets both slots share one tensor. Here the bytes
  // are copied, since the memory plan may reuse a slot's memory after its last read, and an input's
  // memory belongs to the caller.
  const char* WhyNoTensorMove(const TensorDescription& from, const TensorDescription& to,
                              size_t to_index) const {
    if (from.dtype != to.dtype) return " of another dtype";
    const bool both_static = !from.resizable && !to.resizable;
    if (from.rank != to.rank || (both_static && from.sizes != to.sizes)) return " of another shape";
    if (to.place.has_value()) return nullptr;
    if (to.content.has_value()) return ", which is a constant";
    // PlaceOutputs has given memory to results that need some.
    return is_input_[to_index] || to.nbytes != 0 ? ", which has no memory of its own" : nullptr;
  }

  Result<Method::Instruction> DecodeJump(const program::JumpFalseCall& from) const {
    const ValueDescription* condition = ValueAt(method_, from.cond_value_index());
    // A condition is a bool, or a tensor of one; the latter is checked where it is read.
    if (condition == nullptr ||
        (!std::holds_alternative<bool>(condition->content) && condition->tensor() == nullptr)) {
      return Bad("value ", from.cond_value_index(), " is no condition");
    }
    if (from.destination_instruction() < 0 ||
        static_cast<size_t>(from.destination_instruction()) > num_instructions_) {
      return Bad("it jumps to instruction ", from.destination_instruction());
    }
    return Method::Instruction(
        Method::JumpFalse{static_cast<size_t>(from.cond_value_index()),
                          static_cast<size_t>(from.destination_instruction())});
  }

  const Method& method_;
  const size_t num_delegates_;
  const size_t num_instructions_;
  WorkBudget& budget_;
  std::vector<bool> is_input_;
};

// As in Python, the last frame is the innermost.
std::optional<Frame> DecodeFrame(const program::FrameList& from) {
  if (SizeOf(from.items()) == 0) return std::nullopt;
  const program::Frame& frame = *from.items()->Get(from.items()->size() - 1);
  return Frame{View(frame.filename()), static_cast<uint32_t>(std::max(frame.lineno(), 0))};
}

Status DecodeChain(const ExecutionPlan& plan, const program::Chain& chain, WorkBudget* budget,
                   Method* method) {
  const auto* instructions = chain.instructions();
  InstructionDecoder decoder(*method, SizeOf(plan.delegates()), SizeOf(instructions), budget);
  for (uoffset_t i = 0; i < SizeOf(instructions); ++i) {
    auto instruction = decoder.Decode(*instructions->Get(i));
    if (!instruction.ok()) {
      return std::move(instruction).status().In("instruction " + std::to_string(i));
    }
    method->instructions.push_back(std::move(instruction).value());
  }
  method->instructions.shrink_to_fit();
  const size_t num_frames = std::min(SizeOf(chain.stacktrace()), SizeOf(instructions));
  method->frames.reserve(num_frames);
  for (uoffset_t i = 0; i < num_frames; ++i) {
    method->frames.push_back(DecodeFrame(*chain.stacktrace()->Get(i)));
  }
  return {};
}

}  // namespace

Status DecodeMethod(const FileData& data, const ExecutionPlan& plan, const VerifyLimits& limits,
                    WorkBudget* budget, MethodDescription* method) {
  XIR_RETURN_IF_ERROR(DecodeArenas(plan, limits, budget, method));
  XIR_RETURN_IF_ERROR(DecodeValues(data, plan, budget, method));
  XIR_RETURN_IF_ERROR(
      DecodeIndices(*method, plan.inputs(), WorkBudget::kPort, budget, &method->inputs)
          .In("inputs"));
  XIR_RETURN_IF_ERROR(DecodeOutputs(plan, limits, budget, method).In("outputs"));
  XIR_RETURN_IF_ERROR(PlaceOutputs(limits, method).In("outputs"));
  XIR_RETURN_IF_ERROR(DecodeOperators(plan, budget, method));
  if (SizeOf(plan.chains()) > 1) return Fail(Code::kUnsupported, "it has more than one chain");
  if (SizeOf(plan.chains()) == 0) return {};
  return DecodeChain(plan, *plan.chains()->Get(0), budget, method);
}

}  // namespace xir
