// How reading a file refuses what it says.
#pragma once

#include "xir/status.h"

namespace xir {

template <typename... Parts>
Status Bad(const Parts&... parts) {
  return Fail(Code::kInvalidProgram, parts...);
}

}  // namespace xir
