#pragma once

#include <string_view>
#include <vector>

#include "xir/kernel.h"

namespace xir {

// A kernel in portable C++ and the arguments that it takes, one letter each in the order of the
// operator's schema:
//   T tensor   t tensor or none   O tensor that it writes   G list of tensors
//   I int   i int or none   S number (int, bool, double)   s number or none   D double   B bool
//   L list of ints   l list of ints or none   x anything; the kernel does not look at it
// A kernel trusts that its arguments are of these kinds, and checks shapes and dtypes itself. It
// answers kUnsupported, before it writes anything, for dtypes and layouts that are left to the
// fallback.
struct PortableKernel {
  std::string_view name;
  std::string_view signature;
  Status (*run)(KernelArgs args);
};

// Null where there is none.
const PortableKernel* FindPortableKernel(std::string_view name);

// The names of all kernels, sorted.
std::vector<std::string_view> PortableKernelNames();

// Checks arguments against a signature; ExecuTorch repeats the results behind the last one, which
// is allowed. Answers the indices of the arguments that the kernel writes.
Result<std::vector<size_t>> MatchSignature(std::string_view signature, KernelArgs args);

}  // namespace xir
