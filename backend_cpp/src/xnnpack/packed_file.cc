#include "xnnpack/packed_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "core/checked.h"
#include "core/digest.h"
#include "core/round_up.h"
#include "platform/platform.h"
#include "xnnpack/environment.h"

namespace xir {
namespace {

constexpr char kMagic[8] = {'X', 'I', 'R', 'P', 'A', 'C', 'K', '2'};
constexpr uint64_t kAlignment = 128;
constexpr uint64_t kPage = 4096;
// Of either table; a graph has at most as many weights as its flatbuffer has nodes.
constexpr uint64_t kMostRows = uint64_t{1} << 24;

struct FileHeader {
  char magic[8];
  uint64_t environment;  // of processor and XNNPACK
  uint64_t num_graphs;
  uint64_t num_weights;
  uint64_t packed_offset;
  uint64_t packed_size;
  uint64_t packed_digest;  // of all weights, each seeded with the one before
  uint64_t tables_digest;  // seeded with that of the fields above
};

struct FileGraph {
  uint64_t digest;
  uint64_t num_weights;
};

struct FileWeight {
  uint32_t kernel;
  uint32_t bias;
  uint32_t seed;
  uint32_t reserved;
  uint64_t offset;  // in the packed bytes
  uint64_t size;
};

template <typename T>
Bytes BytesOf(const T* data, size_t count) {
  return Bytes(reinterpret_cast<const uint8_t*>(data), count * sizeof(T));
}

uint64_t DigestHeader(const FileHeader& header) {
  return Digest(BytesOf(&header, 1).subspan(0, offsetof(FileHeader, tables_digest)), 0);
}

uint64_t Saturated(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return CheckedMul(a, b, &product) ? product : UINT64_MAX;
}

// More than the packed weights of a node take on any processor: microkernels make tiles of at most
// 256 channels either way, in at most four bytes an element, and add biases, sums and scales.
uint64_t PackedBound(uint64_t groups, uint64_t outputs, uint64_t inputs, uint64_t taps,
                     uint64_t phases) {
  const uint64_t channel = Saturated(Saturated(taps, inputs + 256), 8);
  const uint64_t extra = Saturated(phases, 64);
  if (channel > UINT64_MAX - extra) return UINT64_MAX;
  return Saturated(Saturated(groups, outputs + 256), channel + extra);
}

uint64_t PackedBound(const graph::XNNNodeConv& node) {
  return PackedBound(node.groups(), node.group_output_channels(), node.group_input_channels(),
                     Saturated(node.kernel_height(), node.kernel_width()),
                     Saturated(node.subsampling_height(), node.subsampling_width()));
}

// As PackedBound of each node, the largest.
uint64_t LargestPackedBound(const GraphView& view) {
  uint64_t largest = 0;
  for (const graph::XNode* node : *view.graph->xnodes()) {
    uint64_t bound = 0;
    if (const auto* full = node->xnode_union_as_XNNFullyConnected()) {
      const auto* dims = TensorOf(*view.values.at(full->filter_id()))->dims();
      bound = dims == nullptr || dims->size() != 2
                  ? UINT64_MAX
                  : PackedBound(1, std::max(dims->Get(0), dims->Get(1)),
                                std::max(dims->Get(0), dims->Get(1)), 1, 1);
    } else if (const auto* conv = node->xnode_union_as_XNNConv2d()) {
      bound = PackedBound(*conv);
    } else if (const auto* depthwise = node->xnode_union_as_XNNDepthwiseConv2d()) {
      bound = PackedBound(*depthwise);
    } else if (const auto* transposed = node->xnode_union_as_XNNConvTranspose2d()) {
      bound = PackedBound(*transposed);
    }
    largest = std::max(largest, bound);
  }
  return largest;
}

uint64_t TurnsOffset(const FileHeader& header) { return header.packed_offset + header.packed_size; }

uint64_t SealOffset(const FileHeader& header) {
  return TurnsOffset(header) + header.num_graphs * sizeof(uint64_t);
}

// From an offset to the end; empty if that is before.
Bytes Behind(Bytes file, uint64_t offset) {
  return offset < file.size() ? file.subspan(offset, file.size() - offset) : Bytes();
}

std::vector<uint64_t> TurnsOf(const std::vector<PackedEntry>& entries) {
  std::vector<uint64_t> turns;
  for (const PackedEntry& entry : entries) turns.push_back(entry.turn);
  return turns;
}

Status Damaged() { return Fail(Code::kInvalidProgram, "it is damaged"); }

// Takes rows of tables one after the other, from any address.
class Rows {
 public:
  explicit Rows(Bytes bytes) : next_(bytes.data()) {}

  template <typename T>
  void Read(T* row) {
    std::memcpy(row, next_, sizeof(T));
    next_ += sizeof(T);
  }

 private:
  const uint8_t* next_;
};

// Writes that meet the limit of RLIMIT_FSIZE fail, where the signal would end the process.
class FileSizeSignalBlocked {
 public:
  FileSizeSignalBlocked() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  FileSizeSignalBlocked(const FileSizeSignalBlocked&) = delete;
  ~FileSizeSignalBlocked() {
    if (sigismember(&before_, SIGXFSZ) == 0) TakePending();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  // Apple has no sigtimedwait. sigwait alone would wait for ever if another thread took the signal
  // in between, as may happen where it goes to the process, not to the thread that wrote.
  void TakePending() {
    static std::mutex one_at_a_time;
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    sigset_t pending;
    int taken;
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1) sigwait(&signal_, &taken);
  }

  sigset_t signal_;
  sigset_t before_;
};

// A file that is written beside the one that it becomes.
class NewFile {
 public:
  explicit NewFile(const std::string& path) {
    static std::atomic<unsigned> count = 0;
    do {
      path_ = path + "." + std::to_string(getpid()) + "-" + std::to_string(++count) + ".tmp";
      descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
  }
  NewFile(const NewFile&) = delete;
  ~NewFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    unlink(path_.c_str());
  }

  int descriptor() const { return descriptor_; }
  Status Check() const { return descriptor_ >= 0 ? Status() : Failed(); }

  Status Write(Bytes bytes) {
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return Failed();
      const auto count = static_cast<size_t>(written);
      bytes = bytes.subspan(count, bytes.size() - count);
      size_ += count;
    }
    return {};
  }

  Status PadTo(uint64_t size) {
    static constexpr uint8_t kZeros[kPage] = {};
    while (size_ < size) {
      XIR_RETURN_IF_ERROR(Write(Bytes(kZeros, std::min<uint64_t>(size - size_, kPage))));
    }
    return {};
  }

  Status RenameTo(const std::string& path) {
    if (close(std::exchange(descriptor_, -1)) == 0 && rename(path_.c_str(), path.c_str()) == 0) {
      return {};
    }
    Status failed = Failed();
    unlink(path_.c_str());
    return failed;
  }

 private:
  static Status Failed() {
    return Fail(Code::kResource, "it cannot be written: ", std::strerror(errno));
  }

  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// Whether there is no file at `path`, or one that begins as these files do.
bool MayReplace(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno == ENOENT;
  char magic[sizeof(kMagic) - 1] = {};
  struct stat info;
  const bool regular = fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  const bool ours = regular && read(file, magic, sizeof(magic)) == sizeof(magic) &&
                    std::memcmp(magic, kMagic, sizeof(magic)) == 0;
  close(file);
  return ours;
}

}  // namespace

uint64_t DigestGraph(const GraphView& view) {
  uint64_t digest = Digest(view.flatbuffer, 0);
  for (size_t i = 1; i < view.constants.size(); ++i) digest = Digest(view.constants[i], digest);
  return digest;
}

Result<PackedFile> ReadPackedFile(const std::string& path,
                                  const std::vector<const GraphView*>& views) {
  // XNNPACK reads as many bytes as it expects from wherever the file says that weights begin.
  uint64_t behind = 0;
  for (const GraphView* view : views) behind = std::max(behind, LargestPackedBound(*view));
  XIR_ASSIGN_OR_RETURN(FileBytes mapped, FileBytes::Map(path, behind));
  const auto file = std::make_shared<const FileBytes>(std::move(mapped));
  const Bytes bytes = file->bytes();
  FileHeader header;
  if (bytes.size() < sizeof(header) || std::memcmp(bytes.data(), kMagic, sizeof(kMagic) - 1) != 0) {
    return Fail(Code::kInvalidProgram, "it is no file of packed weights");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  XIR_ASSIGN_OR_RETURN(const uint64_t environment, DigestEnvironment());
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.environment != environment) {
    return Fail(Code::kUnsupported, "it is for another processor or another version of XNNPACK");
  }
  const uint64_t tables =
      header.num_graphs * sizeof(FileGraph) + header.num_weights * sizeof(FileWeight);
  if (header.num_graphs > kMostRows || header.num_weights > kMostRows ||
      !Fits(sizeof(header), tables, bytes.size()) ||
      !Fits(header.packed_offset, header.packed_size, bytes.size()) ||
      header.packed_offset % kPage != 0 || header.packed_offset < sizeof(header) + tables) {
    return Damaged();
  }
  const Bytes rows = bytes.subspan(sizeof(header), tables);
  const Bytes packed = bytes.subspan(header.packed_offset, header.packed_size);
  if (Digest(rows, DigestHeader(header)) != header.tables_digest) return Damaged();
  PackedFile result;
  result.file = file;
  result.seal =
      ReadSeal(Behind(bytes, SealOffset(header)), header.tables_digest, file->stamp()->modified);
  // Nothing vouches for turns: wrong ones lead to other weights being kept.
  std::vector<uint64_t> turns(header.num_graphs);
  const Bytes turn_bytes = Behind(bytes, TurnsOffset(header));
  if (turn_bytes.size() >= turns.size() * sizeof(uint64_t) && !turns.empty()) {
    std::memcpy(turns.data(), turn_bytes.data(), turns.size() * sizeof(uint64_t));
  }
  Rows next(rows);
  uint64_t weights_left = header.num_weights;
  uint64_t bytes_left = packed.size();
  std::vector<FileGraph> graphs(header.num_graphs);
  for (FileGraph& graph : graphs) next.Read(&graph);
  uint64_t digest = 0;
  std::set<std::pair<uint64_t, uint64_t>> places;  // offsets and sizes of weights so far
  for (const FileGraph& graph : graphs) {
    if (graph.num_weights > weights_left) return Damaged();
    weights_left -= graph.num_weights;
    auto weights = std::make_shared<PackedWeights>();
    weights->file = file;
    for (uint64_t i = 0; i < graph.num_weights; ++i) {
      FileWeight weight;
      next.Read(&weight);
      if (!Fits(weight.offset, weight.size, packed.size()) || weight.offset % kAlignment != 0) {
        return Damaged();
      }
      const Bytes data = packed.subspan(weight.offset, weight.size);
      if (places.emplace(weight.offset, weight.size).second) {
        if (weight.size > bytes_left) return Damaged();
        bytes_left -= weight.size;
        if (!result.seal.has_value()) digest = Digest(data, digest);
      }
      weights->weights.push_back(
          {weight.kernel, weight.bias, weight.seed, data.data(), data.size()});
    }
    const uint64_t turn = turns[result.entries.size()];
    result.entries.push_back({graph.digest, turn, std::move(weights)});
  }
  if (!result.seal.has_value() && digest != header.packed_digest) return Damaged();
  return result;
}

uint64_t PackedSize(Span<const PackedEntry> entries) {
  std::set<std::pair<const uint8_t*, size_t>> places;
  uint64_t total = 0;
  for (const PackedEntry& entry : entries) {
    for (const PackedWeight& weight : entry.weights->weights) {
      if (places.emplace(weight.data, weight.size).second) {
        total += RoundUp(weight.size, kAlignment);
      }
    }
  }
  return total;
}

void UpdatePackedFile(const std::string& path, const FileBytes& file,
                      const std::vector<PackedEntry>& entries, const PackedSeal* seal,
                      FileStamp* stamp) {
  const FileSizeSignalBlocked blocked;
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return;
  FileHeader header;
  struct stat info;
  // The bytes that were checked are this file's, and nobody has changed them since.
  const uint64_t size = file.bytes().size();
  if (fstat(descriptor, &info) == 0 && StampOf(info, 0, size) == *stamp) {
    std::memcpy(&header, file.bytes().data(), sizeof(header));
    const std::vector<uint64_t> turns = TurnsOf(entries);
    const Bytes bytes = BytesOf(turns.data(), turns.size());
    const auto at = static_cast<off_t>(TurnsOffset(header));
    const bool written =
        turns.size() == header.num_graphs &&
        pwrite(descriptor, bytes.data(), bytes.size(), at) == static_cast<ssize_t>(bytes.size());
    if (written && seal != nullptr) {
      WriteSeal(descriptor, SealOffset(header), header.tables_digest, *seal);
    } else {
      // A seal that is there holds on.
      const timespec times[] = {{0, UTIME_OMIT}, platform::ModifiedAt(info)};
      futimens(descriptor, times);
    }
    if (fstat(descriptor, &info) == 0) *stamp = StampOf(info, 0, size);
  }
  close(descriptor);
}

Status WritePackedFile(const std::string& path, const std::vector<PackedEntry>& entries,
                       const PackedSeal& seal) {
  if (!MayReplace(path)) {
    return Fail(Code::kInvalidArgument, "it is no file of packed weights, and is left as it is");
  }
  FileHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  XIR_ASSIGN_OR_RETURN(header.environment, DigestEnvironment());
  std::vector<FileGraph> graphs;
  std::vector<FileWeight> weights;
  std::vector<Bytes> packed;  // what several weights share only once
  std::map<std::pair<const uint8_t*, size_t>, uint64_t> offsets;
  for (const PackedEntry& entry : entries) {
    graphs.push_back({entry.graph, entry.weights->weights.size()});
    for (const PackedWeight& weight : entry.weights->weights) {
      const auto [place, is_new] =
          offsets.emplace(std::make_pair(weight.data, weight.size), header.packed_size);
      weights.push_back({weight.kernel, weight.bias, weight.seed, 0, place->second, weight.size});
      if (!is_new) continue;
      packed.emplace_back(weight.data, weight.size);
      header.packed_digest = Digest(Bytes(weight.data, weight.size), header.packed_digest);
      header.packed_size += RoundUp(weight.size, kAlignment);
    }
  }
  header.num_graphs = graphs.size();
  header.num_weights = weights.size();
  const Bytes graph_rows = BytesOf(graphs.data(), graphs.size());
  const Bytes weight_rows = BytesOf(weights.data(), weights.size());
  header.packed_offset = RoundUp(sizeof(header) + graph_rows.size() + weight_rows.size(), kPage);
  std::vector<uint8_t> tables(graph_rows.begin(), graph_rows.end());
  tables.insert(tables.end(), weight_rows.begin(), weight_rows.end());
  header.tables_digest = Digest(Bytes(tables), DigestHeader(header));

  const FileSizeSignalBlocked blocked;
  NewFile file(path);
  XIR_RETURN_IF_ERROR(file.Check());
  XIR_RETURN_IF_ERROR(file.Write(BytesOf(&header, 1)));
  XIR_RETURN_IF_ERROR(file.Write(Bytes(tables)));
  XIR_RETURN_IF_ERROR(file.PadTo(header.packed_offset));
  uint64_t end = header.packed_offset;
  for (const Bytes bytes : packed) {
    XIR_RETURN_IF_ERROR(file.Write(bytes));
    XIR_RETURN_IF_ERROR(file.PadTo(end += RoundUp(bytes.size(), kAlignment)));
  }
  const std::vector<uint64_t> turns = TurnsOf(entries);
  XIR_RETURN_IF_ERROR(file.Write(BytesOf(turns.data(), turns.size())));
  WriteSeal(file.descriptor(), SealOffset(header), header.tables_digest, seal);
  return file.RenameTo(path);
}

}  // namespace xir
