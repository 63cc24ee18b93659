#pragma once

#include "verify/program_view.h"
#include "verify/work_budget.h"
#include "xir/span.h"
#include "xir/status.h"

namespace xir {

// Checks a .ptd file and adds what it holds to the view's named data. `file` is as VerifyProgram
// wants its own. A name that the view has already is an error.
Status ReadDataFile(Bytes file, ProgramView* view, WorkBudget* budget);

}  // namespace xir
