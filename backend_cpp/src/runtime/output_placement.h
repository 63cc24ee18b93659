#pragma once

#include "runtime/plan.h"

namespace xir {

// Whether an output may be computed in other memory than its part of an arena, so that nothing else
// notices: an instruction that writes all of it comes before whatever reads it, and values that
// share its bytes are done with by then.
bool MayMove(const MethodPlan& plan, size_t value);

}  // namespace xir
