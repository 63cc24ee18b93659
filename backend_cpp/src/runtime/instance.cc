#include "runtime/instance.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "kernels/view.h"
#include "runtime/output_placement.h"

namespace xir {
namespace {

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

Result<std::unique_ptr<MethodInstance>> MethodInstance::Create(
    std::shared_ptr<const LoadedProgram> program, const MethodPlan& plan,
    std::shared_ptr<ProgramState> state) {
  XIR_ASSIGN_OR_RETURN(MethodMemory memory,
                       MethodMemory::Create(program->view, *plan.view->plan, *state,
                                            program->options.allocator.get()));
  std::unique_ptr<MethodInstance> instance(
      new MethodInstance(std::move(program), plan, state, std::move(memory)));
  instance->BindInputs();
  XIR_ASSIGN_OR_RETURN(instance->delegates_, Instantiate(*plan.delegates, /*profile=*/false));
  instance->BindInstructions();
  return instance;
}

void MethodInstance::BindInputs() {
  for (const size_t value : plan_.inputs) {
    Input& input = inputs_.emplace_back();
    input.value = value;
    if (const auto* tensor = memory_[value].get<Tensor>()) input.own = *tensor;
  }
}

std::vector<Value*> MethodInstance::Values(const std::vector<size_t>& indices) {
  std::vector<Value*> values;
  for (const size_t index : indices) values.push_back(&memory_[index]);
  return values;
}

void MethodInstance::BindInstructions() {
  std::unordered_map<size_t, const Input*> input_of;
  for (const Input& each : inputs_) input_of[each.value] = &each;
  for (const MethodPlan::Instruction& from : plan_.instructions) {
    if (const auto* call = std::get_if<MethodPlan::KernelCall>(&from)) {
      instructions_.emplace_back(
          KernelCall{call, call->kernel, call->portable, Values(call->args)});
    } else if (const auto* call = std::get_if<MethodPlan::DelegateCall>(&from)) {
      instructions_.emplace_back(DelegateCall{call, Values(call->args)});
    } else if (const auto* move = std::get_if<MethodPlan::Move>(&from)) {
      const auto input = input_of.find(move->to);
      instructions_.emplace_back(Move{&memory_[move->from], &memory_[move->to],
                                      input == input_of.end() ? nullptr : input->second});
    } else if (const auto* jump = std::get_if<JumpFalse>(&from)) {
      instructions_.emplace_back(*jump);
    } else {
      instructions_.emplace_back(Free{});
    }
  }
}

std::vector<std::string> MethodInstance::kernel_names() const {
  return ReadMetadata(program_->view, *plan_.view).kernel_names;
}

Status MethodInstance::SetInput(size_t index, void* data, size_t nbytes, const Shape& shape,
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
  // The address of an empty tensor may be null, as that of an empty vector.
  alignas(kBufferAlignment) static uint8_t nothing[kOverreadBytes];
  if (data == nullptr && given.nbytes() == 0) {
    data = nothing;
    nbytes = 0;
  }
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
  if (!MayOverread(data, nbytes)) {
    if (input.copy == nullptr || input.copy_size < nbytes) {
      AlignedBuffer copy = AllocateBuffer(nbytes, program_->options.allocator.get());
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

Status MethodInstance::GiveBack(Input* input) {
  auto* tensor = memory_[input->value].get<Tensor>();
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
    std::memcpy(lent, used.data, nbytes);
  }
  if (!plan_.IsOutput(input->value) || used.data == tensor->data || nbytes == 0) return {};
  if (tensor->data == nullptr || !tensor->writable) {
    const size_t size = static_cast<size_t>(used.bound.numel()) * ElementSize(used.dtype);
    if (input->kept == nullptr)
      input->kept = AllocateBuffer(size, program_->options.allocator.get());
    if (input->kept == nullptr) return Fail(Code::kResource, "out of memory for an output");
    tensor->capacity = size;
    tensor->data = input->kept.get();
  }
  std::memcpy(tensor->data, used.data, nbytes);
  return {};
}

Result<const Value*> MethodInstance::ScalarInput(size_t index, std::string_view kind) const {
  if (index >= inputs_.size()) {
    return Fail(Code::kInvalidArgument, "input ", index, " of ", inputs_.size(), " does not exist");
  }
  const Value& value = memory_[inputs_[index].value];
  if (KindName(value) == kind) return &value;
  return Fail(Code::kInvalidArgument, "input ", index, " is a ", KindName(value), ", not a ", kind);
}

namespace {

template <typename T>
Status RequireEqual(size_t index, const Value& value, T given) {
  const T fixed = *value.get<T>();
  if (fixed == given || (fixed != fixed && given != given)) return {};  // NaN is one value
  return Fail(Code::kInvalidArgument, "input ", index, " was fixed at ", fixed,
              " when the model was exported, and ", given, " was given");
}

}  // namespace

Status MethodInstance::SetInput(size_t index, int64_t value) {
  XIR_ASSIGN_OR_RETURN(const Value* slot, ScalarInput(index, "int"));
  return RequireEqual(index, *slot, value);
}

Status MethodInstance::SetInput(size_t index, bool value) {
  XIR_ASSIGN_OR_RETURN(const Value* slot, ScalarInput(index, "bool"));
  return RequireEqual(index, *slot, value);
}

Status MethodInstance::SetInput(size_t index, double value) {
  XIR_ASSIGN_OR_RETURN(const Value* slot, ScalarInput(index, "double"));
  return RequireEqual(index, *slot, value);
}

Status MethodInstance::CheckMemory(const std::vector<size_t>& tensors,
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

Status MethodInstance::RunKernel(KernelCall* call) {
  XIR_RETURN_IF_ERROR(CheckMemory(call->plan->tensors, call->plan->written));
  KernelContext context(program_->pool.get(), call->plan->state.get(), &cancelled_);
  Status status = call->kernel(context, call->args);
  if (status.ok() || status.code() != Code::kUnsupported || !call->portable) return status;
  // The dtypes and layouts of a call never change, so the fallback takes it over for good. It is
  // looked up only now, because that may load torch.
  const KernelProvider& provider = program_->options.fallback;
  Kernel fallback = provider ? provider(call->plan->name) : Kernel();
  if (!fallback) return status;
  Log(LogLevel::kWarning, "the fallback runs '" + call->plan->name + "': " + status.message());
  call->portable = false;
  call->kernel = std::move(fallback);
  return call->kernel(context, call->args);
}

Status MethodInstance::RunDelegate(const DelegateCall& call) {
  XIR_RETURN_IF_ERROR(CheckMemory(call.plan->tensors, call.plan->written));
  KernelContext context(program_->pool.get(), /*state=*/nullptr, &cancelled_);
  Delegate& delegate = *(profiling_ ? timed_delegates_ : delegates_)[call.plan->delegate];
  return delegate.Execute(context, call.args);
}

Result<bool> MethodInstance::IsFalse(size_t condition) const {
  const Value& value = memory_[condition];
  if (const auto* flag = value.get<bool>()) return !*flag;
  const Tensor& tensor = *value.get<Tensor>();
  if (tensor.dtype != DType::kBool || tensor.data == nullptr) {
    return Fail(Code::kInvalidProgram, "a condition is no bool tensor");
  }
  const auto* flags = tensor.as<uint8_t>();
  return std::any_of(flags, flags + tensor.numel(), [](uint8_t flag) { return flag == 0; });
}

Status MethodInstance::RunCall(Instruction* instruction) {
  if (const auto* call = std::get_if<DelegateCall>(instruction)) return RunDelegate(*call);
  return RunKernel(std::get_if<KernelCall>(instruction));
}

Status MethodInstance::RunProfiled(Instruction* instruction, size_t index) {
  XIR_RETURN_IF_ERROR(profiler_->BeginCall(index));
  XIR_RETURN_IF_ERROR(RunCall(instruction));
  profiler_->EndCall();
  if (const auto* call = std::get_if<DelegateCall>(instruction)) {
    return timed_delegates_[call->plan->delegate]->ReadOperatorTimes(profiler_->operator_times());
  }
  uint64_t written = 0;
  for (const size_t value : std::get_if<KernelCall>(instruction)->plan->written) {
    written += memory_[value].get<Tensor>()->nbytes();
  }
  profiler_->set_result_bytes(written);
  return {};
}

Status MethodInstance::CreateProfiler() {
  if (profiler_ != nullptr) return {};
  XIR_ASSIGN_OR_RETURN(timed_delegates_, Instantiate(*plan_.delegates, /*profile=*/true));
  std::vector<std::vector<DelegateOperator>> operators;
  for (const auto& delegate : timed_delegates_) {
    XIR_ASSIGN_OR_RETURN(std::vector<DelegateOperator> each, delegate->Operators());
    operators.push_back(std::move(each));
  }
  profiler_ = std::make_unique<Profiler>(program_->view, *plan_.view, operators);
  return {};
}

Result<Profile> MethodInstance::ExecuteProfiled() {
  const std::lock_guard<std::recursive_mutex> lock(running_);
  XIR_RETURN_IF_ERROR(CheckIdle());
  XIR_RETURN_IF_ERROR(program_->CheckFiles());
  XIR_RETURN_IF_ERROR(CreateProfiler());
  profiling_ = true;
  profiler_->Begin();
  Status status = Execute();
  profiling_ = false;
  if (!status.ok()) return status;
  return profiler_->End();
}

Status MethodInstance::CheckInputs() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const bool is_tensor = memory_[inputs_[i].value].get<Tensor>() != nullptr;
    if (is_tensor && !inputs_[i].given) {
      return Fail(Code::kInvalidArgument, "input ", i, " was not given");
    }
  }
  return {};
}

// Only the thread that executes can get past the lock while it does.
Status MethodInstance::CheckIdle() const {
  if (!executing_) return {};
  return Fail(Code::kInvalidArgument, "a kernel runs the method that it is called by");
}

Status MethodInstance::Execute() {
  const std::lock_guard<std::recursive_mutex> lock(running_);
  XIR_RETURN_IF_ERROR(CheckIdle());
  XIR_RETURN_IF_ERROR(program_->CheckFiles());
  XIR_RETURN_IF_ERROR(CheckInputs());
  executing_ = true;
  Status status = RunInstructions();
  executing_ = false;
  // The caller's memory is borrowed for one execution, whether that succeeds or not.
  for (Input& input : inputs_) {
    input.given = false;
    Status given_back = GiveBack(&input);
    if (status.ok()) status = std::move(given_back);
  }
  if (status.ok()) status = CopyBoundOutputs();
  return status;
}

void MethodInstance::Log(LogLevel level, const std::string& message) const {
  if (program_->options.logger) program_->options.logger(level, message);
}

Result<Method::Binding> MethodInstance::BindOutput(size_t index, void* data, size_t nbytes) {
  const std::string context = "output " + std::to_string(index);
  if (index >= plan_.outputs.size()) {
    return Fail(Code::kInvalidArgument, context, " of ", plan_.outputs.size(), " does not exist");
  }
  const size_t value = plan_.outputs[index];
  auto* tensor = memory_[value].get<Tensor>();
  if (tensor == nullptr) {
    return Fail(Code::kInvalidArgument, context, " is a ", KindName(memory_[value]),
                ", not a tensor");
  }
  if (reinterpret_cast<uintptr_t>(data) % ElementSize(tensor->dtype) != 0) {
    return Fail(Code::kInvalidArgument, context, " is not aligned to its elements");
  }
  if (!tensor->resizable && data != nullptr && tensor->nbytes() > nbytes) {
    return Fail(Code::kInvalidArgument, context, " takes ", tensor->nbytes(), " bytes, not ",
                nbytes);
  }
  const bool movable = MayMove(plan_, value);
  if (bound_.empty()) {
    for (const size_t each : plan_.outputs) {
      const auto* own = memory_[each].get<Tensor>();
      bound_.push_back({own == nullptr ? Tensor() : *own, nullptr, 0});
    }
  }
  Output& output = bound_[index];
  output.copy = nullptr;
  if (movable) {
    tensor->data = output.own.data;
    tensor->capacity = output.own.capacity;
  }
  if (data == nullptr) return Binding::kCopied;
  if (movable && MayOverread(data, nbytes)) {
    tensor->data = data;
    tensor->capacity = nbytes;
    return Binding::kInPlace;
  }
  output.copy = data;
  output.copy_size = nbytes;
  Log(LogLevel::kInfo, context + " is copied into the memory that is bound to it");
  return Binding::kCopied;
}

Status MethodInstance::CopyBoundOutputs() {
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (bound_[i].copy == nullptr) continue;
    const Tensor& tensor = *memory_[plan_.outputs[i]].get<Tensor>();
    const size_t nbytes = tensor.nbytes();
    if (nbytes > bound_[i].copy_size || (nbytes > 0 && tensor.data == nullptr)) {
      return Fail(Code::kInvalidArgument, "output ", i, " of shape ", tensor.shape.ToString(),
                  " takes ", nbytes, " bytes, and ", bound_[i].copy_size, " were bound");
    }
    if (nbytes > 0) std::memmove(bound_[i].copy, tensor.data, nbytes);
  }
  return {};
}

Status MethodInstance::RunInstructions() {
  const auto cancelled = [this] { return cancelled_.exchange(false, std::memory_order_relaxed); };
  if (cancelled()) return Fail(Code::kCancelled, "cancelled before instruction 0");
  uint64_t executed = 0;
  for (size_t next = 0; next < instructions_.size();) {
    if (++executed > program_->options.max_instructions) {
      return Fail(Code::kResource, "stopped after ", executed - 1, " instructions");
    }
    const size_t current = next++;
    Status status = Run(current, &next);
    // A kernel that noticed may have failed, or left its results in any state.
    if (cancelled()) status = Fail(Code::kCancelled, "cancelled");
    if (!status.ok()) return std::move(status).In(NameOf(instructions_[current], current));
  }
  return {};
}

std::string MethodInstance::NameOf(const Instruction& instruction, size_t index) const {
  const std::string name = "instruction " + std::to_string(index);
  if (std::holds_alternative<DelegateCall>(instruction)) return name + " (delegate)";
  const auto* call = std::get_if<KernelCall>(&instruction);
  if (call == nullptr) return name;
  return name + " ('" + call->plan->name + "')" +
         PlaceOfInstruction(program_->view, *plan_.view, index);
}

Status MethodInstance::Run(size_t index, size_t* next) {
  Instruction* instruction = &instructions_[index];
  if (std::holds_alternative<DelegateCall>(*instruction) ||
      std::holds_alternative<KernelCall>(*instruction)) {
    return profiling_ ? RunProfiled(instruction, index) : RunCall(instruction);
  }
  if (const auto* move = std::get_if<Move>(instruction)) return RunMove(*move);
  if (const auto* jump = std::get_if<JumpFalse>(instruction)) {
    XIR_ASSIGN_OR_RETURN(const bool taken, IsFalse(jump->condition));
    if (taken) *next = jump->destination;
  }
  return {};
}

Status MethodInstance::RunMove(const Move& move) {
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
