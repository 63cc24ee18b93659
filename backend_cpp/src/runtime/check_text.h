#pragma once

#include "verify/program_view.h"
#include "verify/work_budget.h"
#include "xir/status.h"

namespace xir {

// That the names and strings of a verified program are UTF-8, as FlatBuffers has it: callers look
// methods and buffers up by them, print them, and hand them to other languages.
Status CheckText(const ProgramView& program, WorkBudget* budget);

}  // namespace xir
