// The tables of kernels, one a file. registry.cc joins them.
#pragma once

#include "xir/kernel.h"
#include "xir/span.h"

namespace xir::kernels {

using KernelTable = Span<const TypedKernel>;

template <size_t N>
constexpr KernelTable TableOf(const TypedKernel (&rows)[N]) {
  return KernelTable(rows, N);
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
