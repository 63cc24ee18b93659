// What C++ code of this process has allocated, and what the thread has computed: a file must not
// make the runtime take more of either than is in proportion to its size. Memory that programs ask
// for by sizes in the file, arenas and XNNPACK's, is not allocated by operator new.
#pragma once

#include <cstdint>

namespace xir::fuzz {

// From its construction on.
class AllocationMeter {
 public:
  AllocationMeter();

  // Bytes by which the memory in use has grown at most.
  uint64_t peak() const;
  // Seconds of the processor.
  double seconds() const;

 private:
  int64_t before_;
  double start_;
};

}  // namespace xir::fuzz
