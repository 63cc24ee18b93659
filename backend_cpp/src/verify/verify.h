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
// types, sizes. What is in a delegate, its backend verifies, and charges to the same budget. `data`
// are .ptd files with what the program names and does not hold. All files must be 16-byte aligned,
// readable for kOverreadBytes beyond their ends, and outlive the view. Nothing else reads them
// before this has succeeded.
Result<ProgramView> VerifyProgram(Bytes file, Span<const Bytes> data, const VerifyLimits& limits,
                                  WorkBudget* budget);

}  // namespace xir
