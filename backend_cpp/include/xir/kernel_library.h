// Declares the kernels and backends of a shared library, which `xnn_executor_runner --libraries`,
// Python's load_program(..., libraries=[...]) and KernelRegistry::LoadLibrary load:
//
//   constexpr xir::TypedKernel kKernels[] = {xir::kernels::MakeKernel<Axpy>("my::axpy.out")};
//   constexpr xir::TypedBackend kBackends[] = {xir::MakeBackend<Doubler>("DoublerBackend")};
//   XIR_LIBRARY(kKernels, kBackends)
//
// XIR_KERNEL_LIBRARY(kKernels) and XIR_BACKEND_LIBRARY(kBackends) are for libraries with only one
// of the two.
//
// The library links xir::runtime, statically, which adds the few functions that its kernels call,
// or xir::shared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "xir/delegate.h"
#include "xir/kernel.h"

namespace xir {

// The ABI that library and runtime must share, since they exchange C++ values. `version` is
// incremented whenever the meaning of kernel.h, kernel_arguments.h or delegate.h changes; the
// other members distinguish compilers and standard libraries.
struct KernelAbi {
  uint32_t version;
  uint32_t cxx_library;  // 1: libstdc++, 2: libc++, 0: another
  uint32_t cxx_library_abi;
  uint32_t pointer_size;
  uint32_t value_size;
  uint32_t tensor_size;
  uint32_t result_size;
  uint32_t kernel_size;
  uint32_t options_size;
};

inline constexpr KernelAbi kKernelAbi {
  3,
#if defined(__GLIBCXX__)
      1, _GLIBCXX_USE_CXX11_ABI,
#elif defined(_LIBCPP_ABI_VERSION)
      2, _LIBCPP_ABI_VERSION,
#else
      0, 0,
#endif
      sizeof(void*), sizeof(Value), sizeof(Tensor), sizeof(Result<std::vector<Value*>>),
      sizeof(TypedKernel), sizeof(BackendOptions),
};

// What a kernel library's entry point returns. `abi` stays its first member in all versions.
struct KernelLibrary {
  KernelAbi abi;
  const TypedKernel* kernels;
  size_t count;
  const TypedBackend* backends;
  size_t num_backends;
};

// The entry point's name and type.
inline constexpr char kKernelLibraryEntry[] = "xir_kernel_library";
using KernelLibraryEntry = const KernelLibrary* (*)();

}  // namespace xir

#define XIR_LIBRARY_ENTRY_(...)                                                    \
  extern "C" __attribute__((visibility("default"))) const ::xir::KernelLibrary*    \
  xir_kernel_library() {                                                           \
    static constexpr ::xir::KernelLibrary library{::xir::kKernelAbi, __VA_ARGS__}; \
    return &library;                                                               \
  }

// All take arrays.
#define XIR_KERNEL_LIBRARY(kernels) \
  XIR_LIBRARY_ENTRY_(kernels, sizeof(kernels) / sizeof(kernels[0]), nullptr, 0)
#define XIR_BACKEND_LIBRARY(backends) \
  XIR_LIBRARY_ENTRY_(nullptr, 0, backends, sizeof(backends) / sizeof(backends[0]))
#define XIR_LIBRARY(kernels, backends)                                        \
  XIR_LIBRARY_ENTRY_(kernels, sizeof(kernels) / sizeof(kernels[0]), backends, \
                     sizeof(backends) / sizeof(backends[0]))
