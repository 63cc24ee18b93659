// A kernel of one's own, for the operator demo::axpy(Tensor x, Tensor y, float alpha) -> Tensor.
#include <algorithm>

#include "xir/kernel_checks.h"
#include "xir/kernel_library.h"

namespace {

using namespace xir::kernels;
using xir::DType;
using xir::Status;
using xir::Tensor;

// out = alpha · x + y
Status Axpy(xir::KernelContext& context, const Tensor& x, const Tensor& y, double alpha,
            Tensor& out) {
  if (out.dtype != DType::kFloat || !SameType(out, x, y)) return Unsupported("other than float32");
  if (x.shape != y.shape) return Mismatch(x.shape, y.shape);
  if (!x.is_contiguous() || !y.is_contiguous() || !out.is_contiguous()) {
    return Unsupported("a memory order other than the dimensions'");
  }
  XIR_RETURN_IF_ERROR(ResizeResult(out, x.shape));

  constexpr int64_t kBlock = 16384;  // elements, enough work to hand to a thread
  const int64_t count = out.numel();
  const auto blocks = static_cast<size_t>((count + kBlock - 1) / kBlock);
  context.ParallelFor(blocks, [&](size_t block) {
    const int64_t first = static_cast<int64_t>(block) * kBlock;
    const int64_t last = std::min(first + kBlock, count);
    for (int64_t i = first; i < last; ++i) {
      out.as<float>()[i] = static_cast<float>(alpha) * x.as<float>()[i] + y.as<float>()[i];
    }
  });
  return {};
}

constexpr xir::TypedKernel kKernels[] = {MakeKernel<Axpy>("demo::axpy")};

}  // namespace

XIR_KERNEL_LIBRARY(kKernels)
