#include "xnnpack/packed_seal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <ctime>

#include "core/digest.h"
#include "platform/platform.h"

namespace xir {
namespace {

constexpr int64_t kSecond = 1'000'000'000;  // in nanoseconds

struct SealHeader {
  uint64_t boot;  // names the system's start
  uint64_t source;
  int64_t modified;
  uint64_t num_graphs;
  uint64_t digest;  // of graphs and the fields above, seeded with the tables'
};

uint64_t DigestSeal(const SealHeader& header, Bytes graphs, uint64_t tables) {
  const Bytes head(reinterpret_cast<const uint8_t*>(&header), offsetof(SealHeader, digest));
  return Digest(graphs, Digest(head, tables));
}

Bytes BytesOf(const std::vector<uint64_t>& values) {
  return Bytes(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(uint64_t));
}

// 0 where the system does not tell.
uint64_t DigestBoot() {
  const std::string id = platform::BootId();
  return id.empty() ? 0 : Digest(Bytes(reinterpret_cast<const uint8_t*>(id.data()), id.size()), 0);
}

int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * kSecond + now.tv_nsec;
}

bool WriteAt(int descriptor, Bytes bytes, uint64_t offset) {
  const ssize_t written =
      pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  return written == static_cast<ssize_t>(bytes.size());
}

}  // namespace

uint64_t DigestStamps(const std::vector<const FileBytes*>& files) {
  const int64_t settled = Now() - 2 * kSecond;
  uint64_t digest = 0;
  for (const FileBytes* file : files) {
    if (!file->stamp().has_value()) return 0;
    const FileStamp& stamp = *file->stamp();
    if (stamp.modified > settled || stamp.changed > settled) return 0;
    digest = Digest(Bytes(reinterpret_cast<const uint8_t*>(&stamp), sizeof(stamp)), digest);
  }
  return digest;
}

std::optional<PackedSeal> ReadSeal(Bytes bytes, uint64_t tables, int64_t modified) {
  SealHeader header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const Bytes rows = bytes.subspan(sizeof(header), bytes.size() - sizeof(header));
  if (header.modified != modified || header.boot == 0 || header.boot != DigestBoot() ||
      header.num_graphs > rows.size() / sizeof(uint64_t)) {
    return std::nullopt;
  }
  PackedSeal seal;
  seal.source = header.source;
  seal.graphs.resize(header.num_graphs);
  const Bytes graphs = rows.subspan(0, header.num_graphs * sizeof(uint64_t));
  if (!graphs.empty()) std::memcpy(seal.graphs.data(), graphs.data(), graphs.size());
  if (DigestSeal(header, graphs, tables) != header.digest) return std::nullopt;
  return seal;
}

void WriteSeal(int descriptor, uint64_t offset, uint64_t tables, const PackedSeal& seal) {
  SealHeader header{};
  header.boot = DigestBoot();
  header.source = seal.source;
  header.modified = Now();
  header.num_graphs = seal.graphs.size();
  const Bytes graphs = BytesOf(seal.graphs);
  header.digest = DigestSeal(header, graphs, tables);
  std::vector<uint8_t> bytes(sizeof(header) + graphs.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (!graphs.empty()) std::memcpy(bytes.data() + sizeof(header), graphs.data(), graphs.size());
  if (header.boot == 0 || !WriteAt(descriptor, Bytes(bytes), offset)) return;
  timespec modified{};
  modified.tv_sec = static_cast<time_t>(header.modified / kSecond);
  modified.tv_nsec = static_cast<long>(header.modified % kSecond);
  const timespec times[] = {{0, UTIME_OMIT}, modified};
  futimens(descriptor, times);
}

}  // namespace xir
