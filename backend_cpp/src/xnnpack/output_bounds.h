#pragma once

#include "xnnpack_generated.h"

namespace xir {

// Bounds on a node's result; infinite where the file has none.
struct OutputBounds {
  float min;
  float max;

  bool finite() const;
};

OutputBounds BoundsOf(const graph::XNode& node);

}  // namespace xir
