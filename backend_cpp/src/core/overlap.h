#pragma once

#include <cstddef>
#include <cstdint>

namespace xir {

// Whether two parts of memory have a byte in common.
inline bool Overlaps(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
  if (a_bytes == 0 || b_bytes == 0) return false;
  return first < second ? second - first < a_bytes : first - second < b_bytes;
}

}  // namespace xir
