// xir_find_library: prints the XNNPACK of the Python around this program.

#include <cstdio>
#include <string>
#include <vector>

#include "xir/library.h"

int main() {
  const std::vector<std::string> paths = xir::PythonLibraryPaths();
  if (!paths.empty()) std::printf("%s\n", paths.front().c_str());
  return paths.empty() ? 1 : 0;
}
