// XNNPACK's memory comes from the application's allocator, and goes back to the one it came from.

#include "xnnpack/allocation.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "testing.h"

namespace xir::testing {
namespace {

class Counting final : public Allocator {
 public:
  void* Allocate(size_t bytes, size_t alignment) override {
    if (bytes > kMost) return nullptr;
    ++blocks;
    live += bytes;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void Release(void* memory, size_t bytes) override {
    --blocks;
    live -= bytes;
    std::free(memory);
  }

  static constexpr size_t kMost = size_t{1} << 24;
  int blocks = 0;
  size_t live = 0;
};

bool IsAligned(const void* memory, size_t alignment) {
  return reinterpret_cast<uintptr_t>(memory) % alignment == 0;
}

}  // namespace

XIR_TEST(blocks_are_aligned_and_writable) {
  const xnn_allocator& of = *XnnpackAllocator();
  Counting counting;
  for (Allocator* allocator :
       {static_cast<Allocator*>(nullptr), static_cast<Allocator*>(&counting)}) {
    const AllocationScope scope(allocator);
    std::vector<void*> blocks;
    for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{4096}, size_t{3} << 20}) {
      for (const size_t alignment : {size_t{16}, size_t{64}, size_t{128}}) {
        blocks.push_back(of.aligned_allocate(of.context, alignment, size));
        EXPECT(blocks.back() != nullptr && IsAligned(blocks.back(), alignment));
        std::memset(blocks.back(), 0x5A, size);
      }
      blocks.push_back(of.allocate(of.context, size));
      EXPECT(blocks.back() != nullptr && IsAligned(blocks.back(), alignof(std::max_align_t)));
      std::memset(blocks.back(), 0x5A, size);
    }
    EXPECT(allocator == nullptr || counting.blocks == static_cast<int>(blocks.size()));
    for (void* block : blocks) of.aligned_deallocate(of.context, block);
    of.deallocate(of.context, nullptr);
    EXPECT(of.allocate(of.context, SIZE_MAX) == nullptr);
    EXPECT(of.aligned_allocate(of.context, 64, SIZE_MAX - 64) == nullptr);
  }
  EXPECT(counting.blocks == 0 && counting.live == 0);
}

XIR_TEST(blocks_grow_and_shrink_with_their_content) {
  const xnn_allocator& of = *XnnpackAllocator();
  auto* bytes = static_cast<uint8_t*>(of.reallocate(of.context, nullptr, 10));
  for (uint8_t i = 0; i < 10; ++i) bytes[i] = i;
  for (const size_t size : {size_t{5000}, size_t{5} << 20, size_t{10}}) {
    bytes = static_cast<uint8_t*>(of.reallocate(of.context, bytes, size));
    EXPECT(bytes != nullptr);
    for (uint8_t i = 0; i < 10; ++i) EXPECT(bytes[i] == i);
  }
  // What cannot grow stays.
  Counting counting;
  {
    const AllocationScope scope(&counting);
    EXPECT(of.reallocate(of.context, bytes, Counting::kMost) == nullptr);
  }
  EXPECT(bytes[9] == 9);
  of.deallocate(of.context, bytes);
}

XIR_TEST(blocks_go_back_where_they_came_from) {
  const xnn_allocator& of = *XnnpackAllocator();
  Counting outer, inner;
  void* from_outer = nullptr;
  void* from_inner = nullptr;
  {
    const AllocationScope scope(&outer);
    {
      const AllocationScope nested(&inner);
      from_inner = of.allocate(of.context, 100);
    }
    from_outer = of.allocate(of.context, 100);
    EXPECT(outer.blocks == 1 && inner.blocks == 1);
    of.deallocate(of.context, from_inner);
    EXPECT(outer.blocks == 1 && inner.blocks == 0);
  }
  void* from_system = of.allocate(of.context, 100);
  EXPECT(outer.blocks == 1);
  of.deallocate(of.context, from_outer);
  of.deallocate(of.context, from_system);
  EXPECT(outer.blocks == 0 && outer.live == 0);
}

}  // namespace xir::testing
