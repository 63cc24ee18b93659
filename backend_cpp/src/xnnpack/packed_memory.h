// The memory that a program's packed weights are in, those of one graph behind those of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "xir/buffer.h"

namespace xir {

// Hands out memory in large pieces, chunks, for weights that are packed one after the other. Graphs
// share them: one of a few megabytes in a chunk of its own would have its first and last ones in
// small pages, from which a processor reads them at half the speed.
class PackedMemory {
 public:
  // Packed weights are at multiples of this. No processor's need more (XNN_ALLOCATION_ALIGNMENT of
  // src/xnnpack/common.h).
  static constexpr size_t kAlignment = 128;

  // `size` bytes, the same each time until Take; null if memory is exhausted. A new chunk is for
  // about `expected` bytes. What is not used of it takes no memory.
  uint8_t* Reserve(size_t size, size_t expected);
  // Takes so many of the bytes that were reserved last.
  void Take(size_t size);

  // Bytes that were taken.
  size_t taken() const { return taken_; }
  // What the last bytes that were reserved are in.
  const std::shared_ptr<const AlignedBuffer>& chunk() const { return chunk_; }

 private:
  std::shared_ptr<const AlignedBuffer> chunk_;
  uint8_t* free_ = nullptr;  // memory that is left in the chunk
  size_t left_ = 0;
  size_t taken_ = 0;
};

}  // namespace xir
