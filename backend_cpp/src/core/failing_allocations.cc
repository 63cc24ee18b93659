#include "core/failing_allocations.h"

#ifdef XIR_FUZZING

namespace xir {
namespace {

thread_local uint64_t g_until_failure = kNoFailure;

}  // namespace

void FailAllocationAfter(uint64_t count) { g_until_failure = count; }

bool FailureIsPending() { return g_until_failure != kNoFailure; }

bool AllocationFails() {
  if (g_until_failure == kNoFailure) return false;
  if (g_until_failure > 0) {
    --g_until_failure;
    return false;
  }
  g_until_failure = kNoFailure;
  return true;
}

}  // namespace xir

#endif
