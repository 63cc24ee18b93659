// The portable kernels, by file. Names and arguments are those of ATen's out-variants.
#pragma once

#include "xir/kernel.h"

namespace xir::kernels {

// elementwise.cc
Status Add(KernelArgs args);
Status Sub(KernelArgs args);
Status Mul(KernelArgs args);
Status Div(KernelArgs args);
Status Relu(KernelArgs args);
Status Hardtanh(KernelArgs args);
Status Clamp(KernelArgs args);

// movement.cc
Status Clone(KernelArgs args);
Status CloneDimOrder(KernelArgs args);
Status ViewCopy(KernelArgs args);
Status SqueezeCopy(KernelArgs args);
Status UnsqueezeCopy(KernelArgs args);
Status PermuteCopy(KernelArgs args);
Status ExpandCopy(KernelArgs args);
Status SelectCopy(KernelArgs args);
Status SliceCopy(KernelArgs args);
Status Cat(KernelArgs args);

// convert.cc
Status ToDimOrderCopy(KernelArgs args);

// reduction.cc
Status Mean(KernelArgs args);
Status Softmax(KernelArgs args);

// matrix.cc
Status Mm(KernelArgs args);
Status AddMm(KernelArgs args);

// convolution.cc
Status Convolution(KernelArgs args);

// embedding.cc
Status Embedding(KernelArgs args);

}  // namespace xir::kernels
