#include "kernels/registry.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "kernels/families.h"

namespace xir {
namespace {

using Registry = std::unordered_map<std::string_view, const TypedKernel*>;

const Registry& AllKernels() {
  static const auto* const registry = [] {
    auto* all = new Registry;
    for (const auto table : {
             kernels::UnaryKernels,
             kernels::BinaryKernels,
             kernels::ReductionKernels,
             kernels::ScanKernels,
             kernels::ConvolutionKernels,
             kernels::MatrixKernels,
             kernels::NormalizationKernels,
             kernels::PoolingKernels,
             kernels::ResamplingKernels,
             kernels::GridSamplingKernels,
             kernels::ShapeKernels,
             kernels::JoiningKernels,
             kernels::PaddingKernels,
             kernels::IndexingKernels,
             kernels::CreationKernels,
             kernels::RandomKernels,
             kernels::ConversionKernels,
             kernels::QuantizedKernels,
             kernels::SymbolKernels,
             kernels::AttentionKernels,
             kernels::QuantizedEmbeddingKernels,
         }) {
      for (const TypedKernel& kernel : table()) all->emplace(kernel.name, &kernel);
    }
    return all;
  }();
  return *registry;
}

}  // namespace

const TypedKernel* FindPortableKernel(std::string_view name) {
  const auto found = AllKernels().find(name);
  return found == AllKernels().end() ? nullptr : found->second;
}

std::vector<std::string_view> PortableKernelNames() {
  std::vector<std::string_view> names;
  for (const auto& [name, kernel] : AllKernels()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool IsLeftOut(std::string_view name) {
  return std::string_view(kernels::kLeftOutKernels).find("\n" + std::string(name) + "\n") !=
         std::string_view::npos;
}

}  // namespace xir
