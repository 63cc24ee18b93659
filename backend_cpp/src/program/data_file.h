#pragma once

#include "program/file_data.h"
#include "verify/work_budget.h"
#include "xir/span.h"
#include "xir/status.h"

namespace xir {

// Checks a .ptd file and adds what it holds to the named data. `file` is as DecodeProgram wants
// its own. A name that is known already is an error.
Status ReadDataFile(Bytes file, FileData* data, WorkBudget* budget);

}  // namespace xir
