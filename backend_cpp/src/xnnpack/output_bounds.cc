#include "xnnpack/output_bounds.h"

#include <limits>

namespace xir {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

bool OutputBounds::finite() const { return min > -kInfinity || max < kInfinity; }

OutputBounds BoundsOf(const graph::XNode& node) {
  const auto* stored = node.output_min_max();
  if (stored == nullptr) return {-kInfinity, kInfinity};
  return {stored->output_min(), stored->output_max()};
}

}  // namespace xir
