#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xir {

// Memory of callers that an execution writes to, to be asked what else lies there: in the time that
// sorting takes, since a file may have as many inputs as it has bytes to name them.
class WrittenRanges {
 public:
  // `owner` is anything but another owner's number.
  void Add(const void* data, size_t nbytes, size_t owner);
  // After the last Add and before the first Overlap.
  void Sort();
  // Whether these bytes have one in common with a range of another owner.
  bool Overlap(const void* data, size_t nbytes, size_t owner) const;

 private:
  struct Range {
    uintptr_t begin = 0, end = 0;
    size_t owner = 0;
    // Among this and those before it: the end that is furthest, whose that is, and the furthest of
    // others.
    uintptr_t furthest = 0;
    size_t furthest_owner = 0;
    uintptr_t furthest_of_others = 0;
  };
  std::vector<Range> ranges_;  // by their beginnings
};

}  // namespace xir
