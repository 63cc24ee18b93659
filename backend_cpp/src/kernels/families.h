// The tables of kernels, one a file. registry.cc joins them.
#pragma once

#include <array>

#include "kernels/selection.h"
#include "xir/kernel.h"
#include "xir/span.h"

namespace xir::kernels {

using KernelTable = Span<const TypedKernel>;

template <const auto& kRows>
constexpr size_t CountSelected() {
  size_t count = 0;
  for (const TypedKernel& row : kRows) count += IsSelected(row.name) ? 1 : 0;
  return count;
}

template <const auto& kRows>
constexpr auto SelectedRows() {
  std::array<TypedKernel, CountSelected<kRows>()> selected{};
  size_t count = 0;
  for (const TypedKernel& row : kRows) {
    if (IsSelected(row.name)) selected[count++] = row;
  }
  return selected;
}

// The rows that this build has. Nothing refers to the others at run time, so the compiler drops
// them together with their kernels.
template <const auto& kRows>
KernelTable TableOf() {
  static constexpr auto kSelected = SelectedRows<kRows>();
  return KernelTable(kSelected.data(), kSelected.size());
}

KernelTable AttentionKernels();
KernelTable UnaryKernels();
KernelTable BinaryKernels();
KernelTable ReductionKernels();
KernelTable ScanKernels();
KernelTable ConvolutionKernels();
KernelTable MatrixKernels();
KernelTable NormalizationKernels();
KernelTable PoolingKernels();
KernelTable ResamplingKernels();
KernelTable GridSamplingKernels();
KernelTable ShapeKernels();
KernelTable JoiningKernels();
KernelTable PaddingKernels();
KernelTable IndexingKernels();
KernelTable CreationKernels();
KernelTable RandomKernels();
KernelTable ConversionKernels();
KernelTable QuantizedKernels();
KernelTable QuantizedEmbeddingKernels();
KernelTable SymbolKernels();

}  // namespace xir::kernels
