// The kernels of a run: the runtime's own, counted, and a fallback.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "xir/kernel.h"
#include "xir/kernel_registry.h"

namespace xir::fuzz {

// The portable kernels, counted.
std::shared_ptr<const KernelRegistry> CountedKernels();

// The portable kernels that have not succeeded in this process yet.
std::vector<std::string> KernelsWithoutSuccess();

// Takes any call, as torch does: reads the tensors, and writes the last as far as it has memory.
Kernel Fallback(std::string_view name);

}  // namespace xir::fuzz
