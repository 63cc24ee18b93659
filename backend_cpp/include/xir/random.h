// The random numbers of programs.
#pragma once

#include <cstdint>

namespace xir {

// Begins the sequence from which all methods of the process draw anew: the same runs after the same
// seed have the same results. Without it each process has a sequence of its own.
void SeedRandom(uint64_t seed);

}  // namespace xir
