#pragma once

#include "program/description.h"
#include "program/file_data.h"
#include "program_generated.h"
#include "verify/work_budget.h"
#include "xir/status.h"

namespace xir {

// Decodes the values of a method whose arenas are decoded.
Status DecodeValues(const FileData& data, const program::ExecutionPlan& plan, WorkBudget* budget,
                    MethodDescription* method);

}  // namespace xir
