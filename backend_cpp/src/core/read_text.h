#pragma once

#include <string>

namespace xir {

// All of a small file, such as one below /proc or /sys, whose size is not known before it is read.
// Empty if it cannot be read.
std::string ReadText(const std::string& path);

}  // namespace xir
