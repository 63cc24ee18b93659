#include "guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace xir::fuzz {

size_t GuardedMemory::count_ = 0;

GuardedMemory::GuardedMemory(size_t size, size_t slack, size_t alignment) : size_(size) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t pages = (size + slack + alignment + page - 1) / page * page;
  mapping_size_ = pages + 2 * page;
  mapping_ =
      mmap(nullptr, mapping_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  auto* first = static_cast<uint8_t*>(mapping_) + page;
  if (mprotect(first, pages, PROT_READ | PROT_WRITE) != 0) {
    std::perror("mprotect");
    std::exit(1);
  }
  ++count_;
  const uintptr_t latest = reinterpret_cast<uintptr_t>(first) + pages - slack - size;
  data_ = reinterpret_cast<uint8_t*>(latest / alignment * alignment);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_size_(other.mapping_size_),
      data_(other.data_),
      size_(other.size_) {}

GuardedMemory::~GuardedMemory() {
  if (mapping_ == nullptr) return;
  munmap(mapping_, mapping_size_);
  --count_;
}

}  // namespace xir::fuzz
