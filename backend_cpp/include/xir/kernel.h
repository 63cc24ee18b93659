#pragma once

#include <functional>
#include <string_view>

#include "xir/span.h"
#include "xir/status.h"
#include "xir/value.h"

namespace xir {

// The arguments of an out-variant in its schema's order, the results last.
using KernelArgs = Span<Value* const>;

// Runs one operator. Writes into the tensors among its arguments and resizes them where the shape
// is dynamic.
using Kernel = std::function<Status(KernelArgs)>;

// Answers for an operator name such as "aten::add.out", with an empty function where it has none.
using KernelProvider = std::function<Kernel(std::string_view op)>;

}  // namespace xir
