#pragma once

#include <string_view>
#include <vector>

#include "xir/kernel.h"

namespace xir {

// The kernel of an operator such as "aten::add.out"; null where there is none.
const TypedKernel* FindPortableKernel(std::string_view name);

// The names of all kernels, sorted.
std::vector<std::string_view> PortableKernelNames();

// Whether the runtime has a kernel of this name that XIR_KERNELS left out of this build.
bool IsLeftOut(std::string_view name);

}  // namespace xir
