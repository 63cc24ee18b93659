#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "xir/status.h"

namespace xir::runner {

// All bytes of a file.
Result<std::vector<uint8_t>> ReadFile(const std::string& path);

// Writes `header` and then `size` bytes of `data` to a temporary file first, so that a failure
// leaves nothing half-written.
Status WriteFile(const std::string& path, std::string_view header, const void* data, size_t size);

}  // namespace xir::runner
