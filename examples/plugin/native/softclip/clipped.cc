// The kernel of softclip::clipped(Tensor self, float limit) -> Tensor.
#include <algorithm>
#include <cmath>
#include <vector>

#include "xir/kernel_checks.h"
#include "xir/kernel_library.h"

namespace {

using namespace xir::kernels;
using xir::DType;
using xir::Status;
using xir::Tensor;

// The share of elements beyond the limit, which is 0 of none.
Status Clipped(xir::KernelContext& context, const Tensor& self, double limit, Tensor& out) {
  if (self.dtype != DType::kFloat || out.dtype != DType::kFloat) {
    return Unsupported("other than float32");
  }
  XIR_RETURN_IF_ERROR(ResizeResult(out, MakeShape({})));
  constexpr int64_t kBlock = 16384;  // elements, enough work to hand to a thread
  const int64_t count = self.numel();
  const auto blocks = static_cast<size_t>((count + kBlock - 1) / kBlock);
  std::vector<int64_t> beyond(blocks);
  context.ParallelFor(blocks, [&](size_t block) {
    const int64_t first = static_cast<int64_t>(block) * kBlock;
    const int64_t last = std::min(first + kBlock, count);
    const auto* elements = self.as<float>();
    beyond[block] = std::count_if(elements + first, elements + last,
                                  [&](float x) { return std::fabs(x) > limit; });
  });
  int64_t total = 0;
  for (const int64_t each : beyond) total += each;
  *out.as<float>() = count == 0 ? 0 : static_cast<float>(total) / static_cast<float>(count);
  return {};
}

constexpr xir::TypedKernel kKernels[] = {MakeKernel<Clipped>("softclip::clipped.out")};

}  // namespace

XIR_KERNEL_LIBRARY(kKernels)
