#pragma once

#include <cstdint>
#include <string>

namespace xir {

// The most memory, in bytes, that this process can have: what the machine has, or less where one of
// its control groups (version 1 or 2, of itself or of a group around it) has a limit.
// Read once for the process, since it takes a dozen files.
uint64_t AvailableMemory();

// The same, read anew; `root` is where /proc and /sys are.
uint64_t ReadAvailableMemory(const std::string& root);

}  // namespace xir
