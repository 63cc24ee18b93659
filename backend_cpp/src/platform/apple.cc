// macOS and iOS.
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <sys/sysctl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>

#include "platform/platform.h"

namespace xir::platform {
namespace {

// A text of sysctl(3); "" if there is none of that name.
std::string SystemText(const char* name) {
  size_t size = 0;
  if (sysctlbyname(name, nullptr, &size, nullptr, 0) != 0) return "";
  std::string text(size, '\0');
  if (sysctlbyname(name, text.data(), &size, nullptr, 0) != 0) return "";
  text.resize(size);
  return text;
}

}  // namespace

size_t AvailableCores() { return std::max(std::thread::hardware_concurrency(), 1u); }

// Threads have hints of which others they share a cache with, and no cores.
bool PinToCore(size_t) { return false; }

std::string ExecutablePath() {
  uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string path(size, '\0');
  if (size == 0 || _NSGetExecutablePath(path.data(), &size) != 0) return "";
  // It may be a symbolic link, and has a zero at its end.
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::canonical(path.c_str(), error);
  return error ? std::string() : whole.string();
}

timespec ModifiedAt(const struct stat& info) { return info.st_mtimespec; }
timespec ChangedAt(const struct stat& info) { return info.st_ctimespec; }

// The system decides by itself.
void AdviseLargePages(void*, size_t) {}

std::string BootId() { return SystemText("kern.bootsessionuuid"); }

// The linker gives each library and program a UUID (mach-o/loader.h).
Bytes FindBuild(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fbase == nullptr) return {};
  const auto* header = static_cast<const mach_header_64*>(info.dli_fbase);
  if (header->magic != MH_MAGIC_64) return {};
  const auto* bytes = reinterpret_cast<const uint8_t*>(header + 1);
  for (uint32_t i = 0; i < header->ncmds; ++i) {
    const auto* command = reinterpret_cast<const load_command*>(bytes);
    if (command->cmd == LC_UUID) {
      return Bytes(reinterpret_cast<const uuid_command*>(command)->uuid,
                   sizeof(uuid_command::uuid));
    }
    bytes += command->cmdsize;
  }
  return {};
}

std::vector<uint32_t> ProcessorWords() {
  std::vector<uint32_t> words;
  for (const char* name : {"hw.cpufamily", "hw.cpusubfamily", "hw.optional.arm.FEAT_DotProd",
                           "hw.optional.arm.FEAT_I8MM", "hw.optional.arm.FEAT_FP16",
                           "hw.optional.arm.FEAT_BF16", "hw.optional.arm.FEAT_SME"}) {
    uint32_t value = 0;
    size_t size = sizeof(value);
    words.push_back(sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : UINT32_MAX);
  }
  return words;
}

}  // namespace xir::platform
