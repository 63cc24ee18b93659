#include "run_program.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/digest.h"
#include "counted_kernels.h"
#include "packed_weights_files.h"
#include "program_file.h"
#include "session.h"
#include "step_bounds.h"
#include "xir/library.h"
#include "xir/program.h"

namespace xir::fuzz {
namespace {

// That all that the method keeps is in the state that it was loaded with.
void CheckState(const MethodMetadata& metadata, const State& state) {
  const std::vector<BufferInfo> held = state.buffers();
  for (const BufferInfo& buffer : metadata.buffers) {
    const bool found = std::any_of(held.begin(), held.end(), [&](const BufferInfo& each) {
      return each.name == buffer.name && each.nbytes == buffer.nbytes;
    });
    if (!found) Die("buffer '" + buffer.name + "' is not in the method's state");
  }
}

// What a run does besides, drawn from the file's bytes.
struct Manners {
  explicit Manners(Bytes file) : random(Digest(file, 0)) {
    fallback = random() % 4 != 0;
    // What has no weights packs none.
    packed = random() % (ConstantsOfDelegates(file).empty() ? 16 : 2) == 0;
    grown = packed && random() % 4 == 0;
    damaged = packed && random() % 2 == 0;
    truncated = packed && !damaged && random() % 2 == 0;
  }
  std::mt19937_64 random;
  bool fallback, packed, grown, damaged, truncated;
};

LoadOptions Options() {
  LoadOptions options;
  options.threads = 1;
  options.max_memory = kMaxMemory;
  options.max_instructions = kMaxInstructions;
  static const std::vector<std::string> xnnpack_paths = PythonLibraryPaths();
  options.xnnpack_paths = xnnpack_paths;
  options.kernels = CountedKernels();
  return options;
}

// Numbers in [-2, 4), most floats in the domain of most functions; or 0 and 1, which index any
// table of two rows.
void FillWithSmallNumbers(const Tensor& tensor, bool are_indices, std::vector<uint8_t>* bytes) {
  bytes->resize(tensor.nbytes());
  const auto count = static_cast<size_t>(tensor.shape.numel());
  for (size_t i = 0; i < count; ++i) {
    const auto whole =
        are_indices ? static_cast<int64_t>(i % 2) : static_cast<int64_t>(i * 5 % 6) - 2;
    const auto number = static_cast<float>(whole) + 0.25F;
    if (tensor.dtype == DType::kFloat) {
      std::memcpy(bytes->data() + i * sizeof(number), &number, sizeof(number));
    } else if (tensor.dtype == DType::kDouble) {
      const double wide = number;
      std::memcpy(bytes->data() + i * sizeof(wide), &wide, sizeof(wide));
    } else if (tensor.dtype == DType::kLong || tensor.dtype == DType::kInt) {
      const size_t size = ElementSize(tensor.dtype);
      std::memcpy(bytes->data() + i * size, &whole, size);  // little-endian
    } else if (tensor.dtype == DType::kBool) {
      (*bytes)[i] = i % 2;
    }
  }
}

bool SucceedsWith(Bytes file, bool are_indices) {
  auto program = Program::FromBytes(file, Options());
  if (!program.ok()) return false;
  auto loaded = program.value()->LoadMethod(program.value()->method_names().front());
  if (!loaded.ok()) return false;
  Method& method = *loaded.value();
  std::vector<std::vector<uint8_t>> inputs(method.num_inputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* tensor = method.input(i).get<Tensor>();
    if (tensor == nullptr) return false;
    FillWithSmallNumbers(*tensor, are_indices, &inputs[i]);
    const Status status = method.SetInput(i, inputs[i].data(), inputs[i].size(), tensor->shape);
    if (!status.ok()) return false;
  }
  return method.Execute().ok();
}

}  // namespace

bool Succeeds(Bytes file) {
  return SucceedsWith(file, /*are_indices=*/false) || SucceedsWith(file, /*are_indices=*/true);
}

Outcome RunProgram(Bytes file, Draws* draws) {
  Outcome outcome;
  Manners manners(file);
  LoadOptions options = Options();
  // XNNPACK is bound, and its small graph computed, once for all programs.
  static const auto pool = ThreadPool::Shared(1, options.xnnpack_paths);
  if (manners.fallback) options.fallback = Fallback;
  if (manners.packed) {
    options.packed_weights = PackedPath();
    KeepPacked(file, options, manners.grown, manners.damaged, &manners.random);
  }
  auto loaded = [&] {
    const FailingAllocation failing(draws);
    const Bounded bounded("loading", file.size());
    return Program::FromBytes(file, options);
  }();
  if (!loaded.ok()) {
    if (std::move(loaded).status().message().empty()) Die("a refusal without a reason");
    return outcome;
  }
  std::shared_ptr<const Program> program = std::move(loaded).value();
  const std::vector<std::string> names = program->method_names();
  std::shared_ptr<State> shared;
  if (draws->OneIn(2)) {
    const FailingAllocation failing(draws);
    const Bounded bounded("the state of", file.size());
    auto state = program->NewState();
    if (state.ok()) shared = std::move(state).value();
  }
  std::vector<std::unique_ptr<Method>> methods;
  std::vector<uint64_t> method_bytes;
  for (const std::string& name : names) {
    // A method that cannot be loaded is described as well.
    const auto metadata = [&] {
      const Bounded bounded("describing a method of", file.size());
      return program->method_metadata(name);
    }();
    for (uint64_t instances = 1 + draws->Below(2); instances > 0; --instances) {
      std::shared_ptr<State> state = draws->OneIn(4) ? nullptr : shared;
      // The state of some instance serves others of its method, and no other method.
      if (!methods.empty() && draws->OneIn(4)) {
        state = methods[draws->Below(methods.size())]->state();
      }
      auto method = [&] {
        const FailingAllocation failing(draws);
        const Bounded bounded("loading a method of", file.size());
        return state == nullptr ? program->LoadMethod(name) : program->LoadMethod(name, state);
      }();
      if (!method.ok()) continue;
      methods.push_back(std::move(method).value());
      method_bytes.push_back(file.size());
      if (metadata.ok()) {
        CheckState(metadata.value(), *methods.back()->state());
        method_bytes.back() += metadata.value().arena_bytes;
      }
    }
  }
  outcome.loaded = !methods.empty();
  // Methods outlive their program.
  program.reset();
  // In turns, as they share memory.
  std::deque<Session> sessions;
  for (size_t i = 0; i < methods.size(); ++i) {
    sessions.emplace_back(methods[i].get(), draws, file.size(), method_bytes[i]);
  }
  const off_t left = manners.random() % 2 == 0 ? 0 : 100;
  const uint64_t rounds = 1 + draws->Below(3), before = manners.random() % 2;
  for (uint64_t i = 0; i < rounds; ++i) {
    if (manners.truncated && i == before) TruncatePackedFile(left);
    for (Session& session : sessions) outcome.executions += session.Run() ? 1 : 0;
  }
  for (const auto& method : methods) {
    if (method->num_inputs() > 0 && method->SetInput(method->num_inputs(), int64_t{1}).ok()) {
      Die("an input that does not exist was taken");
    }
  }
  return outcome;
}

}  // namespace xir::fuzz
