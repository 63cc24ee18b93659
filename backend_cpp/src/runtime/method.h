#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/loaded_program.h"
#include "runtime/memory.h"
#include "xir/program.h"
#include "xnnpack/delegate.h"

namespace xir {

class LoadedMethod final : public Method {
 public:
  static Result<std::unique_ptr<LoadedMethod>> Create(std::shared_ptr<const LoadedProgram> program,
                                                      const PlanView& plan);

  const std::string& name() const override { return name_; }
  size_t num_inputs() const override { return inputs_.size(); }
  size_t num_outputs() const override { return outputs_.size(); }
  const Value& input(size_t index) const override { return memory_[inputs_[index].value]; }
  const Value& output(size_t index) const override { return memory_[outputs_[index]]; }
  size_t num_delegates() const override { return delegates_.size(); }
  std::vector<std::string> kernel_names() const override;

  Status SetInput(size_t index, void* data, size_t nbytes, const Shape& shape,
                  bool writable) override;
  Status SetInput(size_t index, int64_t value) override;
  Status SetInput(size_t index, bool value) override;
  Status SetInput(size_t index, double value) override;
  Status Execute() override;
  Result<std::vector<ProfileEvent>> Profile() const override;

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
  struct Call {
    std::string name;       // of the operator
    Kernel kernel;          // empty for a delegate
    bool portable = false;  // a fallback may replace the kernel
    XnnDelegate* delegate = nullptr;
    size_t delegate_index = 0;
    std::vector<Value*> args;
    std::vector<Value*> tensors;  // among the arguments and in their lists
    std::vector<Value*> written;  // those that the kernel writes
  };
  struct Move {
    Value* from = nullptr;
    Value* to = nullptr;
    Input* to_input = nullptr;  // null unless it is one
  };
  struct JumpFalse {
    size_t condition = 0;
    size_t destination = 0;
  };
  struct Free {};
  using Instruction = std::variant<Call, Move, JumpFalse, Free>;

  LoadedMethod(std::shared_ptr<const LoadedProgram> program, MethodMemory memory)
      : program_(std::move(program)), memory_(std::move(memory)) {}
  Status CreateDelegates(const PlanView& plan);
  Status BindInstructions(const program::ExecutionPlan& plan);
  Result<Call> BindKernel(const program::ExecutionPlan& plan, const program::KernelCall& call);
  Result<Value*> ScalarInput(size_t index, std::string_view kind);
  Kernel Fallback(const std::string& op) const;
  Status CheckInputs() const;
  // Runs the instructions from first to last.
  Status RunInstructions();
  static std::string NameOf(const Instruction& instruction, size_t index);
  Status Run(Instruction* instruction, size_t* next);
  Status RunMove(const Move& move);
  Status RunCall(Call* call);
  Status RunProfiled(Call* call);
  Result<bool> IsFalse(size_t condition) const;
  // Ends the loan of the caller's memory: no pointer to it is left.
  Status GiveBack(Input* input);
  bool IsOutput(size_t value) const;

  std::shared_ptr<const LoadedProgram> program_;
  std::string name_;
  MethodMemory memory_;
  std::vector<Input> inputs_;
  std::vector<size_t> outputs_;
  XnnWorkspace workspace_;
  std::vector<std::unique_ptr<XnnDelegate>> delegates_;
  std::vector<Instruction> instructions_;
  std::vector<ProfileEvent> profile_;  // of the last execution
  bool has_run_ = false;
};

}  // namespace xir
