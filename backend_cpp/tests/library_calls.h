// Calls that a loaded library makes, taken over by a test.
#pragma once

namespace xir::testing {

// Lets the library that `inside` is an address of call `to` where it calls `name` of another
// library. False where it does not.
bool RedirectCalls(const void* inside, const char* name, void* to);

}  // namespace xir::testing
