// Loaded programs for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace xir::python {

// Options of loading, programs, and the functions that load them. The classes of methods and states
// are added before.
void AddProgram(pybind11::module_* module);

}  // namespace xir::python
