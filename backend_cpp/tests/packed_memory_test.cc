// Memory of packed weights: those of several graphs lie in one piece.

#include "xnnpack/packed_memory.h"

#include <cstring>

#include "testing.h"

namespace xir::testing {
namespace {

bool IsAligned(const uint8_t* data, size_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

XIR_TEST(packed_memory_is_taken_in_order) {
  PackedMemory memory;
  uint8_t* first = memory.Reserve(1000, 4000);
  EXPECT(first != nullptr && IsAligned(first, PackedMemory::kAlignment));
  EXPECT(memory.Reserve(900, 0) == first);  // nothing was taken yet
  std::memset(first, 1, 1000);
  memory.Take(1000);
  EXPECT(memory.taken() == 1024);
  EXPECT(memory.Reserve(1000, 4000) == first + 1024);
}

XIR_TEST(packed_memory_outlives_its_chunk) {
  PackedMemory memory;
  uint8_t* first = memory.Reserve(1000, 0);
  std::memset(first, 7, 1000);
  memory.Take(1000);
  const auto chunk = memory.chunk();
  const uint8_t* second = memory.Reserve(size_t{1} << 20, 0);
  EXPECT(second != nullptr && memory.chunk() != chunk);
  EXPECT(first[999] == 7);  // whoever holds the chunk holds what is in it
}

XIR_TEST(packed_memory_of_many_bytes_begins_with_a_large_page) {
  PackedMemory memory;
  const size_t large_page = size_t{2} << 20;
#ifndef XIR_FUZZING  // there a buffer ends with a page, so that reading behind it shows
  EXPECT(IsAligned(memory.Reserve(large_page, 3 * large_page), large_page));
#endif
  // What does not fit into what was expected gets memory all the same.
  EXPECT(memory.Reserve(8 * large_page, 3 * large_page) != nullptr);
}

}  // namespace
}  // namespace xir::testing
