#pragma once

#include <string>

#include "xir/span.h"
#include "xir/status.h"

namespace xir {

// Makes xnn_* callable: finds the library, binds, initialises and tests it (self_test.h). Does its
// work once in a process; safe from any thread. It looks at the environment variable
// XIR_XNNPACK_LIBRARY, then at `paths` (files, or directories that hold one), and nowhere else.
Status LoadXnnpack(Span<const std::string> paths);

}  // namespace xir
