// The random numbers of programs.
#pragma once

#include <cstdint>

namespace xir {

// Seeds the generator that all methods of the process draw from: the same executions after the
// same seed have the same results. Without a seed, each process has a sequence of its own.
void SeedRandom(uint64_t seed);

}  // namespace xir
