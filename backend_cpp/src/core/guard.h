// Where exceptions end. The runtime throws none of its own, but the standard library does where
// memory ends, and so may what is not the runtime's: kernels, backends, callbacks. Each function
// that the outside calls, and each call to the outside, goes through one of these, so that what is
// thrown becomes a Status.
#pragma once

#include <cxxabi.h>

#include "xir/status.h"

namespace xir {

// Says the exception that is being handled.
Status StatusOfException() noexcept;

#if defined(__GLIBCXX__)
// By this glibc unwinds a thread that is cancelled; it must not be swallowed.
#define XIR_RETHROW_CANCELLATION        \
  catch (const abi::__forced_unwind&) { \
    throw;                              \
  }
#else
#define XIR_RETHROW_CANCELLATION
#endif

// call(), which returns a Status or a Result.
template <typename Call>
auto Guarded(const Call& call) -> decltype(call()) {
  try {
    return call();
  }
  XIR_RETHROW_CANCELLATION
  catch (...) {
    return StatusOfException();
  }
}

// call(), or `otherwise` where it throws: for callbacks that have no way to say what failed.
template <typename Value, typename Call>
Value GuardedOr(Value otherwise, const Call& call) {
  try {
    return call();
  }
  XIR_RETHROW_CANCELLATION
  catch (...) {
    return otherwise;
  }
}

}  // namespace xir
