// Kernels and backends of an application's own.
//
//   auto kernels = std::make_shared<xir::KernelRegistry>();
//   XIR_RETURN_IF_ERROR(kernels->Add(xir::kernels::MakeKernel<Axpy>("my::axpy.out")));
//   XIR_RETURN_IF_ERROR(kernels->LoadLibrary("libmy_kernels.so"));
//   options.kernels = kernels;
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "xir/delegate.h"
#include "xir/kernel.h"
#include "xir/status.h"

namespace xir {

// A kernel that is made while the program runs. The functions are as in TypedKernel; `prepare` may
// be empty.
struct RegisteredKernel {
  RegisteredKernel() = default;
  explicit RegisteredKernel(const TypedKernel& kernel) : bind(kernel.bind), run(kernel.run) {
    if (kernel.prepare != nullptr) prepare = kernel.prepare;
  }

  std::function<Result<std::vector<Value*>>(KernelArgs)> bind;
  Kernel run;
  std::function<Result<std::shared_ptr<const KernelState>>(KernelArgs)> prepare;
};

// Kernels by the names of their operators, and backends by the ids of their delegates. They take
// precedence over the runtime's own, so they may replace a portable kernel, or XNNPACK.
class KernelRegistry {
 public:
  // Fails if the name is empty or was added before, and then changes nothing.
  Status Add(const TypedKernel& kernel);
  Status Add(std::string name, RegisteredKernel kernel);

  Status Add(const TypedBackend& backend);

  // Adds the kernels and backends of a shared library that XIR_KERNEL_LIBRARY or
  // XIR_BACKEND_LIBRARY (kernel_library.h) is in: all of them, or none. The library stays loaded as
  // long as the process runs.
  Status LoadLibrary(const std::string& path);

  // Null if there is none of that name.
  const RegisteredKernel* Find(std::string_view name) const;
  std::vector<std::string> names() const;
  const TypedBackend* FindBackend(std::string_view id) const;

 private:
  struct Entry {
    RegisteredKernel kernel;
    std::string source;  // where the kernel comes from, for messages
  };
  struct BackendEntry {
    TypedBackend backend;
    std::string source;
  };
  Status AddLibrary(const std::string& path);
  Status AddFrom(std::string name, RegisteredKernel kernel, std::string source);
  Status AddFrom(const TypedBackend& backend, std::string source);

  std::map<std::string, Entry, std::less<>> kernels_;
  std::map<std::string, BackendEntry, std::less<>> backends_;
};

}  // namespace xir
