#include "runtime/place.h"

#include <algorithm>
#include <tuple>

namespace xir {

std::optional<Place> PlaceOf(const MethodDescription& method, size_t value) {
  const TensorDescription* tensor = method.TensorAt(value);
  return tensor == nullptr ? std::nullopt : tensor->place;
}

std::optional<std::pair<size_t, size_t>> FindOverlap(std::vector<PlacedValue> values) {
  const auto empty = [](const PlacedValue& each) { return each.place.begin == each.place.end; };
  values.erase(std::remove_if(values.begin(), values.end(), empty), values.end());
  std::sort(values.begin(), values.end(), [](const PlacedValue& a, const PlacedValue& b) {
    return std::tie(a.place.arena, a.place.begin) < std::tie(b.place.arena, b.place.begin);
  });
  // Of the places before this one in its arena: the one that ends last, and the one that ends last
  // of those written.
  const PlacedValue *farthest = nullptr, *farthest_written = nullptr;
  const auto extend = [](const PlacedValue** to, const PlacedValue& each) {
    if (*to == nullptr || (*to)->place.arena != each.place.arena ||
        (*to)->place.end < each.place.end) {
      *to = &each;
    }
  };
  for (const PlacedValue& each : values) {
    const PlacedValue* other = each.written ? farthest : farthest_written;
    if (other != nullptr && other->place.Overlaps(each.place)) {
      return std::pair(other->value, each.value);
    }
    extend(&farthest, each);
    if (each.written) extend(&farthest_written, each);
  }
  return std::nullopt;
}

}  // namespace xir
