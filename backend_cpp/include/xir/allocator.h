#pragma once

#include <cstddef>

namespace xir {

// Where the memory of methods comes from: their arenas, and copies of inputs. XNNPACK's workspaces
// and packed weights come from elsewhere, since XNNPACK has one allocator for the whole process.
// Both functions may be called from any thread.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // Uninitialised memory that begins at a multiple of `alignment`, a power of two; null if memory
  // is exhausted.
  virtual void* Allocate(size_t bytes, size_t alignment) = 0;
  virtual void Release(void* memory, size_t bytes) = 0;
};

}  // namespace xir
