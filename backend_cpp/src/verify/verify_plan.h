#pragma once

#include "verify/program_view.h"
#include "verify/verify.h"
#include "verify/work_budget.h"
#include "xir/status.h"

namespace xir {

// Checks one method but for what is inside its delegates: values, storage, instructions.
// `view` has the program and its constants.
Status VerifyPlan(const ProgramView& view, const program::ExecutionPlan& plan,
                  const VerifyLimits& limits, WorkBudget* budget);

// Checks that every call of a delegate hands it the tensors that its graph expects.
Status VerifyDelegateCalls(const PlanView& view);

}  // namespace xir
