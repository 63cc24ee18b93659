#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "profile/profiler.h"
#include "runtime/loaded_program.h"
#include "runtime/memory.h"
#include "runtime/plan.h"
#include "runtime/run_lock.h"
#include "runtime/state.h"
#include "runtime/stopper.h"
#include "xir/program.h"

namespace xir {

// The memory and the delegates of one instance of a method; the rest belongs to its plan.
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
  std::vector<std::string> kernel_names() const override;

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
  struct Input {
    size_t value = 0;
    bool given = false;
    Tensor own;  // what the file gives it: arena memory, or none
    uint8_t* lent = nullptr;
    AlignedBuffer copy;  // of lent memory that XNNPACK could not over-read
    size_t copy_size = 0;
    AlignedBuffer kept;  // what an output shows of an input without memory of its own
  };
  struct Output {
    Tensor own;             // as the file has it
    void* bound = nullptr;  // the caller's memory
    size_t bound_size = 0;
    bool is_copied = false;  // into that, after the execution
  };
  struct KernelCall {
    const MethodPlan::KernelCall* plan = nullptr;
    Kernel kernel;
    bool portable = false;  // a fallback may replace the kernel
    std::vector<Value*> args;
  };
  struct DelegateCall {
    const MethodPlan::DelegateCall* plan = nullptr;
    std::vector<Value*> args;
  };
  struct Move {
    const Value* from = nullptr;
    Value* to = nullptr;
    const Input* to_input = nullptr;  // null unless it is one
  };
  static_assert(sizeof(Input) + sizeof(ValueInfo) <= WorkBudget::kPort);
  static_assert(sizeof(Output) + sizeof(ValueInfo) <= WorkBudget::kPort);
  using JumpFalse = MethodPlan::JumpFalse;
  using Free = MethodPlan::Free;
  using Instruction = std::variant<KernelCall, DelegateCall, Move, JumpFalse, Free>;

  MethodInstance(std::shared_ptr<const LoadedProgram> program, const MethodPlan& plan,
                 const std::shared_ptr<ProgramState>& state, MethodMemory memory)
      : program_(std::move(program)),
        plan_(plan),
        state_(state),
        state_memory_(*state),
        memory_(std::move(memory)) {}
  void BindInputs();
  void BindInstructions();
  std::vector<Value*> Values(Span<const size_t> indices);
  Result<const Value*> ScalarInput(size_t index, std::string_view kind) const;
  // Input `index`, which is a tensor.
  Result<Input*> TensorInput(size_t index);
  Status CheckInputShape(size_t index, const Shape& shape) const;
  Status Lend(size_t index, void* data, size_t nbytes, const Shape& shape, bool writable);
  Status Copy(size_t index, Tensor* lent);
  Status SeparateInputs();
  // Copies inputs to their places in the arena, where those are read under other names.
  void PlaceInputs();
  // By input, whether what it was lent is also a bound output's, or another input's that may
  // change.
  std::vector<bool> SharedInputs() const;
  Status CheckInputs() const;
  Status CheckEqualSizes() const;
  // Fails on a thread that is running this instance: a kernel calls it.
  Status CheckIdle() const;
  Result<RunLock::Held> WaitToRun();
  Status RunWithInputs();
  Result<Binding> Bind(size_t index, void* data, size_t nbytes);
  KernelContext ContextOf(const KernelState* state) const;
  Status CopyBoundOutputs();
  void Log(LogLevel level, const std::string& message) const;
  // Runs the instructions from first to last.
  Status RunInstructions();
  // "instruction 5 ('aten::add.out') at model.py:41"
  std::string NameOf(const Instruction& instruction, size_t index) const;
  // Runs instruction `index`; `next` is the one behind it, unless it jumps.
  Status Run(size_t index, size_t* next);
  Status RunMove(const Move& move);
  // Checks that everything that a call reads or writes has memory.
  Status CheckMemory(const std::vector<size_t>& tensors, const std::vector<size_t>& written) const;
  Status RunKernel(KernelCall* call);
  Status RunDelegate(const DelegateCall& call);
  Status RunCall(Instruction* instruction);
  Status CreateProfiler();
  // Runs a call of a kernel or a delegate, and notes how long it took.
  Status RunProfiled(Instruction* call, size_t index);
  Result<bool> IsFalse(size_t condition) const;
  // Gives the caller's memory back: no pointer to it remains.
  Status GiveBack(Input* input);

  std::shared_ptr<const LoadedProgram> program_;
  const MethodPlan& plan_;
  std::shared_ptr<State> state_;
  const ProgramState& state_memory_;  // the same; an instance holds its lock while it runs
  std::atomic<std::thread::id> executing_{};
  Stopper* stopper_ = nullptr;  // of the execution that is under way
  double max_seconds_ = 0;
  MethodMemory memory_;
  std::vector<Input> inputs_;
  std::vector<std::unique_ptr<Delegate>> delegates_;
  std::vector<Instruction> instructions_;
  std::vector<Output> bound_;  // by output; empty until the first is bound
  std::atomic<bool> cancelled_{false};
  // Set once an execution has been profiled. XNNPACK measures operators for the whole life of a
  // runtime or not at all, so profiled executions have delegates of their own, of the same plans.
  std::unique_ptr<Profiler> profiler_;
  std::vector<std::unique_ptr<Delegate>> timed_delegates_;
  bool profiling_ = false;
};

}  // namespace xir
