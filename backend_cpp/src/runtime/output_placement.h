#pragma once

#include "runtime/plan.h"

namespace xir {

// Whether an output may be computed directly in memory outside the arena. That is so if an
// instruction writes all of it before anything reads it, and if no value that shares its bytes in
// the arena is still in use by then.
bool MayMove(const MethodPlan& plan, size_t value);

}  // namespace xir
