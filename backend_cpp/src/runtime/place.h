#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "verify/program_view.h"

namespace xir {

// The bytes of an arena that a value takes at its largest shape.
struct Place {
  uint32_t arena = 0;
  uint64_t begin = 0, end = 0;

  bool Overlaps(const Place& other) const {
    return arena == other.arena && begin < other.end && other.begin < end;
  }
};

// Empty for a value that is no tensor or has no place in an arena. `plan` is verified.
std::optional<Place> PlaceOf(const program::ExecutionPlan& plan, size_t value);

struct PlacedValue {
  Place place;
  size_t value = 0;
  bool written = false;
};

// Two values that overlap, at least one of them written. Empty ones overlap nothing.
std::optional<std::pair<size_t, size_t>> FindOverlap(std::vector<PlacedValue> values);

}  // namespace xir
