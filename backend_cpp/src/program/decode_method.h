#pragma once

#include "program/description.h"
#include "program/file_data.h"
#include "program_generated.h"
#include "verify/limits.h"
#include "verify/work_budget.h"
#include "xir/status.h"

namespace xir {

// Decodes one method, and checks all but its delegates and what kernels make of their arguments.
// `method` has its name.
Status DecodeMethod(const FileData& data, const program::ExecutionPlan& plan,
                    const VerifyLimits& limits, WorkBudget* budget, MethodDescription* method);

}  // namespace xir
