#pragma once

#include <cstdint>
#include <vector>

#include "xnnpack_generated.h"

namespace xir {

// The ids of the values that a node reads and writes, absent ones left out.
struct NodeValues {
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
};

NodeValues ValuesOf(const graph::XNode& node);

}  // namespace xir
