#pragma once

#include "verify/container.h"
#include "verify/graph_view.h"
#include "verify/limits.h"
#include "verify/work_budget.h"
#include "xir/delegate.h"
#include "xir/status.h"

namespace xir {

// Checks one XNNPACK delegate: header, flatbuffer, values, constants' sizes, and every node in
// order.
Result<GraphView> VerifyGraph(Bytes blob, const NamedData& named, const VerifyLimits& limits,
                              WorkBudget* budget);

// The same for a blob whose parts are known. Constants without a name are read from
// `parts.constant_data`.
Result<GraphView> VerifyGraph(const DelegateBlob& parts, const NamedData& named,
                              const VerifyLimits& limits, WorkBudget* budget);

}  // namespace xir
