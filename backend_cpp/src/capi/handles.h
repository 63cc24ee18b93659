// What the C interface's handles are, and how failures reach its callers.
#pragma once

#include <memory>
#include <string>

#include "core/guard.h"
#include "xir/kernel_registry.h"
#include "xir/program.h"
#include "xir/xir.h"

struct xir_program {
  std::shared_ptr<const xir::Program> program;
  std::vector<std::string> names;
};
struct xir_method {
  std::unique_ptr<xir::Method> method;
};
struct xir_state {
  std::shared_ptr<xir::State> state;
  std::vector<xir::BufferInfo> buffers;
};
struct xir_kernels {
  std::shared_ptr<xir::KernelRegistry> registry;
  std::vector<std::string> names;  // the registry's
};
struct xir_profile {
  std::vector<xir::Profile> executions;
  std::string rendered;
};
struct xir_thread_pool {
  std::shared_ptr<xir::ThreadPool> pool;
};
struct xir_call {
  xir::KernelContext* context = nullptr;
  xir::KernelArgs args;
  std::string message;
  xir::Status thrown;  // what may not pass through the kernel, which is C
};

namespace xir::capi {

// Keeps the message for xir_error_message, and returns the code.
xir_code Report(const Status& status);
xir_code ReportNull(const char* what);

// call(), which returns a code; what it throws is reported. Nothing is thrown into C.
template <typename Call>
xir_code Reported(const Call& call) {
  try {
    return call();
  }
  XIR_RETHROW_CANCELLATION
  catch (...) {
    return Report(StatusOfException());
  }
}

// The failure that a code of the C interface stands for.
Code CodeOf(xir_code code);

// The source, or the options, that a caller has filled in. Null options are the defaults.
Result<Source> MakeSource(const xir_source& from);
Result<LoadOptions> MakeOptions(const xir_options* given);

Result<Shape> MakeShape(const int64_t* sizes, size_t rank);
xir_tensor Describe(const Tensor& tensor);

// Fails for null arguments by their names.
#define XIR_REQUIRE(argument) \
  if ((argument) == nullptr) return ::xir::capi::ReportNull(#argument)

}  // namespace xir::capi
