#include "xnnpack/packed_memory.h"

#include <algorithm>
#include <utility>

#include "core/file_bytes.h"

namespace xir {
namespace {

constexpr size_t kSmallestChunk = size_t{64} << 10;

}  // namespace

uint8_t* PackedMemory::Reserve(size_t size, size_t expected) {
  if (size <= left_) return free_;
  const size_t bytes = std::max({size, expected + expected / 4, kSmallestChunk}) + kAlignment;
  AlignedBuffer chunk = AllocateUnzeroed(bytes);
  if (chunk == nullptr) return nullptr;
  PreferLargePages(chunk.get(), std::max(size, expected));
  const auto address = reinterpret_cast<uintptr_t>(chunk.get());
  const size_t skipped = (kAlignment - address % kAlignment) % kAlignment;
  free_ = chunk.get() + skipped;
  left_ = bytes - skipped;
  chunk_ = std::make_shared<const AlignedBuffer>(std::move(chunk));
  return free_;
}

void PackedMemory::Take(size_t size) {
  const size_t used = std::min((size + kAlignment - 1) / kAlignment * kAlignment, left_);
  free_ += used;
  left_ -= used;
  taken_ += used;
}

}  // namespace xir
