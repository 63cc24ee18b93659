#include "xnnpack/allocation.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/file_bytes.h"

namespace xir {
namespace {

thread_local Allocator* g_allocator = nullptr;

// In front of what XNNPACK gets.
struct Block {
  Allocator* owner;  // null is the system
  uint8_t* begin;    // of all memory of the block
  size_t bytes;
  size_t size;  // of what XNNPACK gets
  bool mapped;
};

constexpr size_t kSmallestAlignment = alignof(std::max_align_t);
constexpr size_t kLargePage = size_t{2} << 20;

size_t RoundUp(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

Block* BlockOf(void* memory) {
  return reinterpret_cast<Block*>(static_cast<uint8_t*>(memory) - sizeof(Block));
}

// A workspace begins with a large page, if there are such: most of loading a small model is to come
// by its pages. The leak sanitizer would not look for pointers in a mapping.
bool IsMapped(size_t size) {
#ifdef __SANITIZE_ADDRESS__
  return false;
#else
  return size >= kLargePage;
#endif
}

void* Allocate(size_t alignment, size_t size) {
  alignment = std::max(alignment, kSmallestAlignment);
  Block block{g_allocator, nullptr, 0, size, false};
  block.mapped = block.owner == nullptr && IsMapped(size);
  if (block.mapped) alignment = std::max(alignment, kLargePage);
  const size_t before = RoundUp(sizeof(Block), alignment);
  if (__builtin_add_overflow(size, before + alignment, &block.bytes)) return nullptr;
  if (block.owner != nullptr) {
    block.begin = static_cast<uint8_t*>(block.owner->Allocate(block.bytes, alignment));
  } else if (block.mapped) {
    void* memory = mmap(nullptr, block.bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    block.begin = memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
  } else {
    block.begin = static_cast<uint8_t*>(std::malloc(block.bytes));
  }
  if (block.begin == nullptr) return nullptr;
  const auto first = reinterpret_cast<uintptr_t>(block.begin) + sizeof(Block);
  uint8_t* memory = block.begin + sizeof(Block) + (RoundUp(first, alignment) - first);
  if (block.mapped) PreferLargePages(memory, size);
  std::memcpy(BlockOf(memory), &block, sizeof(block));
  return memory;
}

void Release(void* memory) {
  if (memory == nullptr) return;
  const Block block = *BlockOf(memory);
  if (block.owner != nullptr) return block.owner->Release(block.begin, block.bytes);
  if (block.mapped) {
    munmap(block.begin, block.bytes);
  } else {
    std::free(block.begin);
  }
}

void* Reallocate(void* memory, size_t size) {
  void* moved = Allocate(kSmallestAlignment, size);
  if (moved == nullptr || memory == nullptr) return moved;
  std::memcpy(moved, memory, std::min(size, BlockOf(memory)->size));
  Release(memory);
  return moved;
}

}  // namespace

const xnn_allocator* XnnpackAllocator() {
  static const xnn_allocator kAllocator = {
      nullptr,
      [](void*, size_t size) { return Allocate(kSmallestAlignment, size); },
      [](void*, void* memory, size_t size) { return Reallocate(memory, size); },
      [](void*, void* memory) { Release(memory); },
      [](void*, size_t alignment, size_t size) { return Allocate(alignment, size); },
      [](void*, void* memory) { Release(memory); },
  };
  return &kAllocator;
}

AllocationScope::AllocationScope(Allocator* allocator) : before_(g_allocator) {
  g_allocator = allocator;
}

AllocationScope::~AllocationScope() { g_allocator = before_; }

}  // namespace xir
