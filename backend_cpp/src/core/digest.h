#pragma once

#include <cstdint>

#include "xir/span.h"

namespace xir {

// XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md) of `bytes`: it tells damaged or other data
// from the original, at the speed of memory. It is no protection against forgery.
uint64_t Digest(Bytes bytes, uint64_t seed);

}  // namespace xir
