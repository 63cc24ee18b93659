#include "run_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "allocation_meter.h"
#include "core/digest.h"
#include "core/failing_allocations.h"
#include "disturbance.h"
#include "guarded_memory.h"
#include "kernels/registry.h"
#include "program_file.h"
#include "verify/work_budget.h"
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

// What loading a file of this size may take of memory, beside what it asks for by its sizes. A
// vector that grows has twice what it needs, and half as much for a moment.
uint64_t MemoryBound(size_t file_size) {
  return 3 * (WorkBudget::kFree + WorkBudget::kPerByte * uint64_t{file_size}) / 2;
}

// The same in seconds, under sanitizers, on a processor with other things to do.
double TimeBound(size_t file_size) { return 0.5 + 2e-6 * static_cast<double>(file_size); }

// Of an execution: so many instructions, each of which may look at all pairs of bytes. What small
// programs compute is over at once.
double ExecutionBound(uint64_t nbytes) {
  const auto pairs = static_cast<double>(nbytes) * static_cast<double>(nbytes);
  return 1 + kMaxInstructions * 1e-8 * pairs;
}

// Looks at what a step takes as long as it lives.
class Bounded {
 public:
  // `times` is how often it may do what loading does, `more_memory` what the caller may ask for.
  Bounded(const char* step, size_t file_size, uint64_t times = 1, uint64_t more_memory = 0)
      : step_(step), file_size_(file_size), times_(times), more_memory_(more_memory) {}
  Bounded(const Bounded&) = delete;
  ~Bounded() {
    if (const uint64_t peak = meter_.peak();
        peak > times_ * MemoryBound(file_size_) + more_memory_) {
      Die(std::string(step_) + " a file of " + std::to_string(file_size_) + " bytes took " +
          std::to_string(peak) + " bytes of memory");
    }
    if (const double taken = meter_.seconds();
        taken > static_cast<double>(times_) * TimeBound(file_size_)) {
      Die(std::string(step_) + " a file of " + std::to_string(file_size_) + " bytes took " +
          std::to_string(taken) + " seconds");
    }
  }

 private:
  const char* step_;
  size_t file_size_;
  uint64_t times_, more_memory_;
  AllocationMeter meter_;
};

class Session {
 public:
  // `nbytes` is what the method plans and the file has.
  Session(Method* method, Draws* draws, size_t file_size, uint64_t nbytes)
      : method_(*method), draws_(*draws), file_size_(file_size), method_bytes_(nbytes) {}

  // One execution; whether it succeeded.
  bool Run() {
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

 private:
  bool Execute() {
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

  // The profile, its texts, and what kernels take besides.
  bool RunProfiled() {
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
    input_bytes_ += size;
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

  // Of very many inputs some lie in one memory.
  GuardedMemory& NewMemory(size_t size, size_t alignment) {
    constexpr size_t kMostMemories = 8192;
    const size_t few =
        GuardedMemory::count() < kMostMemories ? 0 : std::min<size_t>(lent_.size(), 4);
    for (auto each = lent_.rbegin(); each != lent_.rbegin() + static_cast<std::ptrdiff_t>(few);
         ++each) {
      const bool aligned = reinterpret_cast<uintptr_t>(each->data()) % alignment == 0;
      if (each->size() == size && aligned) return *each;
    }
    return lent_.emplace_back(size, draws_.Of(kSlacks), alignment);
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

  // Memory for an output, often less than its largest shape takes, which stays bound.
  void BindOutput() {
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
  const size_t file_size_;
  const uint64_t method_bytes_;
  uint64_t input_bytes_ = 0;
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

// How often each portable kernel has succeeded.
std::map<std::string_view, size_t>& Successes() {
  static std::map<std::string_view, size_t> successes;
  return successes;
}

// The portable kernels, counted.
std::shared_ptr<const KernelRegistry> CountedKernels() {
  static const std::shared_ptr<const KernelRegistry> kernels = [] {
    auto registry = std::make_shared<KernelRegistry>();
    for (const std::string_view name : PortableKernelNames()) {
      const TypedKernel& portable = *FindPortableKernel(name);
      RegisteredKernel counted(portable);
      counted.run = [run = portable.run, count = &Successes()[name]](KernelContext& context,
                                                                     KernelArgs args) {
        Disturbance::OfKernel();
        Status status = run(context, args);
        if (status.ok()) ++*count;
        return status;
      };
      if (!registry->Add(std::string(name), std::move(counted)).ok()) Die("a kernel has two names");
    }
    return registry;
  }();
  return kernels;
}

// Takes any call, as torch does: reads the tensors, and writes the last as far as it has memory.
Kernel Fallback(std::string_view) {
  return [](KernelContext&, KernelArgs args) -> Status {
    Disturbance::OfKernel();
    Tensor* last = nullptr;
    unsigned sum = 0;
    std::unordered_set<const Tensor*> read;  // one may be an argument many times
    for (Value* value : args) {
      auto* tensor = value->get<Tensor>();
      if (tensor == nullptr || tensor->data == nullptr) continue;
      last = tensor;
      if (!read.insert(tensor).second) continue;
      const size_t nbytes = tensor->nbytes();
      if (nbytes > tensor->capacity) Die("a kernel was given less memory than a shape takes");
      for (size_t i = 0; i < nbytes; ++i) sum += tensor->as<uint8_t>()[i];
    }
    if (last == nullptr || !last->writable) return Fail(Code::kUnsupported, "no result");
    XIR_RETURN_IF_ERROR(last->Resize(last->bound));
    if (last->nbytes() > last->capacity) Die("a result was given more than its memory");
    std::memset(last->data, static_cast<int>(sum & 1), last->nbytes());
    return {};
  };
}

// A file for packed weights that is this process's, and goes with it.
const std::string& PackedPath() {
  static const struct Path {
    Path() { unlink(text.c_str()); }
    ~Path() { unlink(text.c_str()); }
    const std::string text = (std::filesystem::temp_directory_path() /
                              ("xir_fuzz_" + std::to_string(getpid()) + ".packed"))
                                 .string();
  } path;
  return path.text;
}

// Changes some bytes of the packed file, mostly of its tables, or cuts it. Then its digests are
// made right again, as somebody would who means harm (offsets as packed_file.cc has them).
void DamagePackedFile(Draws* draws) {
  std::ifstream stream(PackedPath(), std::ios::binary);
  std::vector<char> file((std::istreambuf_iterator<char>(stream)), {});
  stream.close();
  constexpr size_t kHeader = 64;
  if (file.size() < kHeader) return;
  for (uint64_t i = 1 + draws->Below(4); i > 0; --i) {
    const uint64_t at = draws->Below(draws->OneIn(4) ? file.size() : 256) % file.size() / 8 * 8;
    const uint64_t number = OddNumber(draws);
    std::memcpy(file.data() + at, &number, std::min<size_t>(sizeof(number), file.size() - at));
  }
  const auto word = [&](size_t at) {
    uint64_t value;
    std::memcpy(&value, file.data() + at, sizeof(value));
    return value;
  };
  const uint64_t graphs = word(16), weights = word(24);
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  if (graphs < 1000 && weights < 1000 && kHeader + graphs * 16 + weights * 32 <= file.size()) {
    const uint64_t head = Digest(Bytes(bytes, kHeader - 8), 0);
    const uint64_t tables = Digest(Bytes(bytes + kHeader, graphs * 16 + weights * 32), head);
    std::memcpy(file.data() + kHeader - 8, &tables, sizeof(tables));
  }
  if (draws->OneIn(4)) file.resize(draws->Below(file.size()));
  // The time stays, so that a seal holds.
  struct stat info {};
  stat(PackedPath().c_str(), &info);
  std::ofstream(PackedPath(), std::ios::binary)
      .write(file.data(), static_cast<std::streamsize>(file.size()));
  const timespec times[] = {info.st_atim, info.st_mtim};
  utimensat(AT_FDCWD, PackedPath().c_str(), times, 0);
}

// Programs that pack nothing have no such file.
void TruncatePackedFile(off_t left) {
  if (truncate(PackedPath().c_str(), left) != 0 && errno != ENOENT) std::perror("truncate");
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

}  // namespace

namespace {

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

std::vector<std::string> KernelsWithoutSuccess() {
  std::vector<std::string> names;
  CountedKernels();
  for (const auto& [name, count] : Successes()) {
    if (count == 0) names.emplace_back(name);
  }
  return names;
}

namespace {

// Loads a program, which packs its weights.
void Pack(Bytes file, const LoadOptions& options) {
  const auto program = Program::FromBytes(file, options);
  if (!program.ok()) return;
  for (const std::string& name : program.value()->method_names()) {
    if (!program.value()->LoadMethod(name).ok()) break;
  }
}

uint64_t PackedFileSize() {
  struct stat info {};
  return stat(PackedPath().c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

// The program with other weights.
std::vector<uint8_t> Version(Bytes file, uint8_t number) {
  std::vector<uint8_t> version(file.begin(), file.end());
  for (const Extent& constants : ConstantsOfDelegates(file)) {
    uint8_t& last = version[constants.offset + constants.size - 1];
    last = static_cast<uint8_t>(last + number);
  }
  return version;
}

// A file that may keep nothing else than the program's own weights, and versions of the program:
// as it is with the last of them, it was with the first.
void KeepVersions(Bytes file, LoadOptions options) {
  options.packed_weights_limit = 1;
  uint64_t largest = 0;
  for (uint8_t i = 0; i < 6; ++i) {
    unlink(PackedPath().c_str());
    const std::vector<uint8_t> version = Version(file, i);
    Pack(Bytes(version.data(), version.size()), options);
    largest = std::max(largest, PackedFileSize());
  }
  for (uint8_t i = 0; i < 6; ++i) {
    const std::vector<uint8_t> version = Version(file, i);
    Pack(Bytes(version.data(), version.size()), options);
    if (PackedFileSize() > largest) {
      Die("the packed file has " + std::to_string(PackedFileSize()) +
          " bytes, and the weights of one program " + std::to_string(largest));
    }
  }
}

// Has a packed file of a program, or of what became of it.
void KeepPacked(Bytes file, const LoadOptions& options, bool grown, bool damaged,
                std::mt19937_64* random) {
  unlink(PackedPath().c_str());
  Pack(file, options);
  if (grown && PackedFileSize() > 0) KeepVersions(file, options);
  if (!damaged) return;
  std::vector<uint8_t> numbers(64);
  for (uint8_t& number : numbers) number = static_cast<uint8_t>((*random)() >> 56);
  Draws draws(Bytes(numbers.data(), numbers.size()));
  DamagePackedFile(&draws);
}

}  // namespace

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
