#include "xir/kernel_registry.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "core/guard.h"
#include "xir/kernel_library.h"

namespace xir {
namespace {

std::string Describe(const KernelAbi& abi) {
  const char* library = abi.cxx_library == 1   ? "libstdc++"
                        : abi.cxx_library == 2 ? "libc++"
                                               : "another C++ library";
  return JoinParts({"version ", abi.version, " with ", library, ' ', abi.cxx_library_abi,
                    " (sizes ", abi.pointer_size, ' ', abi.value_size, ' ', abi.tensor_size, ' ',
                    abi.result_size, ' ', abi.kernel_size, ' ', abi.options_size, ')'});
}

Result<const KernelLibrary*> OpenLibrary(const std::string& path) {
  // The linker searches its own folders for a name without a slash; a user means a file.
  const bool here = path.find('/') == std::string::npos && access(path.c_str(), F_OK) == 0;
  void* library = dlopen((here ? "./" + path : path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Fail(Code::kNotFound, "cannot load it: ", dlerror());
  const auto entry = reinterpret_cast<KernelLibraryEntry>(dlsym(library, kKernelLibraryEntry));
  if (entry == nullptr) {
    return Fail(Code::kInvalidArgument,
                "it is no library of kernels or backends: it has no function ", kKernelLibraryEntry,
                "; XIR_KERNEL_LIBRARY of xir/kernel_library.h makes one");
  }
  const KernelLibrary* kernels = entry();
  if (std::memcmp(&kernels->abi, &kKernelAbi, sizeof(kKernelAbi)) != 0) {
    return Fail(Code::kUnsupported, "it was built for kernels of ", Describe(kernels->abi),
                ", and this runtime has ", Describe(kKernelAbi),
                "; build it with the headers and the compiler of this runtime");
  }
  return kernels;
}

}  // namespace

Status KernelRegistry::AddFrom(std::string name, RegisteredKernel kernel, std::string source) {
  if (name.empty()) return Fail(Code::kInvalidArgument, "a kernel has no name");
  const auto known = kernels_.find(name);
  if (known != kernels_.end()) {
    return Fail(Code::kInvalidArgument, "there are two kernels for '", name, "', one in ",
                known->second.source, " and one in ", source);
  }
  kernels_.emplace(std::move(name), Entry{std::move(kernel), std::move(source)});
  return {};
}

Status KernelRegistry::Add(const TypedKernel& kernel) {
  return Guarded([&] {
    return AddFrom(std::string(kernel.name), RegisteredKernel(kernel), "the application");
  });
}

Status KernelRegistry::Add(std::string name, RegisteredKernel kernel) {
  if (!kernel.bind || !kernel.run) {
    return Fail(Code::kInvalidArgument, "the kernel for '", name, "' lacks a function");
  }
  return Guarded([&] { return AddFrom(std::move(name), std::move(kernel), "the application"); });
}

Status KernelRegistry::AddFrom(const TypedBackend& backend, std::string source) {
  if (backend.id.empty() || backend.create == nullptr) {
    return Fail(Code::kInvalidArgument, "a backend has no id, or no function that makes it");
  }
  const auto known = backends_.find(std::string(backend.id));
  if (known != backends_.end()) {
    return Fail(Code::kInvalidArgument, "there are two backends for '", backend.id, "', one in ",
                known->second.source, " and one in ", source);
  }
  backends_.emplace(std::string(backend.id), BackendEntry{backend, std::move(source)});
  return {};
}

Status KernelRegistry::Add(const TypedBackend& backend) {
  return Guarded([&] { return AddFrom(backend, "the application"); });
}

Status KernelRegistry::LoadLibrary(const std::string& path) {
  return Guarded([&] { return AddLibrary(path); });
}

Status KernelRegistry::AddLibrary(const std::string& path) {
  const std::string context = "library '" + path + "'";
  auto library = OpenLibrary(path);
  if (!library.ok()) return std::move(library).status().In(context);
  KernelRegistry all = *this;
  for (size_t i = 0; i < library.value()->count; ++i) {
    const TypedKernel& kernel = library.value()->kernels[i];
    XIR_RETURN_IF_ERROR(
        all.AddFrom(std::string(kernel.name), RegisteredKernel(kernel), "'" + path + "'")
            .In(context));
  }
  for (size_t i = 0; i < library.value()->num_backends; ++i) {
    XIR_RETURN_IF_ERROR(all.AddFrom(library.value()->backends[i], "'" + path + "'").In(context));
  }
  *this = std::move(all);
  return {};
}

const RegisteredKernel* KernelRegistry::Find(std::string_view name) const {
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &found->second.kernel;
}

const TypedBackend* KernelRegistry::FindBackend(std::string_view id) const {
  const auto found = backends_.find(id);
  return found == backends_.end() ? nullptr : &found->second.backend;
}

std::vector<std::string> KernelRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : kernels_) names.push_back(name);
  return names;
}

}  // namespace xir
