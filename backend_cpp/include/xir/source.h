// Where the bytes of a program or of its data come from.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "xir/span.h"

namespace xir {

class Source {
 public:
  enum class Kind { kPath, kDescriptor, kCopied, kBorrowed };

  // A file, mapped. It must not change while a program that was loaded from it lives.
  static Source Path(std::string path) {
    Source source(Kind::kPath);
    source.path_ = std::move(path);
    return source;
  }
  // `size` bytes of an open file from `offset` on, mapped; for example an asset in a phone's
  // package. A size of 0 means the rest of the file. The descriptor may be closed once the
  // program is loaded. If the offset is not a multiple of 16, the bytes are copied.
  static Source Descriptor(int descriptor, uint64_t offset = 0, uint64_t size = 0) {
    Source source(Kind::kDescriptor);
    source.descriptor_ = descriptor;
    source.offset_ = offset;
    source.size_ = size;
    return source;
  }
  // Memory that is read while the program loads, and copied.
  static Source Copied(Bytes bytes) { return Source(Kind::kCopied, bytes); }
  // Memory that is used in place. It must stay valid and unchanged for as long as the program and
  // its methods live. It is copied nevertheless if it does not begin at a multiple of 16, or ends
  // less than 64 bytes before the end of a page, past which XNNPACK might read.
  static Source Borrowed(Bytes bytes) { return Source(Kind::kBorrowed, bytes); }

  Kind kind() const { return kind_; }
  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  uint64_t offset() const { return offset_; }
  uint64_t size() const { return size_; }
  Bytes bytes() const { return bytes_; }

 private:
  explicit Source(Kind kind, Bytes bytes = {}) : kind_(kind), bytes_(bytes) {}

  Kind kind_;
  std::string path_;
  int descriptor_ = -1;
  uint64_t offset_ = 0;
  uint64_t size_ = 0;
  Bytes bytes_;
};

}  // namespace xir
