#include "core/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/failing_allocations.h"
#include "core/guard.h"
#include "core/round_up.h"
#include "platform/platform.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace xir {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

constexpr size_t kLargePage = size_t{2} << 20;

// What FlatBuffers require.
bool IsAligned(Bytes bytes) { return reinterpret_cast<uintptr_t>(bytes.data()) % 16 == 0; }

// From here on a buffer is a mapping of its own.
#ifdef XIR_FUZZING
constexpr size_t kMappedSize = 1;
#else
constexpr size_t kMappedSize = size_t{64} << 10;
#endif

// Only XNNPACK, which is not instrumented, may read behind a buffer.
void PoisonBehind([[maybe_unused]] uint8_t* memory, [[maybe_unused]] size_t size,
                  [[maybe_unused]] size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(memory + size, bytes - size);
#endif
}

void* MapZeroed(size_t bytes, BufferDeleter* deleter) {
#ifdef XIR_FUZZING
  // The buffer ends where a page without access begins, for code that no sanitizer instruments.
  const size_t guard = PageSize();
#else
  const size_t guard = 0;
#endif
  const size_t before = guard == 0 ? 0 : RoundUp(bytes, guard) - bytes;
  deleter->size = before + bytes + guard;
  void* mapping =
      mmap(nullptr, deleter->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  uint8_t* memory = static_cast<uint8_t*>(mapping) + before;
  if (guard != 0) mprotect(memory + bytes, guard, PROT_NONE);
  return memory;
}

// C++17's aligned_alloc is missing in older Androids.
uint8_t* AllocateAligned(size_t bytes, size_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
  return static_cast<uint8_t*>(memory);
}

void* AllocateZeroed(size_t bytes, BufferDeleter* deleter) {
  if (deleter->allocator != nullptr) {
    deleter->size = bytes;
    void* memory = deleter->allocator->Allocate(bytes, kBufferAlignment);
    if (reinterpret_cast<uintptr_t>(memory) % kBufferAlignment != 0) {
      deleter->allocator->Release(memory, bytes);
      return nullptr;
    }
    return memory == nullptr ? nullptr : std::memset(memory, 0, bytes);
  }
  if (bytes >= kMappedSize) return MapZeroed(bytes, deleter);
  void* memory = AllocateAligned(bytes, kBufferAlignment);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

}  // namespace

FileStamp StampOf(const struct stat& info, uint64_t offset, uint64_t size) {
  const auto nanoseconds = [](const timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {static_cast<uint64_t>(info.st_dev),
          info.st_ino,
          offset,
          size,
          nanoseconds(platform::ModifiedAt(info)),
          nanoseconds(platform::ChangedAt(info))};
}

bool operator==(const FileStamp& a, const FileStamp& b) {
  return a.device == b.device && a.inode == b.inode && a.offset == b.offset && a.size == b.size &&
         a.modified == b.modified && a.changed == b.changed;
}

void BufferDeleter::operator()(void* p) const {
  if (size == 0) return std::free(static_cast<uint8_t*>(p) - before);
  // A mapping begins with a page; its buffer does not always. An allocator's memory is the buffer.
  auto* memory = static_cast<uint8_t*>(p);
  if (allocator == nullptr) memory -= reinterpret_cast<uintptr_t>(p) % PageSize();
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(memory, size);
#endif
  if (allocator != nullptr) {
    // There is nobody to tell what it throws.
    GuardedOr(false, [&] {
      allocator->Release(memory, size);
      return true;
    });
    return;
  }
  munmap(memory, size);
}

AlignedBuffer AllocateBuffer(size_t size, Allocator* allocator) {
  const size_t bytes = RoundUp(size + kOverreadBytes, kBufferAlignment);
  if (bytes < size) return nullptr;
#ifdef XIR_FUZZING
  if (AllocationFails()) return nullptr;
#endif
  BufferDeleter deleter;
  deleter.allocator = allocator;
  auto* memory = static_cast<uint8_t*>(AllocateZeroed(bytes, &deleter));
  if (memory != nullptr) PoisonBehind(memory, size, bytes);
  return AlignedBuffer(memory, deleter);
}

AlignedBuffer AllocateUnzeroed(size_t size) {
#ifdef XIR_FUZZING
  return AllocateBuffer(size);
#else
  const size_t bytes = RoundUp(size + kOverreadBytes, kBufferAlignment);
  if (bytes < size) return nullptr;
  BufferDeleter deleter;
  if (bytes < 2 * kLargePage) {
    return AlignedBuffer(AllocateAligned(bytes, kBufferAlignment), deleter);
  }
  // Aligned by hand: glibc keeps what is freed only if the next request is no larger than that,
  // and counts the alignment in requests but not in what is freed (`_int_memalign`, `__libc_free`).
  auto* memory = static_cast<uint8_t*>(std::malloc(bytes + kLargePage));
  if (memory == nullptr) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  deleter.before = RoundUp(address, uintptr_t{kLargePage}) - address;
  return AlignedBuffer(memory + deleter.before, deleter);
#endif
}

void PreferLargePages(uint8_t* memory, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = RoundUp(begin, kLargePage);
  const uintptr_t end = (begin + size) / kLargePage * kLargePage;
  // Only advice: the system may ignore it.
  if (first < end) platform::AdviseLargePages(reinterpret_cast<void*>(first), end - first);
}

bool MayOverread(const void* data, size_t nbytes) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + nbytes;
  return (page - end % page) % page >= kOverreadBytes;
}

Result<FileBytes> FileBytes::Read(const Source& source) {
  switch (source.kind()) {
    case Source::Kind::kPath:
      return Map(source.path());
    case Source::Kind::kDescriptor: {
      const std::string name = "descriptor " + std::to_string(source.descriptor());
      auto mapped = MapPart(source.descriptor(), source.offset(), source.size(), 0, name);
      if (!mapped.ok() || IsAligned(mapped.value().bytes())) return mapped;
      auto copy = Copy(mapped.value().bytes());
      if (copy.ok()) copy.value().stamp_ = mapped.value().stamp_;
      return copy;
    }
    case Source::Kind::kBorrowed:
      if (IsAligned(source.bytes()) && MayOverread(source.bytes().data(), source.bytes().size())) {
        FileBytes result;
        result.bytes_ = source.bytes();
        return result;
      }
      return Copy(source.bytes());
    case Source::Kind::kCopied:
      break;
  }
  return Copy(source.bytes());
}

Result<FileBytes> FileBytes::Map(const std::string& path, uint64_t behind) {
  const std::string name = "'" + path + "'";
  // A named pipe, which is refused, would be waited for otherwise.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return Fail(Code::kNotFound, "cannot open ", name, ": ", std::strerror(errno));
  }
  return MapPart(file.get(), 0, 0, behind, name);
}

Result<FileBytes> FileBytes::MapPart(int file, uint64_t offset, uint64_t size, uint64_t behind,
                                     const std::string& name) {
  struct stat info;
  if (fstat(file, &info) != 0) {
    return Fail(Code::kNotFound, "cannot read ", name, ": ", std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return Fail(Code::kNotFound, name, " is not a regular file");
  const auto file_size = static_cast<uint64_t>(info.st_size);
  if (file_size == 0) return Fail(Code::kInvalidProgram, name, " is empty");
  if (offset >= file_size || size > file_size - offset) {
    return Fail(Code::kInvalidArgument, "[", offset, ", +", size, ") leaves the ", file_size,
                " bytes of ", name);
  }
  if (size == 0) size = file_size - offset;

  // The file goes over the front of an anonymous mapping that is longer than it by at least one
  // page, so that an over-read at the end of the last weight meets zeros.
  const size_t page = PageSize();
  const size_t before = offset % page;
  FileBytes result;
  constexpr uint64_t kMostBehind = uint64_t{1} << 46;
  if (behind > kMostBehind) return Fail(Code::kResource, "too little address space for ", name);
  result.mapping_size_ = RoundUp(before + size, page) + RoundUp(behind, page) + page;
  void* reserved = mmap(nullptr, result.mapping_size_, PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    return Fail(Code::kResource, "cannot map ", name, ": ", std::strerror(errno));
  }
  result.mapping_ = reserved;
  if (mmap(reserved, before + size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file,
           static_cast<off_t>(offset - before)) == MAP_FAILED) {
    return Fail(Code::kResource, "cannot map ", name, ": ", std::strerror(errno));
  }
  result.bytes_ = Bytes(static_cast<const uint8_t*>(reserved) + before, size);
  result.stamp_ = StampOf(info, offset, size);
  result.descriptor_ = fcntl(file, F_DUPFD_CLOEXEC, 0);
  return result;
}

Result<FileBytes> FileBytes::Copy(Bytes bytes) {
  FileBytes result;
  result.copy_ = AllocateBuffer(bytes.size());
  if (result.copy_ == nullptr) {
    return Fail(Code::kResource, "out of memory: ", bytes.size(), " bytes for the program");
  }
  if (!bytes.empty()) std::memcpy(result.copy_.get(), bytes.data(), bytes.size());
  result.bytes_ = Bytes(result.copy_.get(), bytes.size());
  return result;
}

Status FileBytes::CheckWhole() const {
  struct stat info;
  if (descriptor_ < 0 || fstat(descriptor_, &info) != 0) return {};
  const uint64_t end = stamp_->offset + stamp_->size;
  if (static_cast<uint64_t>(info.st_size) >= end) return {};
  return Fail(Code::kInvalidProgram, "a file that is mapped has become shorter, ", info.st_size,
              " bytes of ", end, "; load the program again");
}

void FileBytes::GiveBack(Bytes part) const {
  const auto begin = reinterpret_cast<uintptr_t>(part.data());
  const auto mapped = reinterpret_cast<uintptr_t>(mapping_);
  if (mapping_ == nullptr || begin < mapped || begin + part.size() > mapped + bytes_.size()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = RoundUp(begin, page);
  const uintptr_t end = (begin + part.size()) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : bytes_(other.bytes_),
      stamp_(other.stamp_),
      copy_(std::move(other.copy_)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_size_(other.mapping_size_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

FileBytes::~FileBytes() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_size_);
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace xir
