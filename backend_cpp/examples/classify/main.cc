// Runs the method `forward` of a program on ones, and prints which number of its first output is
// the largest. The second argument names the library that holds XNNPACK.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "xir/program.h"

namespace {

xir::Status Classify(const char* path, const char* xnnpack) {
  xir::LoadOptions options;
  options.xnnpack_paths = {xnnpack};
  XIR_ASSIGN_OR_RETURN(const auto program, xir::Program::Open(path, options));
  XIR_ASSIGN_OR_RETURN(const auto method, program->LoadMethod("forward"));
  const auto* declared = method->input(0).get<xir::Tensor>();
  if (declared == nullptr || declared->dtype != xir::DType::kFloat) {
    return xir::Fail(xir::Code::kInvalidArgument, "input 0 is no tensor of floats");
  }
  std::vector<float> pixels(static_cast<size_t>(declared->numel()), 1.0f);
  XIR_RETURN_IF_ERROR(
      method->SetInput(0, pixels.data(), pixels.size() * sizeof(float), declared->shape));
  XIR_RETURN_IF_ERROR(method->Execute());

  const auto* scores = method->output(0).get<xir::Tensor>();
  if (scores == nullptr || scores->dtype != xir::DType::kFloat || scores->numel() == 0) {
    return xir::Fail(xir::Code::kInvalidArgument, "output 0 has no floats");
  }
  const float* first = scores->as<float>();
  const float* largest = std::max_element(first, first + scores->numel());
  std::printf("class %td: %g\n", largest - first, static_cast<double>(*largest));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: classify MODEL.pte libexecutorch_backend_xnnpack.so\n");
    return 2;
  }
  const xir::Status status = Classify(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "classify: error: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
