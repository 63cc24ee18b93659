// Memory that the runtime and delegates allocate for themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "xir/allocator.h"

namespace xir {

// XNNPACK reads up to 16 bytes past the end of a tensor, and its sparse kernels up to 32. Every
// buffer that the runtime owns has this much readable memory past its end.
inline constexpr size_t kOverreadBytes = 64;
inline constexpr size_t kBufferAlignment = 64;

struct BufferDeleter {
  size_t size = 0;  // bytes of a mapping, or from the allocator; 0 for memory from the heap
  Allocator* allocator = nullptr;
  size_t before = 0;  // bytes of memory from the heap that lie before the buffer

  void operator()(void* p) const;
};
using AlignedBuffer = std::unique_ptr<uint8_t, BufferDeleter>;

// Zeroed, 64-byte aligned memory, with kOverreadBytes past `size`; null if memory is exhausted.
// Pages of a large buffer are committed when they are first touched, so memory that a file asks for
// but does not use costs only address space. The allocator must outlive the buffer.
AlignedBuffer AllocateBuffer(size_t size, Allocator* allocator = nullptr);

// The same of the heap and without zeros, for memory that is written before it is read. A process
// that loads one program after another gets pages that it has, where AllocateBuffer's are new ones.
AlignedBuffer AllocateUnzeroed(size_t size);

}  // namespace xir
