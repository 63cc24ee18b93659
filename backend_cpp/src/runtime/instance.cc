#include "runtime/instance.h"

#include <string>
#include <utility>

#include "core/guard.h"
#include "runtime/stopper.h"

namespace xir {
namespace {

// Names the thread that runs an instance for as long as this lives.
class Executing {
 public:
  explicit Executing(std::atomic<std::thread::id>* thread) : thread_(*thread) {
    thread_ = std::this_thread::get_id();
  }
  Executing(const Executing&) = delete;
  Executing& operator=(const Executing&) = delete;
  ~Executing() { thread_ = std::thread::id(); }

 private:
  std::atomic<std::thread::id>& thread_;
};

}  // namespace

MethodInstance::MethodInstance(std::shared_ptr<const LoadedProgram> program, const MethodPlan& plan,
                               const std::shared_ptr<ProgramState>& state, MethodMemory memory,
                               Delegates delegates)
    : program_(std::move(program)),
      plan_(plan),
      state_(state),
      lock_(state->lock()),
      max_seconds_(program_->options.max_seconds),
      memory_(std::move(memory)),
      inputs_(plan, &memory_, program_->options.allocator.get()),
      outputs_(plan, &memory_),
      delegates_(std::move(delegates)),
      interpreter_(*program_, plan, &memory_, inputs_.OwnTensors()) {}

Result<std::unique_ptr<MethodInstance>> MethodInstance::Create(
    std::shared_ptr<const LoadedProgram> program, const MethodPlan& plan,
    std::shared_ptr<ProgramState> state) {
  XIR_ASSIGN_OR_RETURN(MethodMemory memory, MethodMemory::Create(*plan.method, *state,
                                                                 program->options.allocator.get()));
  XIR_ASSIGN_OR_RETURN(Delegates delegates, Instantiate(*plan.delegates, /*profile=*/false));
  return std::unique_ptr<MethodInstance>(
      new MethodInstance(std::move(program), plan, state, std::move(memory), std::move(delegates)));
}

Status MethodInstance::CheckIdle() const {
  if (executing_.load() != std::this_thread::get_id()) return {};
  return Fail(Code::kInvalidArgument, "a kernel runs the method that it is called by");
}

template <typename... Given>
Status MethodInstance::Set(size_t index, const Given&... given) {
  return Guarded([&]() -> Status {
    XIR_RETURN_IF_ERROR(CheckIdle());
    return inputs_.Set(index, given...);
  });
}

Status MethodInstance::SetInput(size_t index, const Tensor& tensor) { return Set(index, tensor); }

Status MethodInstance::SetInput(size_t index, void* data, size_t nbytes, const Shape& shape,
                                bool writable) {
  return Set(index, data, nbytes, shape, writable);
}

Status MethodInstance::SetInput(size_t index, int64_t value) { return Set(index, value); }

Status MethodInstance::SetInput(size_t index, bool value) { return Set(index, value); }

Status MethodInstance::SetInput(size_t index, double value) { return Set(index, value); }

Result<Method::Binding> MethodInstance::BindOutput(size_t index, void* data, size_t nbytes) {
  return Guarded([&]() -> Result<Binding> {
    XIR_RETURN_IF_ERROR(CheckIdle());
    XIR_ASSIGN_OR_RETURN(const Binding binding, outputs_.Bind(index, data, nbytes));
    if (data != nullptr && binding == Binding::kCopied) {
      program_->Log(LogLevel::kInfo, "output " + std::to_string(index) +
                                         " is copied into the memory that is bound to it");
    }
    return binding;
  });
}

Status MethodInstance::LimitSeconds(double max_seconds) {
  if (!(max_seconds >= 0)) {
    return Fail(Code::kInvalidArgument, "a limit of ", max_seconds, " seconds");
  }
  max_seconds_ = max_seconds;
  return {};
}

Result<RunLock::Held> MethodInstance::WaitToRun() {
  Stopper stopper(&cancelled_, max_seconds_, program_->options.interrupted);
  return lock_.Lock([&] { return stopper.Check(); });
}

Status MethodInstance::Execute() {
  return Guarded([&]() -> Status {
    XIR_RETURN_IF_ERROR(CheckIdle());
    XIR_ASSIGN_OR_RETURN(const RunLock::Held held, WaitToRun());
    return ExecuteAlone(delegates_, /*profiler=*/nullptr);
  });
}

Status MethodInstance::CreateProfiler() {
  if (profiler_ != nullptr) return {};
  XIR_ASSIGN_OR_RETURN(timed_delegates_, Instantiate(*plan_.delegates, /*profile=*/true));
  std::vector<std::vector<DelegateOperator>> operators;
  for (const auto& delegate : timed_delegates_) {
    XIR_ASSIGN_OR_RETURN(std::vector<DelegateOperator> each, delegate->Operators());
    operators.push_back(std::move(each));
  }
  if constexpr (kHasProfiler) {
    profiler_ = std::make_unique<Profiler>(program_->description, *plan_.method, operators);
  }
  return {};
}

Result<Profile> MethodInstance::ExecuteProfiled() {
  if constexpr (!kHasProfiler) {
    return Fail(Code::kUnsupported,
                "this runtime was built without its profiler; build it with XIR_PROFILER=ON");
  } else {
    return Guarded([&]() -> Result<Profile> {
      XIR_RETURN_IF_ERROR(CheckIdle());
      XIR_ASSIGN_OR_RETURN(const RunLock::Held held, WaitToRun());
      XIR_RETURN_IF_ERROR(program_->CheckFiles());
      XIR_RETURN_IF_ERROR(CreateProfiler());
      profiler_->Begin();
      XIR_RETURN_IF_ERROR(ExecuteAlone(timed_delegates_, profiler_.get()));
      return profiler_->End();
    });
  }
}

Status MethodInstance::ExecuteAlone(const Delegates& delegates, Profiler* profiler) {
  XIR_RETURN_IF_ERROR(program_->CheckFiles());
  XIR_RETURN_IF_ERROR(inputs_.CheckGiven());
  Status status = Guarded([&] { return RunWithInputs(delegates, profiler); });
  // The caller's memory is borrowed for one execution, whether that succeeds or not.
  Status given_back = inputs_.GiveBack();
  if (status.ok()) status = std::move(given_back);
  if (status.ok()) status = outputs_.CopyToBound();
  return status;
}

Status MethodInstance::RunWithInputs(const Delegates& delegates, Profiler* profiler) {
  XIR_RETURN_IF_ERROR(inputs_.CheckEqualSizes());
  XIR_RETURN_IF_ERROR(inputs_.Separate(outputs_.Bound()));
  inputs_.Place();
  Stopper stopper(&cancelled_, max_seconds_, program_->options.interrupted);
  const Executing executing(&executing_);
  return interpreter_.Run({&stopper, &cancelled_, delegates, profiler});
}

}  // namespace xir
