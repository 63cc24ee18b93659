#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "xir/buffer.h"
#include "xir/source.h"
#include "xir/span.h"
#include "xir/status.h"

namespace xir {

// Asks for large pages where whole ones lie in [memory, memory + size). They take less time to get,
// and are read faster in order: processors prefetch no further than the end of a page. A large
// buffer of AllocateUnzeroed begins with one.
void PreferLargePages(uint8_t* memory, size_t size);

// Whether memory that somebody else owns may be read for kOverreadBytes beyond its end: whether
// that stays on its last page.
bool MayOverread(const void* data, size_t nbytes);

// Which part of which file bytes are, and when the file was last changed.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  // Nanoseconds since 1970: its content, and its content or what is known of it.
  int64_t modified = 0;
  int64_t changed = 0;
};
FileStamp StampOf(const struct stat& info, uint64_t offset, uint64_t size);
bool operator==(const FileStamp& a, const FileStamp& b);

// A file's content: mapped read-only, copied, or borrowed. 16-byte aligned, and readable for
// kOverreadBytes beyond its end.
class FileBytes {
 public:
  static Result<FileBytes> Read(const Source& source);
  // `behind` more bytes can be read behind it, as zeros. They take no memory.
  static Result<FileBytes> Map(const std::string& path, uint64_t behind = 0);
  static Result<FileBytes> Copy(Bytes bytes);

  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&&) = delete;
  FileBytes(const FileBytes&) = delete;
  ~FileBytes();

  Bytes bytes() const { return bytes_; }
  // As the file was when it was opened; of no bytes that come from memory.
  const std::optional<FileStamp>& stamp() const { return stamp_; }
  // Fails if the file that is mapped has become shorter: who reads what is gone is ended by SIGBUS.
  Status CheckWhole() const;
  // Releases the memory of the whole pages in `part` of a mapped file, which are read again if they
  // are needed. Does nothing for bytes that are not mapped, or not this file's.
  void GiveBack(Bytes part) const;

 private:
  FileBytes() = default;
  // `name` stands for the file in errors. A size of 0 is the rest of the file.
  static Result<FileBytes> MapPart(int file, uint64_t offset, uint64_t size, uint64_t behind,
                                   const std::string& name);

  Bytes bytes_;
  std::optional<FileStamp> stamp_;
  AlignedBuffer copy_;
  void* mapping_ = nullptr;
  size_t mapping_size_ = 0;
  int descriptor_ = -1;  // of a mapped file
};

}  // namespace xir
