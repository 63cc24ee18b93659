#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profile/profiler.h"
#include "runtime/inputs.h"
#include "runtime/interpreter.h"
#include "runtime/loaded_program.h"
#include "runtime/memory.h"
#include "runtime/outputs.h"
#include "runtime/plan.h"
#include "runtime/run_lock.h"
#include "runtime/state.h"
#include "xir/program.h"

namespace xir {

// One instance of a method: its memory, its delegates, and who may run it when. The rest belongs to
// its plan.
class MethodInstance final : public Method {
 public:
  // `plan` and `state` are the program's.
  static Result<std::unique_ptr<MethodInstance>> Create(
      std::shared_ptr<const LoadedProgram> program, const MethodPlan& plan,
      std::shared_ptr<ProgramState> state);

  const std::string& name() const override { return plan_.method->name; }
  size_t num_inputs() const override { return plan_.method->inputs.size(); }
  size_t num_outputs() const override { return plan_.method->outputs.size(); }
  const Value& input(size_t index) const override { return memory_[plan_.method->inputs[index]]; }
  const Value& output(size_t index) const override { return memory_[plan_.method->outputs[index]]; }
  const std::shared_ptr<State>& state() const override { return state_; }
  size_t num_delegates() const override { return delegates_.size(); }
  std::vector<std::string> kernel_names() const override { return KernelNames(*plan_.method); }

  Status SetInput(size_t index, void* data, size_t nbytes, const Shape& shape,
                  bool writable) override;
  Status SetInput(size_t index, const Tensor& tensor) override;
  Status SetInput(size_t index, int64_t value) override;
  Status SetInput(size_t index, bool value) override;
  Status SetInput(size_t index, double value) override;
  Result<Binding> BindOutput(size_t index, void* data, size_t nbytes) override;
  Status Execute() override;
  Status LimitSeconds(double max_seconds) override;
  void Cancel() override { cancelled_.store(true, std::memory_order_relaxed); }
  Result<Profile> ExecuteProfiled() override;

 private:
  using Delegates = std::vector<std::unique_ptr<Delegate>>;

  MethodInstance(std::shared_ptr<const LoadedProgram> program, const MethodPlan& plan,
                 const std::shared_ptr<ProgramState>& state, MethodMemory memory,
                 Delegates delegates);
  // Fails on a thread that is running this instance: a kernel calls it.
  Status CheckIdle() const;
  template <typename... Given>
  Status Set(size_t index, const Given&... given);
  Result<RunLock::Held> WaitToRun();
  // Executes with the lock held; `profiler` may be null.
  Status ExecuteAlone(const Delegates& delegates, Profiler* profiler);
  Status RunWithInputs(const Delegates& delegates, Profiler* profiler);
  Status CreateProfiler();

  std::shared_ptr<const LoadedProgram> program_;
  const MethodPlan& plan_;
  std::shared_ptr<State> state_;
  RunLock& lock_;  // the state's
  std::atomic<std::thread::id> executing_{};
  double max_seconds_ = 0;
  std::atomic<bool> cancelled_{false};
  MethodMemory memory_;
  MethodInputs inputs_;
  MethodOutputs outputs_;
  Delegates delegates_;
  Interpreter interpreter_;
  // Set once an execution has been profiled. XNNPACK measures operators for the whole life of a
  // runtime or not at all, so profiled executions have delegates of their own, of the same plans.
  std::unique_ptr<Profiler> profiler_;
  Delegates timed_delegates_;
};

}  // namespace xir
