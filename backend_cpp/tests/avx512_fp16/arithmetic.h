// Arithmetic of halves as AVX512-FP16 rounds it: once, to the nearest, with halves below the
// smallest normal one kept.
#pragma once

#include <cstdint>

#include "avx512_fp16/instruction.h"

namespace xir::testing {

// Where results may differ from one processor to the next: VRCPPH is within 2^-11 + 2^-14 of 1 / x.
enum class Reciprocals { kNearest, kLowest, kHighest };

// One lane of `instruction`; `sources` are the bits of three halves, the first of which is the
// destination's. Of kCompare 0 or 1.
uint16_t Compute(const Instruction& instruction, const uint16_t sources[3],
                 Reciprocals reciprocals);

}  // namespace xir::testing
