// A library to preload (LD_PRELOAD) that hides instructions of the processor from a process and its
// children, so that XNNPACK, PyTorch and NumPy take the kernels that they have for an older one.
// For Linux on a processor that lets an operating system trap CPUID, as Intel's do since Ivy
// Bridge. Environment:
//
// - XIR_HIDE: `avx512` leaves AVX2 and FMA, as Haswell and Zen 3 have; `avx` leaves SSE4.2, as
// Nehalem has.
//
// The handler of SIGSEGV answers CPUID; a program that sets another one, as Python's faulthandler
// does, is ended by it.
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>

namespace xir::testing {
namespace {

struct Registers {
  uint32_t a, b, c, d;
};

// What CPUID is asked for: a leaf and a sub-leaf.
struct Question {
  uint32_t leaf, part;
};

bool g_hides_avx = false;

[[noreturn]] void Fail(const char* why) {
  for (const char* text : {"hidden_instructions: ", why, "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  _exit(1);
}

// Whether CPUID may be executed. Of each thread, handed on to those that it starts.
bool SetTrap(bool is_set) {
  return syscall(SYS_arch_prctl, ARCH_SET_CPUID, is_set ? 0UL : 1UL) == 0;
}

uint32_t Without(uint32_t bits, std::initializer_list<int> hidden) {
  for (int bit : hidden) bits &= ~(uint32_t{1} << bit);
  return bits;
}

// The numbers of bits are those of the tables of CPUID in Intel's manual (volume 2A), and GCC's
// cpuid.h.
Registers Answer(Question question) {
  Registers is{};
  SetTrap(false);
  __cpuid_count(question.leaf, question.part, is.a, is.b, is.c, is.d);
  SetTrap(true);
  if (question.leaf == 7 && question.part == 0) {
    // F, DQ, IFMA, PF, ER, CD, BW and VL; VBMI, VBMI2, GFNI, VNNI, BITALG and VPOPCNTDQ; 4VNNIW,
    // 4FMAPS, VP2INTERSECT, AMX-BF16, FP16, AMX-TILE and AMX-INT8.
    is.b = Without(is.b, {16, 17, 21, 26, 27, 28, 30, 31});
    is.c = Without(is.c, {1, 6, 8, 11, 12, 14});
    is.d = Without(is.d, {2, 3, 8, 22, 23, 24, 25});
    if (g_hides_avx) {
      is.b = Without(is.b, {5});      // AVX2
      is.c = Without(is.c, {9, 10});  // VAES, VPCLMULQDQ
    }
  }
  // AVX-VNNI, AVX512-BF16, AVX-IFMA and what else came after AVX-512.
  if (question.leaf == 7 && question.part == 1) is = Registers{};
  if (question.leaf == 1 && g_hides_avx) is.c = Without(is.c, {12, 28, 29});  // FMA, AVX, F16C
  return is;
}

void OnFault(int signal_number, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  if (code[0] != 0x0F ||
      code[1] != 0xA2) {  // another fault: it ends the process when it is met again
    signal(signal_number, SIG_DFL);
    return;
  }
  const Registers answer = Answer(
      {static_cast<uint32_t>(registers[REG_RAX]), static_cast<uint32_t>(registers[REG_RCX])});
  registers[REG_RAX] = answer.a;
  registers[REG_RBX] = answer.b;
  registers[REG_RCX] = answer.c;
  registers[REG_RDX] = answer.d;
  registers[REG_RIP] += 2;
}

// Before other libraries' constructors, which may ask the processor.
__attribute__((constructor(101))) void Hide() {
  const char* hidden = std::getenv("XIR_HIDE");
  if (hidden == nullptr ||
      (std::string_view(hidden) != "avx512" && std::string_view(hidden) != "avx"))
    Fail("XIR_HIDE is to be avx512 or avx");
  g_hides_avx = std::string_view(hidden) == "avx";
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSEGV, &action, nullptr) != 0) Fail("SIGSEGV cannot be handled");
  if (!SetTrap(true))
    Fail("this processor, or its kernel, does not trap CPUID (no cpuid_fault in /proc/cpuinfo)");
}

}  // namespace
}  // namespace xir::testing
