// Kernels in Python, which the runtime calls for operators that it has no kernel of.
#pragma once

#include <pybind11/pybind11.h>

#include "xir/kernel.h"

namespace xir::python {

// `find(name)` returns None or a function of the arguments that returns the results: pairs of an
// argument's index and what it becomes. A tensor argument is (array over the same memory, dtype,
// dimension order, writable, bytes that the memory has), a tensor result (shape, array in memory
// order).
KernelProvider MakeProvider(const pybind11::object& find);

}  // namespace xir::python
