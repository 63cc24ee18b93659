// Memory that nobody may leave: pages without access lie before and behind it, so that an access
// beyond its ends is a fault also in code that no sanitizer instruments.
#pragma once

#include <cstddef>
#include <cstdint>

namespace xir::fuzz {

class GuardedMemory {
 public:
  // `size` bytes that end `slack` bytes before the guard, as closely as `alignment` lets them.
  GuardedMemory(size_t size, size_t slack, size_t alignment);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  GuardedMemory(const GuardedMemory&) = delete;
  ~GuardedMemory();

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

  // How many there are, each of which is three mappings: a process has 65,530.
  static size_t count() { return count_; }

 private:
  void* mapping_ = nullptr;
  size_t mapping_size_ = 0;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  static size_t count_;
};

}  // namespace xir::fuzz
