#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "core/file_bytes.h"
#include "program/description.h"
#include "runtime/delegates.h"
#include "runtime/input_sizes.h"
#include "runtime/memory.h"
#include "xir/kernel_registry.h"
#include "xir/program.h"

namespace xir {

// What all instances of a method share: its instructions, bound to kernels and to the plans of
// delegates. Immutable; values are referred to by index.
struct MethodPlan {
  struct KernelCall {
    std::string_view name;  // of the operator
    Kernel kernel;          // the application's, the portable one, or else the fallback
    bool portable = false;  // a fallback may replace the kernel
    std::shared_ptr<const KernelState> state;
    Span<const size_t> args;
    std::vector<size_t> tensors;  // among the arguments and in their lists
    std::vector<size_t> written;  // those that the kernel writes; empty for a fallback
  };
  struct DelegateCall {
    size_t delegate = 0;
    Span<const size_t> args;
    std::vector<size_t> tensors;
    std::vector<size_t> written;
  };
  using Move = MethodDescription::Move;
  using JumpFalse = MethodDescription::JumpFalse;
  using Free = MethodDescription::Free;
  using Instruction = std::variant<KernelCall, DelegateCall, Move, JumpFalse, Free>;

  const MethodDescription* method = nullptr;
  std::unordered_set<size_t> output_values;  // each once
  std::vector<std::vector<InputDim>> input_dims;
  // By input, whether an instruction may write to the memory that the caller lends.
  std::vector<bool> changes_input;
  // By input, whether something reads its place in the arena under another value's name, which
  // nothing has written: ExecuTorch leaves out views, and their results lie where operands do.
  std::vector<bool> has_other_name;
  std::vector<Instruction> instructions;
  const std::vector<PreparedDelegate>* delegates = nullptr;

  bool IsOutput(size_t value) const;
};

struct LoadedProgram;

// Binds the verified method of this index. Fails if an operator has no kernel, or if a kernel or
// delegate does not take its arguments. The program must outlive the plan.
Result<std::unique_ptr<const MethodPlan>> MakePlan(const LoadedProgram& program, size_t method);

// What the file says about a method, without binding or packing anything.
MethodMetadata ReadMetadata(const ProgramDescription& program, const MethodDescription& method);

// The names of the operators that run as kernels, each once, in the order of their first calls.
std::vector<std::string> KernelNames(const MethodDescription& method);

}  // namespace xir
