// Memory of the runtime's and of delegates' own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "xir/allocator.h"

namespace xir {

// XNNPACK reads up to 16 bytes past a tensor and sparse kernels up to 32; every buffer that we own
// keeps this much readable memory behind its end.
inline constexpr size_t kOverreadBytes = 64;
inline constexpr size_t kBufferAlignment = 64;

struct BufferDeleter {
  size_t size = 0;  // bytes of a mapping, or of the allocator's; 0 where the memory is the heap's
  Allocator* allocator = nullptr;

  void operator()(void* p) const;
};
using AlignedBuffer = std::unique_ptr<uint8_t, BufferDeleter>;

// Zeroed, 64-byte aligned, with kOverreadBytes behind `size`. Null when memory is out. Pages of a
// large one are committed when they are first touched: what a file asks for and does not use costs
// address space alone.
// An allocator has to outlive what it gave.
AlignedBuffer AllocateBuffer(size_t size, Allocator* allocator = nullptr);

// The same of the heap and without zeros, for memory that is written before it is read. A process
// that loads one program after another gets pages that it has, where AllocateBuffer's are new ones.
AlignedBuffer AllocateUnzeroed(size_t size);

}  // namespace xir
