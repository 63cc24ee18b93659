#pragma once

#include <algorithm>
#include <cstdint>

namespace xir {

struct VerifyLimits {
  // No address space has as much, and sums and roundings of a few sizes within it are numbers.
  static constexpr uint64_t kMost = uint64_t{1} << 62;

  VerifyLimits(uint64_t bytes) : max_memory(std::min(bytes, kMost)) {}

  // Bytes that the arenas of one method, and separately one delegate with its activations, packed
  // weights and scratch memory, may take.
  uint64_t max_memory;
};

}  // namespace xir
