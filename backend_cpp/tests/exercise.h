#pragma once

#include <cstdint>

#include "xir/span.h"
#include "xir/status.h"

namespace xir::testing {

// Loads a program from memory and runs each of its methods once on ones. Memory is bounded, so that
// a file which asks for too much is refused and not tried.
Status Exercise(Bytes bytes, uint64_t max_memory);

}  // namespace xir::testing
