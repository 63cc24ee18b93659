// What a measured time depends on beside the program.
#pragma once

#include <cstddef>
#include <string>

#include "xir/span.h"
#include "xir/status.h"

namespace xir {

// Names the build of XNNPACK that programs run on, in hexadecimal: its build ID, or a digest of its
// code. Loads it first, from where LoadOptions::xnnpack_paths would.
Result<std::string> XnnpackBuild(Span<const std::string> paths);

// Has this thread, and those that it starts from now on, run on one core alone, counted from 0.
// Fails for a core that there is none of, and on systems that leave the choice to nobody.
Status PinToCore(size_t core);

}  // namespace xir
