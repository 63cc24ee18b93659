#pragma once

#include "verify/container.h"
#include "verify/program_view.h"
#include "verify/verify.h"
#include "verify/work_budget.h"
#include "xir/status.h"

namespace xir {

// Checks one XNNPACK delegate: header, flatbuffer, values, constants' sizes, and every node in
// order.
Result<GraphView> VerifyGraph(Bytes blob, const ProgramView& view, const VerifyLimits& limits,
                              WorkBudget* budget);

// The same for a blob that was taken apart. What constants without a name are read from is
// `parts.constant_data`.
Result<GraphView> VerifyGraph(const DelegateBlob& parts, const ProgramView& view,
                              const VerifyLimits& limits, WorkBudget* budget);

}  // namespace xir
