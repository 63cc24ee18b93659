#include "xnnpack/environment.h"

#include <atomic>
#include <vector>

#include "core/digest.h"
#include "platform/platform.h"
#include "xnnpack/api.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace xir {
namespace {

#if defined(__x86_64__) || defined(__i386__)

// The processor's model, and its features whose registers the operating system saves.
std::vector<uint32_t> ProcessorWords() {
  std::vector<uint32_t> words;
  const auto append = [&words](uint32_t leaf, uint32_t subleaf) {
    uint32_t a = 0, b = 0, c = 0, d = 0;
    __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d);
    words.insert(words.end(), {a, b, c, d});
  };
  append(0, 0);           // vendor
  append(7, 0);           // AVX2, AVX-512, AMX
  append(7, 1);           // AVX-VNNI, AMX-FP16
  append(0x24, 0);        // AVX10
  append(0x80000001, 0);  // XOP, FMA4
  uint32_t a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);  // b names the core that this runs on
  words.insert(words.end(), {a, c, d});
  if ((c & bit_OSXSAVE) != 0) {
    uint32_t low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    words.insert(words.end(), {low, high});
  }
  return words;
}

#else
using platform::ProcessorWords;
#endif

Result<uint64_t> Compute() {
  const Bytes build = platform::FindBuild(
      reinterpret_cast<const void*>(XIR_XNNPACK_ADDRESS(xnn_create_runtime_v4)));
  if (build.empty()) {
    return Fail(Code::kInternal, "the library of XNNPACK is not among those that are loaded");
  }
  const std::vector<uint32_t> words = ProcessorWords();
  return Digest(
      Bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(uint32_t)),
      Digest(build, 0));
}

}  // namespace

// Neither changes while the process lives, and hypervisors take their time to answer for a
// processor.
Result<uint64_t> DigestEnvironment() {
  static std::atomic<uint64_t> known = 0;
  if (const uint64_t digest = known.load(std::memory_order_relaxed)) return digest;
  auto digest = Compute();
  if (digest.ok()) known.store(digest.value(), std::memory_order_relaxed);
  return digest;
}

}  // namespace xir
