#include "xnnpack/environment.h"

#include <link.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "core/digest.h"
#include "xnnpack/api.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
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

// Features, vector lengths, and the model of each core.
std::vector<uint32_t> ProcessorWords() {
  std::vector<uint32_t> words;
#ifdef __linux__
  for (const unsigned long type : {AT_HWCAP, AT_HWCAP2}) {
    const uint64_t features = getauxval(type);
    words.push_back(static_cast<uint32_t>(features));
    words.push_back(static_cast<uint32_t>(features >> 32));
  }
#ifdef PR_SVE_GET_VL
  words.push_back(static_cast<uint32_t>(prctl(PR_SVE_GET_VL, 0, 0, 0, 0)));
#endif
#ifdef PR_SME_GET_VL
  words.push_back(static_cast<uint32_t>(prctl(PR_SME_GET_VL, 0, 0, 0, 0)));
#endif
  for (int core = 0;; ++core) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(core) +
                       "/regs/identification/midr_el1");
    uint64_t model = 0;
    if (!(file >> std::hex >> model)) break;
    words.push_back(static_cast<uint32_t>(model));
  }
#endif
  return words;
}

#endif

// The loaded object that `address` lies in.
struct Search {
  uintptr_t address;
  Bytes build_id;
  Bytes code;
};

// The description of the GNU build ID among an object's notes, elf(5).
Bytes FindBuildId(Bytes notes) {
  constexpr uint32_t kBuildId = 3;  // NT_GNU_BUILD_ID
  const auto padded = [](size_t size) { return (size + 3) / 4 * 4; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof(note));
    const size_t name = sizeof(note);
    const size_t description = name + padded(note.n_namesz);
    const size_t end = description + padded(note.n_descsz);
    if (end > notes.size()) break;
    if (note.n_type == kBuildId && note.n_namesz == 4 &&
        std::memcmp(notes.data() + name, "GNU", 4) == 0) {
      return notes.subspan(description, note.n_descsz);
    }
    notes = notes.subspan(end, notes.size() - end);
  }
  return {};
}

int Visit(dl_phdr_info* object, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  bool found = false;
  Bytes build_id;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    const Bytes bytes(reinterpret_cast<const uint8_t*>(begin), part.p_memsz);
    if (part.p_type == PT_NOTE && build_id.empty()) build_id = FindBuildId(bytes);
    if (part.p_type != PT_LOAD || search.address - begin >= part.p_memsz) continue;
    found = true;
    search.code = bytes;
  }
  if (found) search.build_id = build_id;
  return found ? 1 : 0;
}

}  // namespace

namespace {

Result<uint64_t> Compute() {
  Search search{reinterpret_cast<uintptr_t>(XIR_XNNPACK_ADDRESS(xnn_create_runtime_v4)), {}, {}};
  if (dl_iterate_phdr(Visit, &search) == 0) {
    return Fail(Code::kInternal, "the library of XNNPACK is not among those that are loaded");
  }
  // An object without a build ID is known by its code.
  const uint64_t build = Digest(search.build_id.empty() ? search.code : search.build_id, 0);
  const std::vector<uint32_t> words = ProcessorWords();
  return Digest(
      Bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(uint32_t)),
      build);
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
