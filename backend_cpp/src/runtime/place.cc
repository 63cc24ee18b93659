#include "runtime/place.h"

#include <algorithm>
#include <tuple>

#include "xir/dtype.h"

namespace xir {

using flatbuffers::uoffset_t;

std::optional<Place> PlaceOf(const program::ExecutionPlan& plan, size_t value) {
  const auto* tensor = plan.values()->Get(static_cast<uoffset_t>(value))->val_as_Tensor();
  if (tensor == nullptr || tensor->allocation_info() == nullptr) return std::nullopt;
  uint64_t nbytes = ElementSize(static_cast<DType>(tensor->scalar_type()));
  for (uoffset_t i = 0; tensor->sizes() != nullptr && i < tensor->sizes()->size(); ++i) {
    nbytes *= static_cast<uint64_t>(tensor->sizes()->Get(i));
  }
  const auto& where = *tensor->allocation_info();
  const uint64_t begin =
      static_cast<uint64_t>(where.memory_offset_high()) << 32 | where.memory_offset_low();
  return Place{where.memory_id(), begin, begin + nbytes};
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
