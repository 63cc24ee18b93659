// What the fuzzer holds each step of a run to: memory and time in proportion to the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "allocation_meter.h"
#include "core/failing_allocations.h"
#include "draws.h"

namespace xir::fuzz {

constexpr uint64_t kMaxMemory = uint64_t{4} << 20;
constexpr uint64_t kMaxInstructions = 200;

// Ends the process: the runtime did what it promises not to do.
[[noreturn]] void Die(const std::string& what);

// Fails one of the next allocations as long as it lives.
class FailingAllocation {
 public:
  explicit FailingAllocation(Draws* draws) {
    if (draws->OneIn(8)) FailAllocationAfter(draws->Below(12));
  }
  FailingAllocation(const FailingAllocation&) = delete;
  ~FailingAllocation() { FailAllocationAfter(kNoFailure); }
};

// The seconds that an execution may take: so many instructions, each of which may look at all pairs
// of bytes. What small programs compute is over at once.
double ExecutionBound(uint64_t nbytes);

// Looks at what a step takes as long as it lives.
class Bounded {
 public:
  // `times` is how often it may do what loading does, `more_memory` what the caller may ask for.
  Bounded(const char* step, size_t file_size, uint64_t times = 1, uint64_t more_memory = 0)
      : step_(step), file_size_(file_size), times_(times), more_memory_(more_memory) {}
  Bounded(const Bounded&) = delete;
  ~Bounded();

 private:
  const char* step_;
  size_t file_size_;
  uint64_t times_, more_memory_;
  AllocationMeter meter_;
};

}  // namespace xir::fuzz
