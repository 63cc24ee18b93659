#pragma once

#include "verify/program_view.h"
#include "verify/work_budget.h"
#include "xir/status.h"

namespace xir {

struct VerifyLimits {
  // Bytes that the arenas of one method, and separately one delegate with its activations, packed
  // weights and scratch memory, may take.
  uint64_t max_memory = 0;
};

// Checks everything that the runtime and the kernels rely on: container, flatbuffers, indices,
// types, sizes. The content of a delegate is verified by its backend, on the same budget. `data`
// are .ptd files with data that the program refers to but does not contain. All files must be
// 16-byte aligned, be readable for kOverreadBytes past their ends, and outlive the view. Nothing
// else may read them before this has succeeded.
Result<ProgramView> VerifyProgram(Bytes file, Span<const Bytes> data, const VerifyLimits& limits,
                                  WorkBudget* budget);

}  // namespace xir
