#include "packed_weights_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "core/digest.h"
#include "draws.h"
#include "program_file.h"
#include "step_bounds.h"

namespace xir::fuzz {
namespace {

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

}  // namespace

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

void TruncatePackedFile(off_t left) {
  if (truncate(PackedPath().c_str(), left) != 0 && errno != ENOENT) std::perror("truncate");
}

}  // namespace xir::fuzz
