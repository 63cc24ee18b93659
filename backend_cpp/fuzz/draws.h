// Decisions drawn from a fuzzer's bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "xir/span.h"

namespace xir::fuzz {

// Each draw takes the next bytes; when they are used up every draw is 0, which stands for the plain
// choice, so that a short input is a small program and a fuzzer can shrink it.
class Draws {
 public:
  explicit Draws(Bytes bytes) : bytes_(bytes) {}

  // A number in [0, n); 0 where there is none.
  uint64_t Below(uint64_t n) {
    if (n == 0) return 0;
    uint64_t value = 0;
    for (uint64_t reach = 1; reach < n; reach <<= 8) {
      value = value << 8 | Byte();
      if (reach > UINT64_MAX >> 8) break;
    }
    return value % n;
  }

  // True once in `n` times; false when the bytes are used up.
  bool OneIn(uint64_t n) { return Below(n) == n - 1; }

  // Any 64 bits.
  uint64_t Word() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | Byte();
    return value;
  }

  template <typename T, size_t kCount>
  T Of(const T (&choices)[kCount]) {
    return choices[Below(kCount)];
  }

  bool empty() const { return at_ >= bytes_.size(); }

 private:
  uint8_t Byte() { return empty() ? 0 : bytes_[at_++]; }

  Bytes bytes_;
  size_t at_ = 0;
};

// Numbers that code is easily wrong about; otherwise a small one.
inline uint64_t OddNumber(Draws* draws) {
  constexpr uint64_t kEdges[] = {0,
                                 1,
                                 UINT64_MAX,
                                 UINT64_MAX - 1,
                                 uint64_t{1} << 63,
                                 (uint64_t{1} << 63) - 1,
                                 uint64_t{1} << 62,
                                 UINT32_MAX,
                                 uint64_t{1} << 32,
                                 uint64_t{1} << 31,
                                 INT32_MAX,
                                 uint64_t{1} << 16,
                                 0xFFFF,
                                 255,
                                 128,
                                 64};
  return draws->OneIn(2) ? draws->Below(32) : draws->Of(kEdges);
}

}  // namespace xir::fuzz
