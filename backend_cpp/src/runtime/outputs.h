#pragma once

#include <cstddef>
#include <vector>

#include "runtime/memory.h"
#include "runtime/plan.h"
#include "runtime/written_ranges.h"
#include "verify/work_budget.h"
#include "xir/program.h"

namespace xir {

// The memory that callers bind to outputs of one instance.
class MethodOutputs {
 public:
  // Both outlive this.
  MethodOutputs(const MethodPlan& plan, MethodMemory* memory) : plan_(plan), memory_(*memory) {}

  // As Method::BindOutput.
  Result<Method::Binding> Bind(size_t index, void* data, size_t nbytes);
  // Copies the results that are not computed in the memory that is bound to them.
  Status CopyToBound() const;
  // What is bound, of no input's number.
  WrittenRanges Bound() const;

 private:
  struct Output {
    Tensor own;             // as the file has it
    void* bound = nullptr;  // the caller's memory
    size_t bound_size = 0;
    bool is_copied = false;  // into that, after the execution
  };
  static_assert(sizeof(Output) + sizeof(ValueInfo) <= WorkBudget::kPort);

  // Fails unless the `nbytes` at `data` may be bound to the output.
  Status Check(size_t index, const void* data, size_t nbytes) const;
  Status CheckFree(size_t index, const void* data, size_t nbytes) const;
  void RememberOwn();

  const MethodPlan& plan_;
  MethodMemory& memory_;
  std::vector<Output> bound_;  // by output; empty until the first is bound
};

}  // namespace xir
