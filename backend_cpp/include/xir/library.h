// Where tools find XNNPACK that belong to a Python.
#pragma once

#include <string>
#include <vector>

namespace xir {

// The libraries of `executorch` wheels around this process, for LoadOptions::xnnpack_paths: of the
// virtual environment that the program's own file stands in, of $VIRTUAL_ENV, and of the first
// python3 on PATH, as far as they exist. An application names its library instead: what lies in a
// folder above it need not be its own.
std::vector<std::string> PythonLibraryPaths();

}  // namespace xir
