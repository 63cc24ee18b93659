#pragma once

#include "verify/program_view.h"
#include "verify/verify.h"
#include "verify/work_budget.h"
#include "xir/status.h"

namespace xir {

// Checks one method but for what its kernels and delegates make of their arguments: values,
// storage, instructions. `view` has the program and its constants.
Status VerifyPlan(const ProgramView& view, const program::ExecutionPlan& plan,
                  const VerifyLimits& limits, WorkBudget* budget);

}  // namespace xir
