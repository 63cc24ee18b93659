// A library to preload (LD_PRELOAD), with which XNNPACK takes the processor for one with
// AVX512-FP16: it sets what cpuinfo found, and computes the instructions that the processor refuses
// when they are reached. For Linux on a processor with AVX-512. Environment:
//
// - AVX512_FP16_CPUINFO: the libraries that hold a cpuinfo, separated by colons. The wheel's
//   libexecutorch_threadpool.so has one and PyTorch's libc10.so another: XNNPACK asks PyTorch's
//   where PyTorch loads it, as `import executorch.kernels.quantized` does;
// - AVX512_FP16_RECIPROCALS: `lowest` or `highest`, what VRCPPH may give at most away from the
//   nearest half;
// - AVX512_FP16_COUNT: a file that a line is added to at exit, the number of computed instructions.
#include <cpuid.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "avx512_fp16/arithmetic.h"
#include "avx512_fp16/instruction.h"

namespace xir::testing {
namespace {

// Of struct cpuinfo_x86_isa (include/cpuinfo.h of pytorch/cpuinfo).
constexpr size_t kOffsetOfFp16 = 0x2B;

// Components of the state that XSAVE saves: bits of XSTATE_BV, and sub-leaves of CPUID leaf 0DH.
enum Component { kSse = 1, kAvx = 2, kOpmask = 5, kZmmHigh = 6, kZmm16 = 7 };

Reciprocals g_reciprocals = Reciprocals::kNearest;
size_t g_offsets[8];
std::atomic<uint64_t> g_computed{0};
struct sigaction g_before;

void Write(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

[[noreturn]] void Fail(const char* why) {
  Write("avx512_fp16: ");
  Write(why);
  Write("\n");
  std::abort();
}

size_t OffsetOf(Component component) {
  unsigned size;
  unsigned offset;
  unsigned c;
  unsigned d;
  if (__get_cpuid_count(0xD, component, &size, &offset, &c, &d) == 0 || size == 0)
    Fail("the processor has no AVX-512");
  return offset;
}

// What a signal interrupted, to be read and changed.
class State {
 public:
  explicit State(ucontext_t* context)
      : context_(context), area_(reinterpret_cast<uint8_t*>(context->uc_mcontext.fpregs)) {
    for (const Component component : {kSse, kAvx, kOpmask, kZmmHigh, kZmm16}) Initialize(component);
  }

  uint16_t Half(int number, int lane) const {
    uint16_t half;
    std::memcpy(&half, Lane(number, lane), sizeof half);
    return half;
  }

  void SetHalf(int number, int lane, uint16_t half) {
    std::memcpy(Lane(number, lane), &half, sizeof half);
  }

  uint64_t Mask(int number) const {
    uint64_t mask;
    std::memcpy(&mask, area_ + g_offsets[kOpmask] + number * sizeof mask, sizeof mask);
    return mask;
  }

  void SetMask(int number, uint64_t mask) {
    std::memcpy(area_ + g_offsets[kOpmask] + number * sizeof mask, &mask, sizeof mask);
  }

  int64_t Register(int number) const {
    static constexpr int kNames[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                     REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15};
    return number < 0 ? 0 : context_->uc_mcontext.gregs[kNames[number]];
  }

  int64_t next() const { return context_->uc_mcontext.gregs[REG_RIP]; }
  void Skip(size_t bytes) { context_->uc_mcontext.gregs[REG_RIP] += static_cast<int64_t>(bytes); }

 private:
  // A component that is as at a reset need not be in memory.
  void Initialize(Component component) {
    uint64_t present;
    std::memcpy(&present, area_ + 512, sizeof present);
    if ((present >> component & 1) != 0) return;
    static constexpr size_t kSizes[] = {0, 256, 256, 0, 0, 64, 512, 1024};
    std::memset(area_ + (component == kSse ? 160 : g_offsets[component]), 0, kSizes[component]);
    present |= uint64_t{1} << component;
    std::memcpy(area_ + 512, &present, sizeof present);
  }

  // A register's bytes are in three places: 16 with SSE, 16 with AVX, 32 with AVX-512; of registers
  // from 16 on in one.
  uint8_t* Lane(int number, int lane) const {
    const int byte = lane * 2;
    if (number >= 16) return area_ + g_offsets[kZmm16] + (number - 16) * 64 + byte;
    if (byte < 16) return area_ + 160 + number * 16 + byte;
    if (byte < 32) return area_ + g_offsets[kAvx] + number * 16 + byte - 16;
    return area_ + g_offsets[kZmmHigh] + number * 32 + byte - 32;
  }

  ucontext_t* context_;
  uint8_t* area_;
};

void Execute(const Instruction& instruction, State& state) {
  const uint8_t* memory = nullptr;
  if (instruction.in_memory) {
    const int64_t origin = instruction.relative
                               ? state.next() + static_cast<int64_t>(instruction.length)
                               : state.Register(instruction.base);
    memory = reinterpret_cast<const uint8_t*>(
        origin + state.Register(instruction.index) * instruction.scale + instruction.displacement);
  }
  const uint64_t mask = instruction.mask == 0 ? ~uint64_t{0} : state.Mask(instruction.mask);
  const bool compares = instruction.operation == Operation::kCompare;
  uint16_t results[32];
  for (int lane = 0; lane < instruction.lanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;  // memory of such a lane is not read
    uint16_t sources[3] = {compares ? uint16_t{0} : state.Half(instruction.destination, lane),
                           state.Half(instruction.first, lane), 0};
    if (memory == nullptr) {
      sources[2] = state.Half(instruction.second, lane);
    } else {
      std::memcpy(&sources[2], memory + (instruction.broadcast ? 0 : lane * 2), sizeof sources[2]);
    }
    results[lane] = Compute(instruction, sources, g_reciprocals);
  }
  if (compares) {
    uint64_t found = 0;
    for (int lane = 0; lane < instruction.lanes; ++lane) {
      if ((mask >> lane & 1) != 0 && results[lane] != 0) found |= uint64_t{1} << lane;
    }
    return state.SetMask(instruction.destination, found);
  }
  for (int lane = 0; lane < instruction.lanes; ++lane) {
    if ((mask >> lane & 1) != 0) {
      state.SetHalf(instruction.destination, lane, results[lane]);
    } else if (instruction.zeroing) {
      state.SetHalf(instruction.destination, lane, 0);
    }
  }
  // What lies above: of a scalar the rest of 128 bits is the first source's, and from the vector's
  // end on there are zeros.
  int end = instruction.lanes;
  for (; instruction.lanes == 1 && end < 8; ++end) {
    state.SetHalf(instruction.destination, end, state.Half(instruction.first, end));
  }
  for (; end < 32; ++end) state.SetHalf(instruction.destination, end, 0);
}

void OnIllegalInstruction(int signal, siginfo_t*, void* context) {
  State state(static_cast<ucontext_t*>(context));
  const auto instruction = Decode(reinterpret_cast<const uint8_t*>(state.next()));
  if (!instruction) {
    Write("avx512_fp16: an instruction that the emulator does not know\n");
    sigaction(signal, &g_before, nullptr);
    return;  // it is met again, by whoever was there before
  }
  Execute(*instruction, state);
  state.Skip(instruction->length);
  g_computed.fetch_add(1, std::memory_order_relaxed);
}

void ClaimFp16(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Fail(dlerror());
  const auto initialize = reinterpret_cast<bool (*)()>(dlsym(library, "cpuinfo_initialize"));
  auto* isa = static_cast<uint8_t*>(dlsym(library, "cpuinfo_isa"));
  if (initialize == nullptr || isa == nullptr)
    Fail("AVX512_FP16_CPUINFO names a library without cpuinfo");
  initialize();
  isa[kOffsetOfFp16] = 1;
}

void ClaimFp16InEach(const char* paths) {
  std::istringstream list(paths);
  for (std::string path; std::getline(list, path, ':');) ClaimFp16(path);
}

__attribute__((constructor)) void Start() {
  for (const Component component : {kAvx, kOpmask, kZmmHigh, kZmm16})
    g_offsets[component] = OffsetOf(component);
  if (const char* which = std::getenv("AVX512_FP16_RECIPROCALS"); which != nullptr) {
    g_reciprocals =
        std::strcmp(which, "lowest") == 0 ? Reciprocals::kLowest : Reciprocals::kHighest;
  }
  struct sigaction action = {};
  action.sa_sigaction = OnIllegalInstruction;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, &g_before);
  if (const char* path = std::getenv("AVX512_FP16_CPUINFO"); path != nullptr) ClaimFp16InEach(path);
}

__attribute__((destructor)) void End() {
  const char* path = std::getenv("AVX512_FP16_COUNT");
  const uint64_t computed = g_computed.load();
  if (path == nullptr || computed == 0) return;
  char line[32];
  const int length =
      std::snprintf(line, sizeof line, "%llu\n", static_cast<unsigned long long>(computed));
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  if (write(file, line, static_cast<size_t>(length)) < 0)
    Write("avx512_fp16: cannot write the count\n");
  close(file);
}

}  // namespace
}  // namespace xir::testing
