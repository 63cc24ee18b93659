#include "session.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "allocation_meter.h"
#include "disturbance.h"
#include "step_bounds.h"

namespace xir::fuzz {
namespace {

// Inputs are the caller's, whose memory has no limit in the runtime.
constexpr size_t kMaxInput = size_t{4} << 20;
// The bytes behind a tensor that XNNPACK may read, and those within which the runtime copies it.
constexpr size_t kSlacks[] = {64, 0, 16};

}  // namespace

bool Session::Run() {
  lent_.clear();
  input_bytes_ = 0;
  if (!draws_.OneIn(10)) SetInputs();
  if (draws_.OneIn(3)) UseBuffers();
  while (draws_.OneIn(3)) BindOutput();
  if (draws_.OneIn(24)) method_.Cancel();
  if (!Execute()) return false;
  ReadOutputs();
  return true;
}

bool Session::Execute() {
  const Disturbance disturbance(&method_, &draws_);
  bool succeeded = false;
  {
    const FailingAllocation failing(&draws_);
    const AllocationMeter meter;
    succeeded = draws_.OneIn(8) ? RunProfiled() : method_.Execute().ok();
    if (meter.seconds() > ExecutionBound(method_bytes_ + input_bytes_)) {
      Die("an execution of small values took " + std::to_string(meter.seconds()) + " seconds");
    }
  }
  if (!disturbance.has_happened()) return succeeded;
  if (disturbance.has_entered()) Die("a kernel used the method that ran it");
  if (disturbance.has_thrown() && succeeded) Die("a kernel threw and the execution succeeded");
  // Whatever was locked has to be free again; this would wait for ever.
  std::thread([this] { static_cast<void>(method_.Execute().ok()); }).join();
  return succeeded;
}

bool Session::RunProfiled() {
  // What describes the instructions, an event of each that ran, and a text of these that grows.
  const Bounded bounded("profiling", file_size_, /*times=*/5, kMaxMemory);
  const auto profile = method_.ExecuteProfiled();
  if (!profile.ok()) return false;
  const Span<const Profile> all(&profile.value(), 1);
  ProfileTable(all, {});
  ProfileTrace(all);
  ProfileEtdump(all);
  return true;
}

void Session::SetInputs() {
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

void Session::SetNumber(size_t index) {
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

void Session::SetTensor(size_t index, const Tensor& tensor, const Shape& shape) {
  const size_t element = ElementSize(tensor.dtype);
  const auto size = static_cast<size_t>(shape.numel()) * element;
  if (size > kMaxInput) return;
  input_bytes_ += size;
  const uint8_t* data = Lend(size, element, tensor.dtype);
  const Status status =
      method_.SetInput(index, const_cast<uint8_t*>(data), size, shape, !draws_.OneIn(4));
  static_cast<void>(status);
}

void Session::SetWrongly(size_t index, const Tensor& tensor) {
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

uint8_t* Session::Lend(size_t size, size_t alignment, DType dtype) {
  GuardedMemory& memory = NewMemory(size, std::max<size_t>(alignment, 1));
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

GuardedMemory& Session::NewMemory(size_t size, size_t alignment) {
  constexpr size_t kMostMemories = 8192;
  const size_t few = GuardedMemory::count() < kMostMemories ? 0 : std::min<size_t>(lent_.size(), 4);
  for (auto each = lent_.rbegin(); each != lent_.rbegin() + static_cast<std::ptrdiff_t>(few);
       ++each) {
    const bool aligned = reinterpret_cast<uintptr_t>(each->data()) % alignment == 0;
    if (each->size() == size && aligned) return *each;
  }
  return lent_.emplace_back(size, draws_.Of(kSlacks), alignment);
}

void Session::UseBuffers() {
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

void Session::Overwrite(const BufferInfo& buffer, const GuardedMemory& memory) {
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

void Session::BindOutput() {
  const size_t index = draws_.Below(method_.num_outputs() + 1);
  const auto* tensor =
      index < method_.num_outputs() ? method_.output(index).get<Tensor>() : nullptr;
  const size_t element = tensor == nullptr ? 1 : ElementSize(tensor->dtype);
  size_t size = tensor == nullptr ? 8 : static_cast<size_t>(tensor->bound.numel()) * element;
  if (draws_.OneIn(2)) size >>= 1 + draws_.Below(6);
  if (size > kMaxInput) return;
  const GuardedMemory& memory = bound_.emplace_back(size, draws_.Of(kSlacks), element);
  const bool bound = method_.BindOutput(index, memory.data(), size).ok();
  if (bound && tensor == nullptr) Die("memory was bound to what is no tensor");
}

void Session::ReadOutputs() {
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

}  // namespace xir::fuzz
