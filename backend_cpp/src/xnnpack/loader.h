#pragma once

#include <string>

#include "xir/span.h"
#include "xir/status.h"

namespace xir {

// Makes xnn_* callable: finds the library, binds and initialises it. Does its work once in a
// process; safe from any thread. It looks at the environment variable XIR_XNNPACK_LIBRARY, then at
// `paths` (files, or directories that hold one), then, for programs without Python, at the
// executorch wheel of the virtual environment that the program is installed in, of $VIRTUAL_ENV,
// and of the python3 on PATH.
Status LoadXnnpack(Span<const std::string> paths);

}  // namespace xir
