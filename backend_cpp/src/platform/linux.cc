// Linux, and Android.
#include <link.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "core/read_text.h"
#include "platform/platform.h"

#if !defined(__x86_64__) && !defined(__i386__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace xir::platform {
namespace {

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

size_t AvailableCores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    return static_cast<size_t>(std::max(CPU_COUNT(&allowed), 1));
  }
  return std::max(std::thread::hardware_concurrency(), 1u);
}

bool PinToCore(size_t core) {
  if (core >= CPU_SETSIZE) return false;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  return sched_setaffinity(0, sizeof(only), &only) == 0;
}

std::string ExecutablePath() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

timespec ModifiedAt(const struct stat& info) { return info.st_mtim; }
timespec ChangedAt(const struct stat& info) { return info.st_ctim; }

void AdviseLargePages(void* memory, size_t size) { madvise(memory, size, MADV_HUGEPAGE); }

// random(4)
std::string BootId() { return ReadText("/proc/sys/kernel/random/boot_id"); }

Bytes FindBuild(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}, {}};
  dl_iterate_phdr(Visit, &search);
  // An object without a build ID is known by its code.
  return search.build_id.empty() ? search.code : search.build_id;
}

std::vector<uint32_t> ProcessorWords() {
  std::vector<uint32_t> words;
#if !defined(__x86_64__) && !defined(__i386__)
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
    const std::string model = ReadText("/sys/devices/system/cpu/cpu" + std::to_string(core) +
                                       "/regs/identification/midr_el1");
    if (model.empty()) break;
    words.push_back(static_cast<uint32_t>(std::strtoull(model.c_str(), nullptr, 16)));
  }
#endif
  return words;
}

}  // namespace xir::platform
