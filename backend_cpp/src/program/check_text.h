#pragma once

#include "program_generated.h"
#include "verify/work_budget.h"
#include "xir/status.h"

namespace xir {

// That the names and strings of a program whose structure is checked are UTF-8, as FlatBuffers has
// it: callers look methods and buffers up by them, print them, and hand them to other languages.
Status CheckText(const program::Program& program, WorkBudget* budget);

}  // namespace xir
