#include "runtime/interpreter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/guard.h"
#include "kernels/view.h"

namespace xir {
namespace {

Status CopyTensor(const Tensor& from, Tensor* to) {
  XIR_RETURN_IF_ERROR(to->Resize(from.shape));
  const size_t nbytes = from.nbytes();
  if (nbytes == 0) return {};
  if (from.data == nullptr || to->data == nullptr) {
    return Fail(Code::kInvalidProgram, "a tensor has no memory");
  }
  if (!to->writable) return Fail(Code::kInvalidArgument, "it writes to read-only memory");
  if (from.dim_order == to->dim_order) {
    std::memmove(to->data, from.data, nbytes);
    return {};
  }
  // The two may overlap.
  const auto* bytes = from.as<uint8_t>();
  std::vector<uint8_t> copy(bytes, bytes + nbytes);
  Tensor source = from;
  source.data = copy.data();
  return kernels::CopyView(source, kernels::View(source), *to);
}

KernelContext ContextOf(const LoadedProgram& program, const Execution& execution,
                        const KernelState* state) {
  return KernelContext(program.pool.get(), state, execution.cancelled,
                       execution.stopper->deadline());
}

}  // namespace

Interpreter::Interpreter(const LoadedProgram& program, const MethodPlan& plan, MethodMemory* memory,
                         const std::unordered_map<size_t, const Tensor*>& own_inputs)
    : program_(program), plan_(plan), memory_(*memory) {
  instructions_.reserve(plan.instructions.size());
  for (const MethodPlan::Instruction& from : plan.instructions) {
    if (const auto* call = std::get_if<MethodPlan::KernelCall>(&from)) {
      instructions_.emplace_back(
          KernelCall{call, call->kernel, call->portable, Values(call->args)});
    } else if (const auto* call = std::get_if<MethodPlan::DelegateCall>(&from)) {
      instructions_.emplace_back(DelegateCall{call, Values(call->args)});
    } else if (const auto* move = std::get_if<MethodPlan::Move>(&from)) {
      const auto input = own_inputs.find(move->to);
      instructions_.emplace_back(Move{&memory_[move->from], &memory_[move->to],
                                      input == own_inputs.end() ? nullptr : input->second});
    } else if (const auto* jump = std::get_if<JumpFalse>(&from)) {
      instructions_.emplace_back(*jump);
    } else {
      instructions_.emplace_back(Free{});
    }
  }
}

std::vector<Value*> Interpreter::Values(Span<const size_t> indices) {
  std::vector<Value*> values;
  values.reserve(indices.size());
  for (const size_t index : indices) values.push_back(&memory_[index]);
  return values;
}

Status Interpreter::Run(const Execution& execution) {
  if (Status stopped = execution.stopper->Check(); !stopped.ok()) {
    return Fail(stopped.code(), stopped.message(), " before instruction 0");
  }
  uint64_t executed = 0;
  for (size_t next = 0; next < instructions_.size();) {
    if (++executed > program_.options.max_instructions) {
      return Fail(Code::kResource, "stopped after ", executed - 1, " instructions");
    }
    const size_t current = next++;
    Status status = Guarded([&] { return Step(execution, current, &next); });
    // A kernel that noticed may have failed, or left its results in any state.
    if (Status stopped = execution.stopper->Check(); !stopped.ok()) status = std::move(stopped);
    if (!status.ok()) return std::move(status).In(NameOf(current));
  }
  return {};
}

std::string Interpreter::NameOf(size_t index) const {
  const Instruction& instruction = instructions_[index];
  const std::string name = "instruction " + std::to_string(index);
  if (std::holds_alternative<DelegateCall>(instruction)) return name + " (delegate)";
  const auto* call = std::get_if<KernelCall>(&instruction);
  if (call == nullptr) return name;
  return name + " ('" + std::string(call->plan->name) + "')" +
         PlaceOfInstruction(program_.description, *plan_.method, index);
}

Status Interpreter::Step(const Execution& execution, size_t index, size_t* next) {
  Instruction* instruction = &instructions_[index];
  if (std::holds_alternative<DelegateCall>(*instruction) ||
      std::holds_alternative<KernelCall>(*instruction)) {
    return execution.profiler == nullptr ? RunCall(execution, instruction)
                                         : RunProfiled(execution, instruction, index);
  }
  if (const auto* move = std::get_if<Move>(instruction)) return RunMove(*move);
  if (const auto* jump = std::get_if<JumpFalse>(instruction)) {
    XIR_ASSIGN_OR_RETURN(const bool taken, IsFalse(jump->condition));
    if (taken) *next = jump->destination;
  }
  return {};
}

Status Interpreter::RunMove(const Move& move) {
  if (move.from == move.to) return {};
  auto* to = move.to->get<Tensor>();
  if (to == nullptr) {
    move.to->content = move.from->content;
    return {};
  }
  // What an input becomes is the method's own: the caller's memory stays as it is.
  if (move.own_input != nullptr) {
    to->data = move.own_input->data;
    to->capacity = move.own_input->capacity;
    to->writable = move.own_input->writable;
  }
  return CopyTensor(*move.from->get<Tensor>(), to);
}

Status Interpreter::RunCall(const Execution& execution, Instruction* instruction) {
  if (const auto* call = std::get_if<DelegateCall>(instruction)) {
    return RunDelegate(execution, *call);
  }
  return RunKernel(execution, std::get_if<KernelCall>(instruction));
}

Status Interpreter::RunProfiled([[maybe_unused]] const Execution& execution,
                                [[maybe_unused]] Instruction* instruction,
                                [[maybe_unused]] size_t index) {
  if constexpr (kHasProfiler) {
    Profiler& profiler = *execution.profiler;
    XIR_RETURN_IF_ERROR(profiler.BeginCall(index));
    XIR_RETURN_IF_ERROR(RunCall(execution, instruction));
    profiler.EndCall();
    if (const auto* call = std::get_if<DelegateCall>(instruction)) {
      Delegate& delegate = *execution.delegates[call->plan->delegate];
      return delegate.ReadOperatorTimes(profiler.operator_times());
    }
    uint64_t written = 0;
    for (const size_t value : std::get_if<KernelCall>(instruction)->plan->written) {
      written += memory_[value].get<Tensor>()->nbytes();
    }
    profiler.set_result_bytes(written);
  }
  return {};
}

Status Interpreter::RunKernel(const Execution& execution, KernelCall* call) {
  XIR_RETURN_IF_ERROR(CheckMemory(call->plan->tensors, call->plan->written));
  KernelContext context = ContextOf(program_, execution, call->plan->state.get());
  Status status = call->kernel(context, call->args);
  if (status.ok() || status.code() != Code::kUnsupported || !call->portable) return status;
  // The dtypes and layouts of a call never change, so the fallback takes it over for good. It is
  // looked up only now, because that may load torch.
  const KernelProvider& provider = program_.options.fallback;
  Kernel fallback = provider ? provider(std::string(call->plan->name)) : Kernel();
  if (!fallback) return status;
  program_.Log(LogLevel::kWarning,
               "the fallback runs '" + std::string(call->plan->name) + "': " + status.message());
  call->portable = false;
  call->kernel = std::move(fallback);
  return call->kernel(context, call->args);
}

Status Interpreter::RunDelegate(const Execution& execution, const DelegateCall& call) {
  XIR_RETURN_IF_ERROR(CheckMemory(call.plan->tensors, call.plan->written));
  KernelContext context = ContextOf(program_, execution, /*state=*/nullptr);
  return execution.delegates[call.plan->delegate]->Execute(context, call.args);
}

Status Interpreter::CheckMemory(const std::vector<size_t>& tensors,
                                const std::vector<size_t>& written) const {
  for (const size_t index : tensors) {
    const Tensor& tensor = *memory_[index].get<Tensor>();
    if (tensor.data == nullptr && tensor.numel() > 0) {
      return Fail(Code::kInvalidProgram, "a tensor has no memory");
    }
  }
  for (const size_t index : written) {
    if (!memory_[index].get<Tensor>()->writable) {
      return Fail(Code::kInvalidArgument, "it writes to read-only memory");
    }
  }
  return {};
}

Result<bool> Interpreter::IsFalse(size_t condition) const {
  const Value& value = memory_[condition];
  if (const auto* flag = value.get<bool>()) return !*flag;
  const Tensor& tensor = *value.get<Tensor>();
  if (tensor.dtype != DType::kBool || tensor.data == nullptr) {
    return Fail(Code::kInvalidProgram, "a condition is no bool tensor");
  }
  const auto* flags = tensor.as<uint8_t>();
  return std::any_of(flags, flags + tensor.numel(), [](uint8_t flag) { return flag == 0; });
}

}  // namespace xir
