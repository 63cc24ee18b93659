#pragma once

#include "verify/program_view.h"
#include "verify/verify.h"
#include "xir/status.h"

namespace xir {

// Checks one XNNPACK delegate: header, flatbuffer, values, constants' sizes, and every node in
// order.
Result<GraphView> VerifyGraph(Bytes blob, const ProgramView& view, const VerifyLimits& limits);

}  // namespace xir
