// What XNNPACK says of a graph without its weights, for the compiler.
#pragma once

#include <pybind11/pybind11.h>

namespace xir::python {

void AddCheckGraph(pybind11::module_* module);

}  // namespace xir::python
