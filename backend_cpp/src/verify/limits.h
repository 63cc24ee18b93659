#pragma once

#include <cstdint>

namespace xir {

struct VerifyLimits {
  // Bytes that the arenas of one method, and separately one delegate with its activations, packed
  // weights and scratch memory, may take.
  uint64_t max_memory = 0;
};

}  // namespace xir
