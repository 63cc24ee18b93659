#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "profile/profiler.h"
#include "runtime/loaded_program.h"
#include "runtime/memory.h"
#include "runtime/plan.h"
#include "runtime/stopper.h"
#include "xir/delegate.h"

namespace xir {

// One execution of a method's instructions.
struct Execution {
  Stopper* stopper = nullptr;
  const std::atomic<bool>* cancelled = nullptr;
  Span<const std::unique_ptr<Delegate>> delegates;  // by their index in the plan
  Profiler* profiler = nullptr;                     // null where nothing is measured
};

// The instructions of a method, bound to the values of one instance.
class Interpreter {
 public:
  // All outlive this. `own_inputs` has, by value that is an input, the tensor as the file has it.
  Interpreter(const LoadedProgram& program, const MethodPlan& plan, MethodMemory* memory,
              const std::unordered_map<size_t, const Tensor*>& own_inputs);

  // Runs the instructions from first to last. The error names the instruction and its place.
  Status Run(const Execution& execution);

 private:
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
    const Tensor* own_input = nullptr;  // `to` as the file has it, null unless it is an input
  };
  using JumpFalse = MethodPlan::JumpFalse;
  using Free = MethodPlan::Free;
  using Instruction = std::variant<KernelCall, DelegateCall, Move, JumpFalse, Free>;

  std::vector<Value*> Values(Span<const size_t> indices);
  // "instruction 5 ('aten::add.out') at model.py:41"
  std::string NameOf(size_t index) const;
  // Runs instruction `index`; `next` is the one behind it, unless it jumps.
  Status Step(const Execution& execution, size_t index, size_t* next);
  static Status RunMove(const Move& move);
  Status RunCall(const Execution& execution, Instruction* call);
  // Runs a call of a kernel or a delegate, and notes how long it took.
  Status RunProfiled(const Execution& execution, Instruction* call, size_t index);
  Status RunKernel(const Execution& execution, KernelCall* call);
  Status RunDelegate(const Execution& execution, const DelegateCall& call);
  // Checks that everything that a call reads or writes has memory.
  Status CheckMemory(const std::vector<size_t>& tensors, const std::vector<size_t>& written) const;
  Result<bool> IsFalse(size_t condition) const;

  const LoadedProgram& program_;
  const MethodPlan& plan_;
  MethodMemory& memory_;
  std::vector<Instruction> instructions_;
};

}  // namespace xir
