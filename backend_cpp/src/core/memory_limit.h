#pragma once

#include <cstdint>
#include <string>

namespace xir {

// The most memory, in bytes, that this process can have: what the machine has, or less where one of
// its control groups (version 1 or 2, of itself or of a group around it) has a limit.
// `root` is where /proc and /sys are; a test has its own.
uint64_t AvailableMemory(const std::string& root = "");

}  // namespace xir
