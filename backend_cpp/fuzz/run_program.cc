#include "run_program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/failing_allocations.h"
#include "guarded_memory.h"
#include "xir/library.h"
#include "xir/program.h"

namespace xir::fuzz {
namespace {

constexpr uint64_t kMaxMemory = uint64_t{4} << 20;
constexpr uint64_t kMaxInstructions = 200;
// Inputs are the caller's, whose memory has no limit in the runtime.
constexpr size_t kMaxInput = size_t{4} << 20;
// The bytes behind a tensor that XNNPACK may read, and those within which the runtime copies it.
constexpr size_t kSlacks[] = {64, 0, 16};

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "the runtime broke its word: %s\n", what.c_str());
  std::abort();
}

// Fails one of the next allocations as long as it lives.
class FailingAllocation {
 public:
  explicit FailingAllocation(Draws* draws) {
    if (draws->OneIn(8)) FailAllocationAfter(draws->Below(12));
  }
  FailingAllocation(const FailingAllocation&) = delete;
  ~FailingAllocation() { FailAllocationAfter(kNoFailure); }
};

class Session {
 public:
  Session(Method* method, Draws* draws) : method_(*method), draws_(*draws) {}

  // One execution; whether it succeeded.
  bool Run() {
    lent_.clear();
    if (!draws_.OneIn(10)) SetInputs();
    if (draws_.OneIn(3)) UseBuffers();
    if (draws_.OneIn(6)) BindOutput();
    if (draws_.OneIn(24)) method_.Cancel();
    const FailingAllocation failing(&draws_);
    if (!(draws_.OneIn(8) ? method_.ExecuteProfiled().ok() : method_.Execute().ok())) return false;
    ReadOutputs();
    return true;
  }

 private:
  void SetInputs() {
    // Shapes below the bound, the same for all inputs so that they may agree.
    const uint64_t smaller = draws_.OneIn(2) ? 1 + draws_.Below(3) : 0;
    const uint64_t dim = draws_.Below(4);
    for (size_t i = 0; i < method_.num_inputs(); ++i) {
      const auto* tensor = method_.input(i).get<Tensor>();
      if (tensor == nullptr) {
        SetNumber(i);
        continue;
      }
      Shape shape = tensor->bound;
      if (smaller != 0 && tensor->resizable && dim < shape.rank) {
        shape[dim] = std::max<int64_t>(shape[dim] - static_cast<int64_t>(smaller), 0);
      }
      if (draws_.OneIn(6)) SetWrongly(i, *tensor);
      SetTensor(i, *tensor, shape);
      if (draws_.OneIn(12)) SetWrongly(i, *tensor);
    }
  }

  // Numbers were fixed when the program was made.
  void SetNumber(size_t index) {
    const Value& value = method_.input(index);
    Status same, other = Fail(Code::kInvalidArgument, "it is no number");
    if (const auto* number = value.get<int64_t>()) {
      same = method_.SetInput(index, *number);
      other = method_.SetInput(index, ~*number);
    } else if (const auto* flag = value.get<bool>()) {
      same = method_.SetInput(index, *flag);
      other = method_.SetInput(index, !*flag);
    } else if (const auto* real = value.get<double>()) {
      if (*real == *real) same = method_.SetInput(index, *real);
      other = method_.SetInput(index, *real > 0 ? -1.0 : 1.0);
    }
    if (!same.ok() || other.ok()) Die("a number may be given as it is, and only so");
  }

  void SetTensor(size_t index, const Tensor& tensor, const Shape& shape) {
    const size_t element = ElementSize(tensor.dtype);
    const auto size = static_cast<size_t>(shape.numel()) * element;
    if (size > kMaxInput) return;
    const uint8_t* data = Lend(size, element, tensor.dtype);
    const Status status =
        method_.SetInput(index, const_cast<uint8_t*>(data), size, shape, !draws_.OneIn(4));
    static_cast<void>(status);
  }

  // A shape above the bound, or memory that is too small for it, or none.
  void SetWrongly(size_t index, const Tensor& tensor) {
    Shape shape = tensor.bound;
    const size_t element = ElementSize(tensor.dtype);
    const auto whole = static_cast<size_t>(shape.numel()) * element;
    if (whole > kMaxInput) return;
    if (draws_.OneIn(3) && shape.rank > 0) {
      shape[draws_.Below(shape.rank)] += 1 + static_cast<int64_t>(draws_.Below(3));
    } else if (draws_.OneIn(3)) {
      shape.rank = draws_.Below(kMaxRank + 1);
    }
    const bool none = draws_.OneIn(2);
    const size_t size = whole / 2;
    uint8_t* data = none ? nullptr : Lend(size, element, tensor.dtype);
    const Status status = method_.SetInput(index, data, size, shape, true);
    const auto taken = static_cast<size_t>(shape.numel()) * element;
    if (status.ok() && taken > size) Die("an input larger than its memory was taken");
  }

  uint8_t* Lend(size_t size, size_t alignment, DType dtype) {
    GuardedMemory& memory =
        lent_.emplace_back(size, draws_.Of(kSlacks), std::max<size_t>(alignment, 1));
    // Integers may be indices, which are small.
    const bool index = dtype == DType::kLong || dtype == DType::kInt;
    const auto first = static_cast<uint8_t>(draws_.Below(4));
    for (size_t i = 0; i < size; ++i) {
      memory.data()[i] =
          index ? (i % alignment == 0 ? (first + i / alignment) % 4 : 0)
                : static_cast<uint8_t>(i % alignment + 1 == alignment ? 0x3F : i + first);
      if (dtype == DType::kBool) memory.data()[i] = i & 1;
    }
    return memory.data();
  }

  // Reads, writes and resets what the method keeps.
  void UseBuffers() {
    State& state = *method_.state();
    const std::vector<BufferInfo> buffers = state.buffers();
    for (const BufferInfo& buffer : buffers) {
      if (buffer.nbytes > kMaxInput) continue;
      const GuardedMemory held(buffer.nbytes, 0, 1);
      if (!state.Read(buffer.name, held.data(), buffer.nbytes).ok()) {
        Die("buffer '" + buffer.name + "' cannot be read");
      }
      if (state.Read(buffer.name, held.data(), buffer.nbytes + 1).ok()) {
        Die("buffer '" + buffer.name + "' was read with another size");
      }
      if (draws_.OneIn(2)) Overwrite(buffer, held);
    }
    if (draws_.OneIn(3)) state.Reset();
  }

  // What is written to a buffer is read back, unless another instance runs in between: none does.
  void Overwrite(const BufferInfo& buffer, const GuardedMemory& memory) {
    const auto first = static_cast<uint8_t>(draws_.Below(4));
    for (size_t i = 0; i < buffer.nbytes; ++i) {
      memory.data()[i] = static_cast<uint8_t>((first + i) % 4);
      if (buffer.dtype == DType::kBool) memory.data()[i] = i & 1;
    }
    State& state = *method_.state();
    if (!state.Write(buffer.name, memory.data(), buffer.nbytes).ok()) {
      Die("buffer '" + buffer.name + "' cannot be written");
    }
    const GuardedMemory read(buffer.nbytes, 0, 1);
    const Status status = state.Read(buffer.name, read.data(), buffer.nbytes);
    if (!status.ok() || std::memcmp(read.data(), memory.data(), buffer.nbytes) != 0) {
      Die("buffer '" + buffer.name + "' does not hold what was written to it");
    }
  }

  // Memory for an output, now and then too little of it, which stays bound.
  void BindOutput() {
    const size_t index = draws_.Below(method_.num_outputs() + 1);
    const auto* tensor =
        index < method_.num_outputs() ? method_.output(index).get<Tensor>() : nullptr;
    const size_t element = tensor == nullptr ? 1 : ElementSize(tensor->dtype);
    size_t size = tensor == nullptr ? 8 : static_cast<size_t>(tensor->bound.numel()) * element;
    if (draws_.OneIn(4)) size /= 2;
    if (size > kMaxInput) return;
    const GuardedMemory& memory = bound_.emplace_back(size, draws_.Of(kSlacks), element);
    const bool bound = method_.BindOutput(index, memory.data(), size).ok();
    if (bound && tensor == nullptr) Die("memory was bound to what is no tensor");
  }

  // Reading every byte lets a sanitizer, or a guard, see where the results are.
  void ReadOutputs() {
    unsigned sum = 0;
    for (size_t i = 0; i < method_.num_outputs(); ++i) {
      const auto* tensor = method_.output(i).get<Tensor>();
      if (tensor == nullptr || tensor->data == nullptr) continue;
      if (tensor->nbytes() > tensor->capacity)
        Die("result " + std::to_string(i) + " of shape " + tensor->shape.ToString() + " takes " +
            std::to_string(tensor->nbytes()) + " bytes, its memory " +
            std::to_string(tensor->capacity));
      for (size_t at = 0; at < tensor->nbytes(); ++at) sum += tensor->as<uint8_t>()[at];
    }
    volatile unsigned sink = sum;
    static_cast<void>(sink);
  }

  Method& method_;
  Draws& draws_;
  std::vector<GuardedMemory> lent_;
  std::deque<GuardedMemory> bound_;  // to outputs
};

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

LoadOptions Options() {
  LoadOptions options;
  options.threads = 1;
  options.max_memory = kMaxMemory;
  options.max_instructions = kMaxInstructions;
  static const std::vector<std::string> xnnpack_paths = PythonLibraryPaths();
  options.xnnpack_paths = xnnpack_paths;
  return options;
}

// Numbers in [-2, 4): some of them indices, most floats in the domain of most functions.
void FillWithSmallNumbers(const Tensor& tensor, std::vector<uint8_t>* bytes) {
  bytes->resize(tensor.nbytes());
  const auto count = static_cast<size_t>(tensor.shape.numel());
  for (size_t i = 0; i < count; ++i) {
    const auto whole = static_cast<int64_t>(i * 5 % 6) - 2;
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

}  // namespace

bool Succeeds(Bytes file) {
  auto program = Program::FromBytes(file, Options());
  if (!program.ok()) return false;
  auto loaded = program.value()->LoadMethod(program.value()->method_names().front());
  if (!loaded.ok()) return false;
  Method& method = *loaded.value();
  std::vector<std::vector<uint8_t>> inputs(method.num_inputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* tensor = method.input(i).get<Tensor>();
    if (tensor == nullptr) return false;
    FillWithSmallNumbers(*tensor, &inputs[i]);
    const Status status = method.SetInput(i, inputs[i].data(), inputs[i].size(), tensor->shape);
    if (!status.ok()) return false;
  }
  return method.Execute().ok();
}

Outcome RunProgram(Bytes file, Draws* draws) {
  Outcome outcome;
  auto loaded = [&] {
    const FailingAllocation failing(draws);
    return Program::FromBytes(file, Options());
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
    auto state = program->NewState();
    if (state.ok()) shared = std::move(state).value();
  }
  std::vector<std::unique_ptr<Method>> methods;
  for (const std::string& name : names) {
    for (uint64_t instances = 1 + draws->Below(2); instances > 0; --instances) {
      std::shared_ptr<State> state = draws->OneIn(4) ? nullptr : shared;
      // The state of some instance serves others of its method, and no other method.
      if (!methods.empty() && draws->OneIn(4)) {
        state = methods[draws->Below(methods.size())]->state();
      }
      const FailingAllocation failing(draws);
      auto method = state == nullptr ? program->LoadMethod(name) : program->LoadMethod(name, state);
      if (!method.ok()) continue;
      methods.push_back(std::move(method).value());
      if (auto metadata = program->method_metadata(name); metadata.ok()) {
        CheckState(metadata.value(), *methods.back()->state());
      }
    }
  }
  outcome.loaded = !methods.empty();
  // Methods outlive their program.
  program.reset();
  // In turns, as they share memory.
  std::deque<Session> sessions;
  for (const auto& method : methods) sessions.emplace_back(method.get(), draws);
  for (uint64_t i = 1 + draws->Below(3); i > 0; --i) {
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
