#include "kernels/registry.h"

#include <algorithm>
#include <unordered_map>

#include "kernels/families.h"

namespace xir {
namespace {

using Registry = std::unordered_map<std::string_view, const PortableKernel*>;

const Registry& AllKernels() {
  static const auto* const registry = [] {
    auto* all = new Registry;
    for (const auto table : {
             kernels::UnaryKernels,         kernels::BinaryKernels,      kernels::ReductionKernels,
             kernels::ScanKernels,          kernels::ConvolutionKernels, kernels::MatrixKernels,
             kernels::NormalizationKernels, kernels::PoolingKernels,     kernels::ResamplingKernels,
             kernels::GridSamplingKernels,  kernels::ShapeKernels,       kernels::JoiningKernels,
             kernels::PaddingKernels,       kernels::IndexingKernels,    kernels::CreationKernels,
             kernels::RandomKernels,        kernels::ConversionKernels,  kernels::QuantizedKernels,
             kernels::SymbolKernels,
         }) {
      for (const PortableKernel& kernel : table()) all->emplace(kernel.name, &kernel);
    }
    return all;
  }();
  return *registry;
}

}  // namespace

const PortableKernel* FindPortableKernel(std::string_view name) {
  const auto found = AllKernels().find(name);
  return found == AllKernels().end() ? nullptr : found->second;
}

std::vector<std::string_view> PortableKernelNames() {
  std::vector<std::string_view> names;
  for (const auto& [name, kernel] : AllKernels()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

// The tensors that arguments are or hold, absent ones left out.
std::vector<Value*> TensorsAmong(KernelArgs args) {
  std::vector<Value*> tensors;
  for (Value* value : args) {
    if (value->get<Tensor>() != nullptr) tensors.push_back(value);
    if (const auto* list = value->get<TensorList>()) {
      for (Value* item : list->items) {
        if (item != nullptr && item->get<Tensor>() != nullptr) tensors.push_back(item);
      }
    }
  }
  return tensors;
}

}  // namespace

Result<std::vector<Value*>> kernels::WrittenTensors(KernelArgs arguments, KernelArgs results,
                                                    KernelArgs repeated) {
  const std::vector<Value*> all = TensorsAmong(arguments);
  std::vector<Value*> written = TensorsAmong(results);
  for (const Value* result : written) {
    if (std::count(all.begin(), all.end(), result) > 1) {
      return Fail(Code::kInvalidProgram, "a result is another argument as well");
    }
  }
  const bool numbers = repeated.size() == results.size() &&
                       std::equal(results.begin(), results.end(), repeated.begin());
  if (repeated.empty() || numbers || TensorsAmong(repeated) == written) return written;
  return Fail(Code::kInvalidProgram, "what follows its arguments does not repeat its results");
}

}  // namespace xir
