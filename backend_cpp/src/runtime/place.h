#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "program/description.h"

namespace xir {

// Empty for a value that is no tensor or has no place in an arena.
std::optional<Place> PlaceOf(const MethodDescription& method, size_t value);

struct PlacedValue {
  Place place;
  size_t value = 0;
  bool written = false;
};

// Two values that overlap, at least one of them written. Empty ones overlap nothing.
std::optional<std::pair<size_t, size_t>> FindOverlap(std::vector<PlacedValue> values);

}  // namespace xir
