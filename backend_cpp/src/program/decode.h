#pragma once

#include "program/description.h"
#include "verify/limits.h"
#include "verify/work_budget.h"
#include "xir/status.h"

namespace xir {

// Decodes a program, and checks everything that the runtime and the kernels rely on: container,
// flatbuffers, indices, types, sizes, that names are UTF-8. The content of a delegate is verified
// by its backend, on the same budget. `data` are .ptd files with data that the program refers to
// but does not contain. All files must be 16-byte aligned, be readable for kOverreadBytes past
// their ends, and outlive the description. Nothing else reads them but for the bytes that it names.
Result<ProgramDescription> DecodeProgram(Bytes file, Span<const Bytes> data,
                                         const VerifyLimits& limits, WorkBudget* budget);

}  // namespace xir
