// Arithmetic on numbers from the file. Each returns false where the result does not fit.
#pragma once

#include <cstdint>

namespace xir {

[[nodiscard]] inline bool CheckedAdd(uint64_t a, uint64_t b, uint64_t* sum) {
  return !__builtin_add_overflow(a, b, sum);
}

[[nodiscard]] inline bool CheckedMul(uint64_t a, uint64_t b, uint64_t* product) {
  return !__builtin_mul_overflow(a, b, product);
}

// Whether [offset, offset + size) lies within [0, total).
[[nodiscard]] inline bool Fits(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

}  // namespace xir
