#include "runtime/written_ranges.h"

#include <algorithm>

namespace xir {

void WrittenRanges::Add(const void* data, size_t nbytes, size_t owner) {
  if (nbytes == 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  ranges_.push_back({begin, begin + nbytes, owner});
}

void WrittenRanges::Sort() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  Range before;
  for (Range& range : ranges_) {
    const bool further = range.end > before.furthest;
    range.furthest = further ? range.end : before.furthest;
    range.furthest_owner = further ? range.owner : before.furthest_owner;
    range.furthest_of_others = before.furthest_of_others;
    if (before.furthest_owner != range.owner) {
      range.furthest_of_others =
          std::max(before.furthest_of_others, std::min(before.furthest, range.end));
    }
    before = range;
  }
}

bool WrittenRanges::Overlap(const void* data, size_t nbytes, size_t owner) const {
  if (nbytes == 0) return false;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const auto behind =
      std::lower_bound(ranges_.begin(), ranges_.end(), begin + nbytes,
                       [](const Range& range, uintptr_t end) { return range.begin < end; });
  if (behind == ranges_.begin()) return false;
  const Range& last = *(behind - 1);
  return (last.furthest_owner == owner ? last.furthest_of_others : last.furthest) > begin;
}

}  // namespace xir
