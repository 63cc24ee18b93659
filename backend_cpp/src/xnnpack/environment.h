#pragma once

#include <cstdint>

#include "xir/status.h"

namespace xir {

// Names what packed weights depend on beside the weights: the build of XNNPACK that is bound, and
// the processor's features, by which it chooses its microkernels. LoadXnnpack comes first.
Result<uint64_t> DigestEnvironment();

}  // namespace xir
