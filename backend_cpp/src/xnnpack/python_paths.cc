#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "platform/platform.h"
#include "xir/library.h"
#include "xnnpack/library_files.h"

namespace xir {
namespace {

namespace fs = std::filesystem;

// The libraries of wheels, xir's own first, below a virtual environment or installation prefix.
void AppendPrefix(const fs::path& prefix, std::vector<std::string>* paths) {
  std::error_code error;
  for (const char* lib : {"lib", "lib64"}) {
    fs::directory_iterator entries(prefix / lib, error);
    if (error) continue;
    for (const fs::directory_entry& entry : entries) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("python3", 0) != 0) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const char* folder : {"xir/lib/xnnpack", "executorch/lib"}) {
          const fs::path library = entry.path() / packages / folder / kLibraryName;
          if (Exists(library)) paths->push_back(library.string());
        }
      }
    }
  }
}

}  // namespace

// In the order in which a user would expect them to win.
std::vector<std::string> PythonLibraryPaths() {
  std::vector<std::string> paths;
  // PREFIX/bin/xnn_executor_runner. Folders further up are not the environment's: anybody may be
  // able to write to one of them.
  const fs::path self = platform::ExecutablePath();
  if (self.parent_path().filename() == "bin") {
    AppendPrefix(self.parent_path().parent_path(), &paths);
  }
  if (const char* environment = std::getenv("VIRTUAL_ENV")) AppendPrefix(environment, &paths);
  if (const char* path = std::getenv("PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const fs::path entry(rest.substr(0, rest.find(':')));
      rest.remove_prefix(std::min(rest.size(), entry.native().size() + 1));
      // What is relative depends on where the program is called.
      if (!entry.is_absolute() || !Exists(entry / "python3")) continue;
      AppendPrefix(entry.parent_path(), &paths);
      break;
    }
  }
  return paths;
}

}  // namespace xir
