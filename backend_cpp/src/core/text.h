// Text that comes from files.
#pragma once

#include <string_view>

namespace xir {

bool IsUtf8(std::string_view text);

}  // namespace xir
