#pragma once

#include <memory>
#include <string>

#include "xir/span.h"
#include "xir/status.h"

namespace xir {

// XNNPACK reads up to 16 bytes past a tensor and sparse kernels up to 32; every buffer that we own
// keeps this much readable memory behind its end.
inline constexpr size_t kOverreadBytes = 64;
inline constexpr size_t kBufferAlignment = 64;

struct BufferDeleter {
  size_t mapped = 0;  // bytes of a mapping; 0 where the memory is the heap's

  void operator()(void* p) const;
};
using AlignedBuffer = std::unique_ptr<uint8_t, BufferDeleter>;

// Zeroed, 64-byte aligned, with kOverreadBytes behind `size`. Null when memory is out. Pages of a
// large one are committed when they are first touched: what a file asks for and does not use costs
// address space alone.
AlignedBuffer AllocateBuffer(size_t size);

// Asks for large pages, whose memory takes less time to come by, where whole ones lie in
// [memory, memory + size).
void PreferLargePages(uint8_t* memory, size_t size);

// A file's content: mapped read-only, or copied from memory. Readable for kOverreadBytes beyond its
// end.
class FileBytes {
 public:
  static Result<FileBytes> Map(const std::string& path);
  static Result<FileBytes> Copy(Bytes bytes);

  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&&) = delete;
  FileBytes(const FileBytes&) = delete;
  ~FileBytes();

  Bytes bytes() const { return bytes_; }
  // Lets go of the memory behind whole pages of `part` of a mapped file; they are read again should
  // they be needed. Does nothing for bytes that are not mapped, or not this file's.
  void GiveBack(Bytes part) const;

 private:
  FileBytes() = default;

  Bytes bytes_;
  AlignedBuffer copy_;
  void* mapping_ = nullptr;
  size_t mapping_size_ = 0;
};

}  // namespace xir
