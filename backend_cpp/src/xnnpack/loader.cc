#include "xnnpack/loader.h"

#include <mutex>

#include "xnnpack/handles.h"
#include "xnnpack/mirrors/self_test.h"

#ifdef XIR_LINK_XNNPACK

namespace xir {

Status LoadXnnpack(Span<const std::string>) {
  static std::mutex mutex;
  static bool checked = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (checked) return {};
  XIR_RETURN_IF_ERROR(CheckXnn(xnn_initialize(nullptr), "initialise"));
  XIR_RETURN_IF_ERROR(TestXnnpack().In("the XNNPACK that is linked"));
  checked = true;
  return {};
}

}  // namespace xir

#else

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "xnnpack/library_files.h"

namespace xir {

XnnpackFunctions g_xnnpack;

namespace {

namespace fs = std::filesystem;

constexpr char kEnvironmentVariable[] = "XIR_XNNPACK_LIBRARY";
constexpr char kThreadPoolName[] = "libexecutorch_threadpool.so";
constexpr char kAdvice[] =
    "set XIR_XNNPACK_LIBRARY (in C++, LoadOptions::xnnpack_paths) to a library that has it, such "
    "as libexecutorch_backend_xnnpack.so of the Python package (`pip install --no-deps "
    "executorch==1.5.1`), or build with one (XIR_XNNPACK_ROOT, docs/embedding.md)";

std::vector<fs::path> Candidates(Span<const std::string> paths) {
  std::vector<fs::path> candidates;
  for (const std::string& path : paths) {
    std::error_code ignored;
    candidates.push_back(fs::is_directory(path, ignored) ? fs::path(path) / kLibraryName
                                                         : fs::path(path));
  }
  return candidates;
}

Result<fs::path> FindLibrary(Span<const std::string> paths) {
  if (const char* chosen = std::getenv(kEnvironmentVariable);
      chosen != nullptr && *chosen != '\0') {
    if (Exists(chosen)) return fs::path(chosen);
    return Fail(Code::kNotFound, kEnvironmentVariable, " names '", chosen,
                "', which does not exist");
  }
  for (const fs::path& candidate : Candidates(paths)) {
    if (Exists(candidate)) return candidate;
  }
  return Fail(Code::kNotFound, "XNNPACK was not found: ", kAdvice);
}

Status Incompatible(const fs::path& library, std::string_view why) {
  return Fail(Code::kUnsupported, "'", library.string(), "' cannot be used as XNNPACK (", why,
              "): ", kAdvice);
}

Status Bind(const fs::path& library) {
  void* xnnpack = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (xnnpack == nullptr) return Incompatible(library, dlerror());
  // pthreadpool is its own library in the wheel, and part of this one elsewhere.
  void* pthreadpool =
      dlopen((library.parent_path() / kThreadPoolName).c_str(), RTLD_NOW | RTLD_LOCAL);

  XnnpackFunctions functions;
  std::string missing;
  const auto resolve = [&](const char* name) {
    void* symbol = dlsym(xnnpack, name);
    if (symbol == nullptr && pthreadpool != nullptr) symbol = dlsym(pthreadpool, name);
    if (symbol == nullptr && missing.empty()) missing = name;
    return symbol;
  };
#define XIR_RESOLVE(result, name, parameters, arguments) \
  functions.name = reinterpret_cast<result(*) parameters>(resolve(#name));
  XIR_XNNPACK_FUNCTIONS(XIR_RESOLVE)
#undef XIR_RESOLVE
  // The handles stay open for the life of the process: pool threads run the library's code.
  if (!missing.empty()) return Incompatible(library, "it lacks " + missing);
  if (const xnn_status status = functions.xnn_initialize(nullptr); status != xnn_status_success) {
    return Incompatible(library, XnnStatusName(status));
  }
  g_xnnpack = functions;
  if (const Status status = TestXnnpack(); !status.ok()) {
    g_xnnpack = {};
    return Incompatible(library, status.message());
  }
  return {};
}

}  // namespace

Status LoadXnnpack(Span<const std::string> paths) {
  static std::mutex mutex;
  static bool loaded = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (loaded) return {};
  XIR_ASSIGN_OR_RETURN(const fs::path library, FindLibrary(paths));
  XIR_RETURN_IF_ERROR(Bind(library));
  loaded = true;
  return {};
}

}  // namespace xir

#endif  // XIR_LINK_XNNPACK
