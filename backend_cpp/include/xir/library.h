// Where tools that are installed with Python find XNNPACK.
#pragma once

#include <string>
#include <vector>

namespace xir {

// The XNNPACK of the `xir` and `executorch` wheels that belong to this process, for
// LoadOptions::xnnpack_paths: those in the virtual environment that contains the executable, in
// $VIRTUAL_ENV, and in the environment of the first python3 on PATH. Applications should name
// their library instead, since a folder above them may belong to somebody else.
std::vector<std::string> PythonLibraryPaths();

}  // namespace xir
