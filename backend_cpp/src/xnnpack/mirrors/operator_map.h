#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verify/graph_view.h"
#include "xir/span.h"

namespace xir {

// What one of XNNPACK's operators computes.
struct MappedOperator {
  static constexpr size_t kUnknown = SIZE_MAX;

  size_t node = kUnknown;         // an index of the graph's nodes
  uint32_t debug_handle = 65535;  // of that node, or of all that it may be; 65535 is unknown
};

// The nodes that XNNPACK's operators compute; `names` are theirs, in the order in which they run.
// XNNPACK drops nodes (a clamp that joins a convolution, a copy), rewrites some (a maximum with a
// number is a clamp), and inserts operators that are no nodes (a conversion, a packing of the left
// matrix). An operator is mapped where every way to explain the names gives it the same node.
//
// How operators follow from nodes: src/subgraph.c (xnn_subgraph_optimize), src/operator-utils.c
// (names) and src/runtime.c (the order of the profile) of google/XNNPACK at commit 92a7ad501b.
std::vector<MappedOperator> MapOperators(const GraphView& view, Span<const std::string> names);

}  // namespace xir
