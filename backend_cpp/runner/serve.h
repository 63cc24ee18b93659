// Requests, one line of JSON each, answered by one line each: docs/device_protocol.md.
#pragma once

#include <cstdint>

#include "arguments.h"
#include "xir/status.h"

namespace xir::runner {

// Raised when a request or an answer changes its meaning or goes away, not when one is added.
inline constexpr uint64_t kProtocol = 1;

// Answers what comes on standard input until it ends or a request says so. A request that cannot be
// carried out is answered by an error, and is no failure of this function.
Status Serve(const Arguments& arguments);

}  // namespace xir::runner
