#pragma once

#include <cstdint>
#include <unordered_set>

#include "verify/graph_view.h"

namespace xir {

// The ids of transposed values that a copy has to follow, for the nodes behind to read: a product
// reads them as its right operand, maybe through transposes of the last two dimensions, and as
// another one.
//
// XNNPACK turns a transpose for the right operand of a product where that is its one reader, and
// counts a node that reads it twice as one (optimize_common_subgraphs_gemm_rhs_transpose in
// src/subgraph.c of google/XNNPACK at commit 92a7ad501b).
std::unordered_set<uint32_t> TurnedTransposes(const GraphView& view);

}  // namespace xir
