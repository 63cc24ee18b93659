// Profiles for Python, and the texts that are made of them.
#pragma once

#include <pybind11/pybind11.h>

namespace xir::python {

void AddProfile(pybind11::module_* module);

}  // namespace xir::python
