#include "runtime/method.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "kernels/registry.h"
#include "kernels/view.h"

namespace xir {
namespace {

using flatbuffers::uoffset_t;

// "aten::add.out"
std::string OperatorName(const program::Operator& op) {
  std::string name = op.name()->str();
  if (!View(op.overload()).empty()) name += "." + op.overload()->str();
  return name;
}

// Whether reading kOverreadBytes beyond the end could leave the last page.
bool EndsAtPage(const void* data, size_t nbytes) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + nbytes;
  const uintptr_t left = (page - end % page) % page;
  return left < kOverreadBytes;
}

Status CopyTensor(const Tensor& from, Tensor* to) {
  XIR_RETURN_IF_ERROR(to->Resize(from.shape));
  const size_t nbytes = from.nbytes();
  if (nbytes == 0) return {};
  if (from.data == nullptr || to->data == nullptr || to->capacity < nbytes) {
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

}  // namespace

Result<std::unique_ptr<LoadedMethod>> LoadedMethod::Create(
    std::shared_ptr<const LoadedProgram> program, const PlanView& view) {
  const program::ExecutionPlan& plan = *view.plan;
  XIR_ASSIGN_OR_RETURN(MethodMemory memory, MethodMemory::Create(program->view, plan));
  std::unique_ptr<LoadedMethod> method(new LoadedMethod(std::move(program), std::move(memory)));
  method->name_ = plan.name()->str();
  if (plan.inputs() != nullptr) {
    for (const int32_t index : *plan.inputs()) {
      Input& input = method->inputs_.emplace_back();
      input.value = static_cast<size_t>(index);
      if (const auto* tensor = method->memory_[input.value].get<Tensor>()) input.own = *tensor;
    }
  }
  if (plan.outputs() != nullptr) {
    for (const int32_t index : *plan.outputs()) {
      method->outputs_.push_back(static_cast<size_t>(index));
    }
  }
  XIR_RETURN_IF_ERROR(method->CreateDelegates(view));
  XIR_RETURN_IF_ERROR(method->BindInstructions(plan));
  return method;
}

Status LoadedMethod::CreateDelegates(const PlanView& plan) {
  if (plan.delegates.empty()) return {};
  xnn_workspace_t workspace = nullptr;
  XIR_RETURN_IF_ERROR(CheckXnn(xnn_create_workspace(&workspace), "create a workspace"));
  workspace_.reset(workspace);
  for (size_t i = 0; i < plan.delegates.size(); ++i) {
    auto delegate = XnnDelegate::Create(plan.delegates[i], workspace, program_->pool.get(),
                                        program_->options.profile);
    if (!delegate.ok()) return std::move(delegate).status().In("delegate " + std::to_string(i));
    delegates_.push_back(std::move(delegate).value());
  }
  return {};
}

Status LoadedMethod::BindInstructions(const program::ExecutionPlan& plan) {
  using program::InstructionArguments;
  if (plan.chains() == nullptr || plan.chains()->size() == 0) return {};
  const auto* instructions = plan.chains()->Get(0)->instructions();
  if (instructions == nullptr) return {};
  std::vector<std::string> missing;
  for (const program::Instruction* from : *instructions) {
    switch (from->instr_args_type()) {
      case InstructionArguments::KernelCall: {
        XIR_ASSIGN_OR_RETURN(Call call, BindKernel(plan, *from->instr_args_as_KernelCall()));
        if (!call.kernel && std::find(missing.begin(), missing.end(), call.name) == missing.end()) {
          missing.push_back(call.name);
        }
        instructions_.emplace_back(std::move(call));
        break;
      }
      case InstructionArguments::DelegateCall: {
        const auto& delegate_call = *from->instr_args_as_DelegateCall();
        Call call;
        call.delegate_index = static_cast<size_t>(delegate_call.delegate_index());
        call.delegate = delegates_[call.delegate_index].get();
        for (const int32_t index : *delegate_call.args()) {
          call.args.push_back(&memory_[static_cast<size_t>(index)]);
        }
        instructions_.emplace_back(std::move(call));
        break;
      }
      case InstructionArguments::MoveCall: {
        const auto& move = *from->instr_args_as_MoveCall();
        const auto to = static_cast<size_t>(move.move_to());
        Input* input = nullptr;
        for (Input& each : inputs_) {
          if (each.value == to) input = &each;
        }
        instructions_.emplace_back(
            Move{&memory_[static_cast<size_t>(move.move_from())], &memory_[to], input});
        break;
      }
      case InstructionArguments::JumpFalseCall: {
        const auto& jump = *from->instr_args_as_JumpFalseCall();
        instructions_.emplace_back(JumpFalse{static_cast<size_t>(jump.cond_value_index()),
                                             static_cast<size_t>(jump.destination_instruction())});
        break;
      }
      default:
        // Memory is planned ahead: there is nothing to free.
        instructions_.emplace_back(Free{});
    }
  }
  if (missing.empty()) return {};
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "'" : ", '") + name + "'";
  return Fail(Code::kUnsupported, "there is no kernel for ", names,
              "; compile the model so that XNNPACK takes ", missing.size() == 1 ? "it" : "them",
              ", or run it from Python, which has torch's kernels");
}

Kernel LoadedMethod::Fallback(const std::string& op) const {
  return program_->options.fallback ? program_->options.fallback(op) : Kernel();
}

// A call without a kernel where there is none for the operator.
Result<LoadedMethod::Call> LoadedMethod::BindKernel(const program::ExecutionPlan& plan,
                                                    const program::KernelCall& from) {
  Call call;
  call.name = OperatorName(*plan.operators()->Get(static_cast<uoffset_t>(from.op_index())));
  if (from.args() != nullptr) {
    for (const int32_t index : *from.args()) {
      call.args.push_back(&memory_[static_cast<size_t>(index)]);
    }
  }
  for (Value* value : call.args) {
    if (value->get<Tensor>() != nullptr) call.tensors.push_back(value);
    if (const auto* list = value->get<TensorList>()) {
      for (Value* item : list->items) {
        if (item != nullptr && item->get<Tensor>() != nullptr) call.tensors.push_back(item);
      }
    }
  }
  const PortableKernel* portable = FindPortableKernel(call.name);
  if (portable == nullptr) {
    call.kernel = Fallback(call.name);
    return call;
  }
  auto written = portable->bind(call.args);
  if (!written.ok()) return std::move(written).status().In("operator '" + call.name + "'");
  call.written = std::move(written).value();
  call.kernel = portable->run;
  call.portable = true;
  return call;
}

std::vector<std::string> LoadedMethod::kernel_names() const {
  std::vector<std::string> names;
  for (const Instruction& instruction : instructions_) {
    const auto* call = std::get_if<Call>(&instruction);
    if (call != nullptr && call->delegate == nullptr &&
        std::find(names.begin(), names.end(), call->name) == names.end()) {
      names.push_back(call->name);
    }
  }
  return names;
}

Status LoadedMethod::SetInput(size_t index, void* data, size_t nbytes, const Shape& shape,
                              bool writable) {
  const std::string context = "input " + std::to_string(index);
  if (index >= inputs_.size()) {
    return Fail(Code::kInvalidArgument, context, " of ", inputs_.size(), " does not exist");
  }
  Input& input = inputs_[index];
  auto* tensor = memory_[input.value].get<Tensor>();
  if (tensor == nullptr) {
    return Fail(Code::kInvalidArgument, context, " is a ", KindName(memory_[input.value]),
                ", not a tensor");
  }
  // All checks come first: a call that fails leaves what was given before.
  Tensor given = *tensor;
  XIR_RETURN_IF_ERROR(given.Resize(shape).In(context));
  if (data == nullptr || given.nbytes() > nbytes) {
    return Fail(Code::kInvalidArgument, context, " of shape ", shape.ToString(), " takes ",
                given.nbytes(), " bytes, not ", nbytes);
  }
  if (reinterpret_cast<uintptr_t>(data) % ElementSize(given.dtype) != 0) {
    return Fail(Code::kInvalidArgument, context, " is not aligned to its elements");
  }
  given.data = data;
  given.capacity = nbytes;
  given.writable = writable;
  // XNNPACK may read past the end, where nothing need be mapped.
  if (EndsAtPage(data, nbytes)) {
    if (input.copy == nullptr || input.copy_size < nbytes) {
      AlignedBuffer copy = AllocateBuffer(nbytes);
      if (copy == nullptr) return Fail(Code::kResource, "out of memory for ", context);
      input.copy = std::move(copy);
      input.copy_size = nbytes;
    }
    std::memcpy(input.copy.get(), data, nbytes);
    given.data = input.copy.get();
  }
  *tensor = given;
  input.lent = static_cast<uint8_t*>(data);
  input.given = true;
  return {};
}

bool LoadedMethod::IsOutput(size_t value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

Status LoadedMethod::GiveBack(Input* input) {
  auto* tensor = memory_[input->value].get<Tensor>();
  if (tensor == nullptr || input->lent == nullptr) return {};
  uint8_t* lent = std::exchange(input->lent, nullptr);
  const Tensor used = *tensor;
  tensor->data = input->own.data;
  tensor->capacity = input->own.capacity;
  tensor->writable = input->own.writable;
  const size_t nbytes = used.nbytes();
  const bool copied = used.data == input->copy.get() && used.data != nullptr;
  // The model may have written to the copy instead of the caller's memory.
  if (copied && used.writable && nbytes > 0 && std::memcmp(lent, used.data, nbytes) != 0) {
    std::memcpy(lent, used.data, nbytes);
  }
  if (!IsOutput(input->value) || used.data == tensor->data || nbytes == 0) return {};
  if (tensor->data == nullptr || !tensor->writable) {
    if (input->kept == nullptr) {
      input->kept =
          AllocateBuffer(static_cast<size_t>(used.bound.numel()) * ElementSize(used.dtype));
      if (input->kept == nullptr) return Fail(Code::kResource, "out of memory for an output");
    }
    tensor->data = input->kept.get();
  }
  std::memcpy(tensor->data, used.data, nbytes);
  return {};
}

Result<Value*> LoadedMethod::ScalarInput(size_t index, std::string_view kind) {
  if (index >= inputs_.size()) {
    return Fail(Code::kInvalidArgument, "input ", index, " of ", inputs_.size(), " does not exist");
  }
  Value& value = memory_[inputs_[index].value];
  if (KindName(value) != kind) {
    return Fail(Code::kInvalidArgument, "input ", index, " is a ", KindName(value), ", not a ",
                kind);
  }
  return &value;
}

namespace {

template <typename T>
Status RequireEqual(size_t index, const Value& value, T given) {
  if (*value.get<T>() == given) return {};
  return Fail(Code::kInvalidArgument, "input ", index, " was fixed at ", *value.get<T>(),
              " when the model was exported, and ", given, " was given");
}

}  // namespace

Status LoadedMethod::SetInput(size_t index, int64_t value) {
  XIR_ASSIGN_OR_RETURN(const Value* slot, ScalarInput(index, "int"));
  return RequireEqual(index, *slot, value);
}

Status LoadedMethod::SetInput(size_t index, bool value) {
  XIR_ASSIGN_OR_RETURN(const Value* slot, ScalarInput(index, "bool"));
  return RequireEqual(index, *slot, value);
}

Status LoadedMethod::SetInput(size_t index, double value) {
  XIR_ASSIGN_OR_RETURN(const Value* slot, ScalarInput(index, "double"));
  return RequireEqual(index, *slot, value);
}

Status LoadedMethod::RunCall(Call* call) {
  if (call->delegate != nullptr) return call->delegate->Execute(call->args);
  for (const Value* value : call->tensors) {
    const Tensor& tensor = *value->get<Tensor>();
    if (tensor.data == nullptr && tensor.numel() > 0) {
      return Fail(Code::kInvalidProgram, "a tensor has no memory");
    }
  }
  for (const Value* value : call->written) {
    if (!value->get<Tensor>()->writable) {
      return Fail(Code::kInvalidArgument, "it writes to read-only memory");
    }
  }
  Status status = call->kernel(call->args);
  if (status.ok() || status.code() != Code::kUnsupported || !call->portable) return status;
  // Dtypes and layouts of a call never change, so the fallback takes it over for good. It is asked
  // for only now: to find it may mean to load torch.
  Kernel fallback = Fallback(call->name);
  if (!fallback) return status;
  call->portable = false;
  call->kernel = std::move(fallback);
  return call->kernel(call->args);
}

Result<bool> LoadedMethod::IsFalse(size_t condition) const {
  const Value& value = memory_[condition];
  if (const auto* flag = value.get<bool>()) return !*flag;
  const Tensor& tensor = *value.get<Tensor>();
  if (tensor.dtype != DType::kBool || tensor.data == nullptr) {
    return Fail(Code::kInvalidProgram, "a condition is no bool tensor");
  }
  const auto* flags = tensor.as<uint8_t>();
  return std::any_of(flags, flags + tensor.numel(), [](uint8_t flag) { return flag == 0; });
}

Status LoadedMethod::RunProfiled(Call* call) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  XIR_RETURN_IF_ERROR(RunCall(call));
  if (call->delegate != nullptr) {
    return call->delegate->AppendProfile(call->delegate_index, &profile_);
  }
  const std::chrono::duration<double, std::micro> time = Clock::now() - start;
  profile_.push_back({call->name, ProfileEvent::kNoDelegate, time.count()});
  return {};
}

Result<std::vector<ProfileEvent>> LoadedMethod::Profile() const {
  if (!program_->options.profile) {
    return Fail(Code::kInvalidArgument, "the program was not loaded for profiling");
  }
  if (!has_run_) return Fail(Code::kInvalidArgument, "the method has not run yet");
  return profile_;
}

Status LoadedMethod::CheckInputs() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const bool is_tensor = memory_[inputs_[i].value].get<Tensor>() != nullptr;
    if (is_tensor && !inputs_[i].given) {
      return Fail(Code::kInvalidArgument, "input ", i, " was not given");
    }
  }
  return {};
}

Status LoadedMethod::Execute() {
  XIR_RETURN_IF_ERROR(CheckInputs());
  profile_.clear();
  has_run_ = false;
  Status status = RunInstructions();
  // The caller's memory is lent for one execution, whether that succeeds or not.
  for (Input& input : inputs_) {
    input.given = false;
    Status given_back = GiveBack(&input);
    if (status.ok()) status = std::move(given_back);
  }
  has_run_ = status.ok();
  return status;
}

Status LoadedMethod::RunInstructions() {
  uint64_t executed = 0;
  for (size_t next = 0; next < instructions_.size();) {
    if (++executed > program_->options.max_instructions) {
      return Fail(Code::kResource, "stopped after ", executed - 1, " instructions");
    }
    const size_t current = next++;
    Instruction& instruction = instructions_[current];
    XIR_RETURN_IF_ERROR(Run(&instruction, &next).In(NameOf(instruction, current)));
  }
  return {};
}

std::string LoadedMethod::NameOf(const Instruction& instruction, size_t index) {
  const std::string name = "instruction " + std::to_string(index);
  const auto* call = std::get_if<Call>(&instruction);
  if (call == nullptr) return name;
  return name + " (" + (call->delegate != nullptr ? "delegate" : "'" + call->name + "'") + ")";
}

Status LoadedMethod::Run(Instruction* instruction, size_t* next) {
  if (auto* call = std::get_if<Call>(instruction)) {
    return program_->options.profile ? RunProfiled(call) : RunCall(call);
  }
  if (const auto* move = std::get_if<Move>(instruction)) return RunMove(*move);
  if (const auto* jump = std::get_if<JumpFalse>(instruction)) {
    XIR_ASSIGN_OR_RETURN(const bool taken, IsFalse(jump->condition));
    if (taken) *next = jump->destination;
  }
  return {};
}

Status LoadedMethod::RunMove(const Move& move) {
  if (move.from == move.to) return {};
  auto* to = move.to->get<Tensor>();
  if (to == nullptr) {
    move.to->content = move.from->content;
    return {};
  }
  // What an input becomes is the method's own: the caller's memory stays as it is.
  if (move.to_input != nullptr) {
    to->data = move.to_input->own.data;
    to->capacity = move.to_input->own.capacity;
    to->writable = move.to_input->own.writable;
  }
  return CopyTensor(*move.from->get<Tensor>(), to);
}

}  // namespace xir
