#include "runtime/instance.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "core/guard.h"
#include "core/overlap.h"
#include "kernels/view.h"
#include "runtime/output_placement.h"
#include "runtime/written_ranges.h"

namespace xir {
namespace {

// Has a variable another value for as long as this lives.
template <typename T, typename Content = T>
class Restored {
 public:
  Restored(T* variable, Content value) : variable_(*variable), before_(variable_) {
    variable_ = value;
  }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;
  ~Restored() { variable_ = before_; }

 private:
  T& variable_;
  Content before_;
};

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

size_t LargestBytes(const Tensor& tensor) {
  return static_cast<size_t>(tensor.bound.numel()) * ElementSize(tensor.dtype);
}

std::string DimOrderOf(const Tensor& tensor) {
  Shape order;
  order.rank = tensor.rank();
  std::copy_n(tensor.dim_order.begin(), order.rank, order.dims.begin());
  return order.ToString();
}

}  // namespace

Result<std::unique_ptr<MethodInstance>> MethodInstance::Create(
    std::shared_ptr<const LoadedProgram> program, const MethodPlan& plan,
    std::shared_ptr<ProgramState> state) {
  XIR_ASSIGN_OR_RETURN(MethodMemory memory, MethodMemory::Create(*plan.method, *state,
                                                                 program->options.allocator.get()));
  std::unique_ptr<MethodInstance> instance(
      new MethodInstance(std::move(program), plan, state, std::move(memory)));
  instance->BindInputs();
  XIR_ASSIGN_OR_RETURN(instance->delegates_, Instantiate(*plan.delegates, /*profile=*/false));
  instance->BindInstructions();
  instance->max_seconds_ = instance->program_->options.max_seconds;
  return instance;
}

void MethodInstance::BindInputs() {
  inputs_.reserve(plan_.method->inputs.size());
  for (const size_t value : plan_.method->inputs) {
    Input& input = inputs_.emplace_back();
    input.value = value;
    if (const auto* tensor = memory_[value].get<Tensor>()) input.own = *tensor;
  }
}

std::vector<Value*> MethodInstance::Values(Span<const size_t> indices) {
  std::vector<Value*> values;
  values.reserve(indices.size());
  for (const size_t index : indices) values.push_back(&memory_[index]);
  return values;
}

void MethodInstance::BindInstructions() {
  std::unordered_map<size_t, const Input*> input_of;
  for (const Input& each : inputs_) input_of[each.value] = &each;
  instructions_.reserve(plan_.instructions.size());
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

std::vector<std::string> MethodInstance::kernel_names() const { return KernelNames(*plan_.method); }

Result<MethodInstance::Input*> MethodInstance::TensorInput(size_t index) {
  XIR_RETURN_IF_ERROR(CheckIdle());
  if (index >= inputs_.size()) {
    return Fail(Code::kInvalidArgument, "input ", index, " of ", inputs_.size(), " does not exist");
  }
  const Value& value = memory_[inputs_[index].value];
  if (value.get<Tensor>() == nullptr) {
    return Fail(Code::kInvalidArgument, "input ", index, " is a ", KindName(value),
                ", and a tensor was given");
  }
  return &inputs_[index];
}

Status MethodInstance::SetInput(size_t index, const Tensor& given) {
  return Guarded([&]() -> Status {
    XIR_ASSIGN_OR_RETURN(const Input* input, TensorInput(index));
    const Tensor& wanted = *memory_[input->value].get<Tensor>();
    if (given.dtype != wanted.dtype) {
      return Fail(Code::kInvalidArgument, "input ", index, " is ", Name(wanted.dtype), ", and ",
                  Name(given.dtype), " was given");
    }
    XIR_RETURN_IF_ERROR(CheckInputShape(index, given.shape));
    if (given.dim_order != wanted.dim_order && given.numel() > 1) {
      return Fail(Code::kInvalidArgument, "input ", index, " lies in memory in the order ",
                  DimOrderOf(wanted), ", and ", DimOrderOf(given), " was given");
    }
    return Lend(index, given.data, given.capacity, given.shape, given.writable);
  });
}

Status MethodInstance::SetInput(size_t index, void* data, size_t nbytes, const Shape& shape,
                                bool writable) {
  return Guarded([&]() -> Status {
    XIR_RETURN_IF_ERROR(TensorInput(index).status());
    XIR_RETURN_IF_ERROR(CheckInputShape(index, shape));
    return Lend(index, data, nbytes, shape, writable);
  });
}

// All checks come first: a call that fails leaves what was given before.
Status MethodInstance::Lend(size_t index, void* data, size_t nbytes, const Shape& shape,
                            bool writable) {
  Input& input = inputs_[index];
  auto* tensor = memory_[input.value].get<Tensor>();
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
  const bool is_own = memory_.Overlaps(data, nbytes) || state_memory_.Overlaps(data, nbytes);
  if (is_own) given.writable = false;
  if (is_own || !MayOverread(data, nbytes)) XIR_RETURN_IF_ERROR(Copy(index, &given));
  *tensor = given;
  input.lent = static_cast<uint8_t*>(data);
  input.given = true;
  return {};
}

// Has a lent tensor refer to a copy of the memory.
Status MethodInstance::Copy(size_t index, Tensor* lent) {
  Input& input = inputs_[index];
  if (input.copy == nullptr || input.copy_size < lent->capacity) {
    AlignedBuffer copy = AllocateBuffer(lent->capacity, program_->options.allocator.get());
    if (copy == nullptr) return Fail(Code::kResource, "out of memory for input ", index);
    input.copy = std::move(copy);
    input.copy_size = lent->capacity;
  }
  std::memcpy(input.copy.get(), lent->data, lent->nbytes());
  lent->data = input.copy.get();
  return {};
}

// Operators read their inputs while they write outputs and inputs that the model changes, so what
// one of these has in common with another input is copied first. The copy is not the model's to
// change: what it wrote there would have to go where something else is.
Status MethodInstance::SeparateInputs() {
  const std::vector<bool> shared = SharedInputs();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!shared[i]) continue;
    auto* tensor = memory_[inputs_[i].value].get<Tensor>();
    Tensor lent = *tensor;
    lent.writable = false;
    if (lent.data == inputs_[i].lent) XIR_RETURN_IF_ERROR(Copy(i, &lent));
    *tensor = lent;
  }
  return {};
}

void MethodInstance::PlaceInputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto* tensor = memory_[inputs_[i].value].get<Tensor>();
    const Tensor& own = inputs_[i].own;
    if (!plan_.has_other_name[i] || tensor == nullptr || tensor->data == own.data) continue;
    const size_t nbytes = std::min(tensor->nbytes(), own.capacity);
    if (own.data != nullptr && nbytes > 0) std::memcpy(own.data, tensor->data, nbytes);
  }
}

std::vector<bool> MethodInstance::SharedInputs() const {
  std::vector<bool> shared(inputs_.size());
  WrittenRanges written;
  for (const Output& output : bound_) written.Add(output.bound, output.bound_size, SIZE_MAX);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].lent == nullptr || !plan_.changes_input[i]) continue;
    written.Add(inputs_[i].lent, memory_[inputs_[i].value].get<Tensor>()->capacity, i);
  }
  written.Sort();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto* tensor = memory_[inputs_[i].value].get<Tensor>();
    shared[i] = tensor != nullptr && written.Overlap(inputs_[i].lent, tensor->capacity, i);
  }
  return shared;
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
    std::memmove(lent, used.data, nbytes);
  }
  if (!plan_.IsOutput(input->value) || used.data == tensor->data || nbytes == 0) return {};
  if (tensor->data == nullptr || !tensor->writable) {
    const size_t size = LargestBytes(used);
    if (input->kept == nullptr)
      input->kept = AllocateBuffer(size, program_->options.allocator.get());
    if (input->kept == nullptr) return Fail(Code::kResource, "out of memory for an output");
    tensor->capacity = size;
    tensor->data = input->kept.get();
  }
  std::memmove(tensor->data, used.data, nbytes);
  return {};
}

Result<const Value*> MethodInstance::ScalarInput(size_t index, std::string_view kind) const {
  XIR_RETURN_IF_ERROR(CheckIdle());
  if (index >= inputs_.size()) {
    return Fail(Code::kInvalidArgument, "input ", index, " of ", inputs_.size(), " does not exist");
  }
  const Value& value = memory_[inputs_[index].value];
  if (KindName(value) == kind) return &value;
  return Fail(Code::kInvalidArgument, "input ", index, " is a ", KindName(value), ", and a ", kind,
              " was given");
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
  return Guarded([&]() -> Status {
    XIR_ASSIGN_OR_RETURN(const Value* slot, ScalarInput(index, "int"));
    return RequireEqual(index, *slot, value);
  });
}

Status MethodInstance::SetInput(size_t index, bool value) {
  return Guarded([&]() -> Status {
    XIR_ASSIGN_OR_RETURN(const Value* slot, ScalarInput(index, "bool"));
    return RequireEqual(index, *slot, value);
  });
}

Status MethodInstance::SetInput(size_t index, double value) {
  return Guarded([&]() -> Status {
    XIR_ASSIGN_OR_RETURN(const Value* slot, ScalarInput(index, "double"));
    return RequireEqual(index, *slot, value);
  });
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

KernelContext MethodInstance::ContextOf(const KernelState* state) const {
  return KernelContext(program_->pool.get(), state, &cancelled_, stopper_->deadline());
}

Status MethodInstance::RunKernel(KernelCall* call) {
  XIR_RETURN_IF_ERROR(CheckMemory(call->plan->tensors, call->plan->written));
  KernelContext context = ContextOf(call->plan->state.get());
  Status status = call->kernel(context, call->args);
  if (status.ok() || status.code() != Code::kUnsupported || !call->portable) return status;
  // The dtypes and layouts of a call never change, so the fallback takes it over for good. It is
  // looked up only now, because that may load torch.
  const KernelProvider& provider = program_->options.fallback;
  Kernel fallback = provider ? provider(std::string(call->plan->name)) : Kernel();
  if (!fallback) return status;
  Log(LogLevel::kWarning,
      "the fallback runs '" + std::string(call->plan->name) + "': " + status.message());
  call->portable = false;
  call->kernel = std::move(fallback);
  return call->kernel(context, call->args);
}

Status MethodInstance::RunDelegate(const DelegateCall& call) {
  XIR_RETURN_IF_ERROR(CheckMemory(call.plan->tensors, call.plan->written));
  KernelContext context = ContextOf(/*state=*/nullptr);
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
  profiler_ = std::make_unique<Profiler>(program_->description, *plan_.method, operators);
  return {};
}

Result<Profile> MethodInstance::ExecuteProfiled() {
  return Guarded([&]() -> Result<Profile> {
    XIR_RETURN_IF_ERROR(CheckIdle());
    XIR_ASSIGN_OR_RETURN(const RunLock::Held held, WaitToRun());
    XIR_RETURN_IF_ERROR(program_->CheckFiles());
    XIR_RETURN_IF_ERROR(CreateProfiler());
    const Restored<bool> profiling(&profiling_, true);
    profiler_->Begin();
    XIR_RETURN_IF_ERROR(Execute());
    return profiler_->End();
  });
}

Status MethodInstance::CheckInputShape(size_t index, const Shape& shape) const {
  return CheckSizes(index, *memory_[inputs_[index].value].get<Tensor>(), plan_.input_dims[index],
                    shape);
}

// Of sizes that the model has equal, each was allowed by itself.
Status MethodInstance::CheckEqualSizes() const {
  struct Seen {
    size_t input, dim;
    int64_t size;
  };
  std::unordered_map<int32_t, Seen> seen;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto* tensor = memory_[inputs_[i].value].get<Tensor>();
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

Status MethodInstance::CheckInputs() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const bool is_tensor = memory_[inputs_[i].value].get<Tensor>() != nullptr;
    if (is_tensor && !inputs_[i].given) {
      return Fail(Code::kInvalidArgument, "input ", i, " was not given");
    }
  }
  return {};
}

Status MethodInstance::CheckIdle() const {
  if (executing_.load() != std::this_thread::get_id()) return {};
  return Fail(Code::kInvalidArgument, "a kernel runs the method that it is called by");
}

Result<RunLock::Held> MethodInstance::WaitToRun() {
  Stopper stopper(&cancelled_, max_seconds_, program_->options.interrupted);
  return state_memory_.lock().Lock([&] { return stopper.Check(); });
}

Status MethodInstance::Execute() {
  return Guarded([&]() -> Status {
    XIR_RETURN_IF_ERROR(CheckIdle());
    XIR_ASSIGN_OR_RETURN(const RunLock::Held held, WaitToRun());
    XIR_RETURN_IF_ERROR(program_->CheckFiles());
    XIR_RETURN_IF_ERROR(CheckInputs());
    Status status = Guarded([&] { return RunWithInputs(); });
    // The caller's memory is borrowed for one execution, whether that succeeds or not.
    for (Input& input : inputs_) {
      input.given = false;
      Status given_back = Guarded([&] { return GiveBack(&input); });
      if (status.ok()) status = std::move(given_back);
    }
    if (status.ok()) status = CopyBoundOutputs();
    return status;
  });
}

Status MethodInstance::RunWithInputs() {
  XIR_RETURN_IF_ERROR(CheckEqualSizes());
  XIR_RETURN_IF_ERROR(SeparateInputs());
  PlaceInputs();
  Stopper stopper(&cancelled_, max_seconds_, program_->options.interrupted);
  const Restored<Stopper*> stopping(&stopper_, &stopper);
  const Restored<std::atomic<std::thread::id>, std::thread::id> executing(
      &executing_, std::this_thread::get_id());
  return RunInstructions();
}

Status MethodInstance::LimitSeconds(double max_seconds) {
  if (!(max_seconds >= 0)) {
    return Fail(Code::kInvalidArgument, "a limit of ", max_seconds, " seconds");
  }
  max_seconds_ = max_seconds;
  return {};
}

void MethodInstance::Log(LogLevel level, const std::string& message) const {
  if (program_->options.logger) program_->options.logger(level, message);
}

Result<Method::Binding> MethodInstance::BindOutput(size_t index, void* data, size_t nbytes) {
  return Guarded([&] { return Bind(index, data, nbytes); });
}

Result<Method::Binding> MethodInstance::Bind(size_t index, void* data, size_t nbytes) {
  const std::string context = "output " + std::to_string(index);
  XIR_RETURN_IF_ERROR(CheckIdle());
  if (index >= plan_.method->outputs.size()) {
    return Fail(Code::kInvalidArgument, context, " of ", plan_.method->outputs.size(),
                " does not exist");
  }
  const size_t value = plan_.method->outputs[index];
  auto* tensor = memory_[value].get<Tensor>();
  if (tensor == nullptr) {
    return Fail(Code::kInvalidArgument, context, " is a ", KindName(memory_[value]),
                ", not a tensor");
  }
  if (reinterpret_cast<uintptr_t>(data) % ElementSize(tensor->dtype) != 0) {
    return Fail(Code::kInvalidArgument, context, " is not aligned to its elements");
  }
  const bool has_one_shape = !tensor->resizable || tensor->rank() == 0;
  if (has_one_shape && data != nullptr && tensor->nbytes() > nbytes) {
    return Fail(Code::kInvalidArgument, context, " takes ", tensor->nbytes(), " bytes, not ",
                nbytes);
  }
  nbytes = data == nullptr ? 0 : std::min(nbytes, LargestBytes(*tensor));
  if (memory_.Overlaps(data, nbytes) || state_memory_.Overlaps(data, nbytes)) {
    return Fail(Code::kInvalidArgument, "the memory for ", context, " is the method's own");
  }
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (i == index || !Overlaps(bound_[i].bound, bound_[i].bound_size, data, nbytes)) continue;
    return Fail(Code::kInvalidArgument, "the memory for ", context,
                " overlaps the memory that is bound to output ", i);
  }
  const bool movable = MayMove(plan_, value);
  if (bound_.empty()) {
    for (const size_t each : plan_.method->outputs) {
      const auto* own = memory_[each].get<Tensor>();
      bound_.emplace_back().own = own == nullptr ? Tensor() : *own;
    }
  }
  Output& output = bound_[index];
  output.bound = data;
  output.bound_size = nbytes;
  output.is_copied = false;
  if (movable) {
    tensor->data = output.own.data;
    tensor->capacity = output.own.capacity;
  }
  if (data == nullptr) return Binding::kCopied;
  if (movable && MayOverread(data, nbytes)) {
    tensor->data = data;
    tensor->capacity = nbytes;
    // Operators take it that a tensor has memory for its shape, also one that they change in place.
    if (tensor->nbytes() > nbytes) std::fill_n(tensor->shape.dims.begin(), tensor->rank(), 0);
    return Binding::kInPlace;
  }
  output.is_copied = true;
  Log(LogLevel::kInfo, context + " is copied into the memory that is bound to it");
  return Binding::kCopied;
}

Status MethodInstance::CopyBoundOutputs() {
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

Status MethodInstance::RunInstructions() {
  if (Status stopped = stopper_->Check(); !stopped.ok()) {
    return Fail(stopped.code(), stopped.message(), " before instruction 0");
  }
  uint64_t executed = 0;
  for (size_t next = 0; next < instructions_.size();) {
    if (++executed > program_->options.max_instructions) {
      return Fail(Code::kResource, "stopped after ", executed - 1, " instructions");
    }
    const size_t current = next++;
    Status status = Guarded([&] { return Run(current, &next); });
    // A kernel that noticed may have failed, or left its results in any state.
    if (Status stopped = stopper_->Check(); !stopped.ok()) status = std::move(stopped);
    if (!status.ok()) return std::move(status).In(NameOf(instructions_[current], current));
  }
  return {};
}

std::string MethodInstance::NameOf(const Instruction& instruction, size_t index) const {
  const std::string name = "instruction " + std::to_string(index);
  if (std::holds_alternative<DelegateCall>(instruction)) return name + " (delegate)";
  const auto* call = std::get_if<KernelCall>(&instruction);
  if (call == nullptr) return name;
  return name + " ('" + std::string(call->plan->name) + "')" +
         PlaceOfInstruction(program_->description, *plan_.method, index);
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
