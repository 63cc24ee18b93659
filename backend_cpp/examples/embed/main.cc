// Runs the method `forward` of a program on ones, with a kernel for aten::mul.out and an allocator
// of its own, and two instances of the method that share its weights.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "xir/kernel_checks.h"
#include "xir/program.h"

namespace {

using xir::DType;
using xir::Status;
using xir::Tensor;

std::atomic<int> g_calls{0};

Status Multiply(const Tensor& x, const Tensor& y, Tensor& out) {
  if (out.dtype != DType::kFloat || !xir::kernels::SameType(out, x, y) || x.shape != y.shape ||
      x.dim_order != out.dim_order || y.dim_order != out.dim_order) {
    return xir::kernels::Unsupported("other than floats of one shape and order");
  }
  XIR_RETURN_IF_ERROR(xir::kernels::ResizeResult(out, x.shape));
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.as<float>()[i] = x.as<float>()[i] * y.as<float>()[i];
  }
  ++g_calls;
  return {};
}

class Counting final : public xir::Allocator {
 public:
  void* Allocate(size_t bytes, size_t alignment) override {
    bytes_ += bytes;
    total_ += bytes;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void Release(void* memory, size_t bytes) override {
    bytes_ -= bytes;
    std::free(memory);
  }
  size_t bytes() const { return bytes_; }
  size_t total() const { return total_; }

 private:
  std::atomic<size_t> bytes_{0}, total_{0};
};

Status RunTwice(const char* path, const xir::LoadOptions& options) {
  XIR_ASSIGN_OR_RETURN(const auto program, xir::Program::Open(path, options));
  XIR_ASSIGN_OR_RETURN(const auto metadata, program->method_metadata("forward"));
  const xir::ValueInfo& input = metadata.inputs.at(0);
  std::vector<int64_t> ones(static_cast<size_t>(input.shape.numel()), 1);
  if (input.dtype != DType::kLong) {
    return xir::Fail(xir::Code::kInvalidArgument, "input 0 is no tensor of int64");
  }
  XIR_ASSIGN_OR_RETURN(const auto first, program->LoadMethod("forward"));
  XIR_ASSIGN_OR_RETURN(const auto second, program->LoadMethod("forward"));
  std::vector<float> results[2];
  for (int i = 0; i < 2; ++i) {
    xir::Method& method = i == 0 ? *first : *second;
    results[i].resize(static_cast<size_t>(metadata.outputs.at(0).shape.numel()));
    XIR_RETURN_IF_ERROR(
        method.SetInput(0, ones.data(), ones.size() * sizeof(int64_t), input.shape));
    auto bound = method.BindOutput(0, results[i].data(), results[i].size() * sizeof(float));
    if (!bound.ok()) return std::move(bound).status();
    XIR_RETURN_IF_ERROR(method.Execute());
  }
  std::printf("own kernel: %d calls, two instances give %s\n", g_calls.load(),
              results[0] == results[1] ? "the same" : "not the same");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed_cpp MODEL.pte\n");
    return 2;
  }
  auto kernels = std::make_shared<xir::KernelRegistry>();
  auto allocator = std::make_shared<Counting>();
  Status status = kernels->Add(xir::kernels::MakeKernel<Multiply>("aten::mul.out"));
  xir::LoadOptions options;
  options.threads = 1;
  options.kernels = kernels;
  options.allocator = allocator;
  if (status.ok()) status = RunTwice(argv[1], options);
  if (!status.ok()) {
    std::fprintf(stderr, "embed_cpp: error: %s\n", status.message().c_str());
    return 1;
  }
  std::printf("own allocator: %s, %zu bytes left\n", allocator->total() > 0 ? "used" : "not used",
              allocator->bytes());
  return 0;
}
