#include "exercise.h"

#include <cstdlib>
#include <memory>
#include <vector>

#include "xir/library.h"
#include "xir/program.h"

namespace xir::testing {
namespace {

// Runs the method on ones. With `profile` it is made a profile of as well, in every form.
Status RunOnOnes(Method* method, bool profile) {
  std::vector<std::vector<uint8_t>> inputs(method->num_inputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* tensor = method->input(i).get<Tensor>();
    if (tensor == nullptr) continue;
    // Wide integers may be indices, which are small.
    const bool index = tensor->dtype == DType::kLong || tensor->dtype == DType::kInt;
    inputs[i].assign(static_cast<size_t>(tensor->bound.numel()) * ElementSize(tensor->dtype),
                     index ? 0 : 1);
    // An empty vector has no address to lend.
    if (inputs[i].empty()) inputs[i].reserve(1);
    XIR_RETURN_IF_ERROR(method->SetInput(i, inputs[i].data(), inputs[i].size(), tensor->bound));
  }
  if (profile) {
    XIR_ASSIGN_OR_RETURN(const Profile measured, method->ExecuteProfiled());
    const Span<const Profile> executions(&measured, 1);
    static_cast<void>(ProfileTable(executions, {}));
    static_cast<void>(ProfileTrace(executions));
    static_cast<void>(ProfileEtdump(executions));
  } else {
    XIR_RETURN_IF_ERROR(method->Execute());
  }
  // Reading every byte of the results lets a sanitizer see where they are.
  unsigned sum = 0;
  for (size_t i = 0; i < method->num_outputs(); ++i) {
    const auto* tensor = method->output(i).get<Tensor>();
    if (tensor == nullptr || tensor->data == nullptr) continue;
    for (size_t b = 0; b < tensor->nbytes(); ++b) sum += tensor->as<uint8_t>()[b];
  }
  volatile unsigned sink = sum;
  static_cast<void>(sink);
  return {};
}

// Runs all methods on one state, if they can share one, and writes back what each buffer holds.
Status ShareState(const Program& program) {
  const auto state = program.NewState();
  if (!state.ok()) return {};
  for (const std::string& name : program.method_names()) {
    XIR_ASSIGN_OR_RETURN(const auto method, program.LoadMethod(name, state.value()));
    XIR_RETURN_IF_ERROR(RunOnOnes(method.get(), /*profile=*/false));
  }
  for (const BufferInfo& info : state.value()->buffers()) {
    std::vector<uint8_t> held(info.nbytes + 1);
    XIR_RETURN_IF_ERROR(state.value()->Read(info.name, held.data(), info.nbytes));
    XIR_RETURN_IF_ERROR(state.value()->Write(info.name, held.data(), info.nbytes));
  }
  state.value()->Reset();
  return {};
}

}  // namespace

Status Exercise(Bytes bytes, uint64_t max_memory) {
  LoadOptions options;
  options.xnnpack_paths = PythonLibraryPaths();
  options.threads = 1;
  options.max_memory = max_memory;
  options.max_instructions = 100'000;
  XIR_ASSIGN_OR_RETURN(const auto program, Program::FromBytes(bytes, options));
  for (const std::string& name : program->method_names()) {
    XIR_ASSIGN_OR_RETURN(const auto method, program->LoadMethod(name));
    XIR_RETURN_IF_ERROR(RunOnOnes(method.get(), /*profile=*/false));
    XIR_RETURN_IF_ERROR(RunOnOnes(method.get(), /*profile=*/true));
  }
  return ShareState(*program);
}

}  // namespace xir::testing
