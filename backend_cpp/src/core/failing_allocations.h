// Allocations that fail on demand, in builds with XIR_FUZZING alone: to test that what was half
// built is released.
#pragma once

#ifdef XIR_FUZZING

#include <cstdint>

namespace xir {

inline constexpr uint64_t kNoFailure = UINT64_MAX;

// Lets `count` more buffers be allocated and the one behind them fail; kNoFailure lets all succeed.
void FailAllocationAfter(uint64_t count);

// Whether the failure that was asked for is still to come.
bool FailureIsPending();

// Whether the buffer that is asked for now is the one to fail.
bool AllocationFails();

}  // namespace xir

#endif
