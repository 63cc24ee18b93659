#pragma once

#include "verify/program_view.h"
#include "verify/verify.h"
#include "xir/status.h"

namespace xir {

// Checks one method but for what is inside its delegates: values, storage, instructions.
// `view` has the program and its constants.
Status VerifyPlan(const ProgramView& view, const program::ExecutionPlan& plan,
                  const VerifyLimits& limits);

// Checks that every call of delegate `index` hands `graph` the tensors that it expects.
Status VerifyDelegateCalls(const program::ExecutionPlan& plan, size_t index,
                           const GraphView& graph);

}  // namespace xir
