// The memory that XNNPACK asks for: workspaces for activations, operators, indirections, and what
// it packs without asking its cache.
//
// XNNPACK has one allocator for the process, which it takes when it is first initialised. Ours asks
// the Allocator that the calling thread works for, and notes in front of each block whose it is.
// Where somebody else in the process has initialised the same library before, XNNPACK keeps theirs,
// and what is here has no effect.
#pragma once

#include "xir/allocator.h"
#include "xnnpack/api.h"

namespace xir {

// For xnn_initialize. Works as long as the process does.
const xnn_allocator* XnnpackAllocator();

// As long as it lives, what XNNPACK allocates in calls of this thread comes from `allocator`, which
// must outlive it; from the system for null. Scopes nest.
class AllocationScope {
 public:
  explicit AllocationScope(Allocator* allocator);
  AllocationScope(const AllocationScope&) = delete;
  ~AllocationScope();

 private:
  Allocator* before_;
};

}  // namespace xir
