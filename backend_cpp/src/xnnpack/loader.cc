#include "xnnpack/loader.h"

#include "xnnpack/handles.h"

#ifdef XIR_LINK_XNNPACK

namespace xir {

Status LoadXnnpack(Span<const std::string>) {
  return CheckXnn(xnn_initialize(nullptr), "initialise");
}

}  // namespace xir

#else

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

namespace xir {

XnnpackFunctions g_xnnpack;

namespace {

namespace fs = std::filesystem;

constexpr char kEnvironmentVariable[] = "XIR_XNNPACK_LIBRARY";
constexpr char kLibraryName[] = "libexecutorch_backend_xnnpack.so";
constexpr char kThreadPoolName[] = "libexecutorch_threadpool.so";
constexpr char kAdvice[] =
    "install it with `pip install --no-deps executorch==1.5.1`, or set XIR_XNNPACK_LIBRARY to "
    "libexecutorch_backend_xnnpack.so of that package";

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The wheel's library below a virtual environment or installation prefix.
void AppendPrefix(const fs::path& prefix, std::vector<fs::path>* candidates) {
  std::error_code error;
  for (const char* lib : {"lib", "lib64"}) {
    fs::directory_iterator entries(prefix / lib, error);
    if (error) continue;
    for (const fs::directory_entry& entry : entries) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("python3", 0) != 0) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        candidates->push_back(entry.path() / packages / "executorch" / "lib" / kLibraryName);
      }
    }
  }
}

// Prefixes in the order in which a user would expect them to win.
void AppendPythonPrefixes(std::vector<fs::path>* candidates) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    for (fs::path dir = self.parent_path(); dir.has_relative_path(); dir = dir.parent_path()) {
      if (Exists(dir / "pyvenv.cfg")) AppendPrefix(dir, candidates);
      if (Exists(dir / ".venv" / "pyvenv.cfg")) AppendPrefix(dir / ".venv", candidates);
    }
  }
  if (const char* environment = std::getenv("VIRTUAL_ENV")) AppendPrefix(environment, candidates);
  if (const char* path = std::getenv("PATH")) {
    std::istringstream entries(path);
    for (std::string entry; std::getline(entries, entry, ':');) {
      if (entry.empty() || !Exists(fs::path(entry) / "python3")) continue;
      AppendPrefix(fs::path(entry).parent_path(), candidates);
      break;
    }
  }
}

std::vector<fs::path> Candidates(Span<const std::string> paths) {
  std::vector<fs::path> candidates;
  for (const std::string& path : paths) {
    std::error_code ignored;
    candidates.push_back(fs::is_directory(path, ignored) ? fs::path(path) / kLibraryName
                                                         : fs::path(path));
  }
  AppendPythonPrefixes(&candidates);
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
