// A library with every symbol that is bound, each a call of the real XNNPACK; built with
// XIR_SHIFTED, the numbers of unary operators are off by one, as those of another version may be.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "xir/library.h"
#include "xnnpack/api.h"

namespace {

void* Real(const char* name) {
  static const std::vector<std::string> paths = xir::PythonLibraryPaths();
  static void* const library =
      paths.empty() ? nullptr : dlopen(paths.front().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "no %s in the executorch wheel\n", name);
    std::abort();
  }
  return symbol;
}

#ifdef XIR_SHIFTED
xnn_unary_operator Given(xnn_unary_operator type) {
  return static_cast<xnn_unary_operator>(static_cast<int>(type) + 1);
}
#endif

template <typename T>
T Given(T value) {
  return value;
}

template <typename Function, typename... Arguments>
auto Forward(Function* function, Arguments... arguments) {
  return function(Given(arguments)...);
}

}  // namespace

// The symbols are C's, which a declaration of this name could not be beside api.h's own.
#define XIR_STRIP(...) __VA_ARGS__
#define XIR_FORWARD(result, name, parameters, arguments)                                  \
  __attribute__((visibility("default"))) result forward_##name parameters __asm__(#name); \
  result forward_##name parameters {                                                      \
    static auto* const xir_real = reinterpret_cast<result(*) parameters>(Real(#name));    \
    return Forward(xir_real, XIR_STRIP arguments);                                        \
  }
XIR_XNNPACK_FUNCTIONS(XIR_FORWARD)
