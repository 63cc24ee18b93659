#include "counted_kernels.h"

#include <cstring>
#include <map>
#include <unordered_set>
#include <utility>

#include "disturbance.h"
#include "kernels/registry.h"
#include "step_bounds.h"

namespace xir::fuzz {
namespace {

// How often each portable kernel has succeeded.
std::map<std::string_view, size_t>& Successes() {
  static std::map<std::string_view, size_t> successes;
  return successes;
}

}  // namespace

std::shared_ptr<const KernelRegistry> CountedKernels() {
  static const std::shared_ptr<const KernelRegistry> kernels = [] {
    auto registry = std::make_shared<KernelRegistry>();
    for (const std::string_view name : PortableKernelNames()) {
      const TypedKernel& portable = *FindPortableKernel(name);
      RegisteredKernel counted(portable);
      counted.run = [run = portable.run, count = &Successes()[name]](KernelContext& context,
                                                                     KernelArgs args) {
        Disturbance::OfKernel();
        Status status = run(context, args);
        if (status.ok()) ++*count;
        return status;
      };
      if (!registry->Add(std::string(name), std::move(counted)).ok()) Die("a kernel has two names");
    }
    return registry;
  }();
  return kernels;
}

Kernel Fallback(std::string_view) {
  return [](KernelContext&, KernelArgs args) -> Status {
    Disturbance::OfKernel();
    Tensor* last = nullptr;
    unsigned sum = 0;
    std::unordered_set<const Tensor*> read;  // one may be an argument many times
    for (Value* value : args) {
      auto* tensor = value->get<Tensor>();
      if (tensor == nullptr || tensor->data == nullptr) continue;
      last = tensor;
      if (!read.insert(tensor).second) continue;
      const size_t nbytes = tensor->nbytes();
      if (nbytes > tensor->capacity) Die("a kernel was given less memory than a shape takes");
      for (size_t i = 0; i < nbytes; ++i) sum += tensor->as<uint8_t>()[i];
    }
    if (last == nullptr || !last->writable) return Fail(Code::kUnsupported, "no result");
    XIR_RETURN_IF_ERROR(last->Resize(last->bound));
    if (last->nbytes() > last->capacity) Die("a result was given more than its memory");
    std::memset(last->data, static_cast<int>(sum & 1), last->nbytes());
    return {};
  };
}

std::vector<std::string> KernelsWithoutSuccess() {
  std::vector<std::string> names;
  CountedKernels();
  for (const auto& [name, count] : Successes()) {
    if (count == 0) names.emplace_back(name);
  }
  return names;
}

}  // namespace xir::fuzz
