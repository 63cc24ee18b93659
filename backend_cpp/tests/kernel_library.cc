// A library of kernels and a backend for kernel_registry_test.cc and backend_test.cc.
// XIR_TEST_ABI_VERSION makes it one of another version of the interface.
#include "xir/kernel_library.h"

#include "xir/kernel_checks.h"

namespace {

using namespace xir;
using namespace xir::kernels;

// x · y of floats of one shape, and 1 more, which tells it from aten::mul.out.
Status ProductAndOne(KernelContext& context, const Tensor& x, const Tensor& y, Tensor& out) {
  if (x.shape != y.shape) return Mismatch(x.shape, y.shape);
  XIR_RETURN_IF_ERROR(ResizeResult(out, x.shape));
  context.ParallelFor(static_cast<size_t>(out.numel()), [&](size_t i) {
    out.as<float>()[i] = x.as<float>()[i] * y.as<float>()[i] + 1;
  });
  return {};
}

constexpr TypedKernel kKernels[] = {MakeKernel<ProductAndOne>("test::product_and_one.out"),
                                    MakeKernel<ProductAndOne>("aten::mul.out")};

struct RefusingBackend final : Backend {
  explicit RefusingBackend(const BackendOptions&) {}

  Result<std::unique_ptr<const DelegatePlan>> Prepare(const DelegateData& data) override {
    XIR_RETURN_IF_ERROR(data.Charge(1));
    return Fail(Code::kUnsupported, "this backend refuses everything");
  }
  Result<std::vector<std::unique_ptr<Delegate>>> Instantiate(Span<const PlannedDelegate>,
                                                             bool) override {
    return Fail(Code::kInternal, "there is nothing to instantiate");
  }
};

constexpr TypedBackend kBackends[] = {MakeBackend<RefusingBackend>("RefusingBackend")};

}  // namespace

#ifndef XIR_TEST_ABI_VERSION
XIR_LIBRARY(kKernels, kBackends)
#else
extern "C" __attribute__((visibility("default"))) const KernelLibrary* xir_kernel_library() {
  static KernelLibrary library{kKernelAbi, kKernels, 2, kBackends, 1};
  library.abi.version = XIR_TEST_ABI_VERSION;
  return &library;
}
#endif
