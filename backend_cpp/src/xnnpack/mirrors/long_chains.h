#pragma once

#include <cstdint>
#include <unordered_set>

#include "verify/graph_view.h"

namespace xir {

// The ids of the values that a copy has to follow, for the nodes behind to read, so that no chain
// of elementwise nodes that begins and ends with 8-bit integers has ten nodes.
//
// XNNPACK makes a look-up of such a chain, of up to ten nodes. It copies them into an array of ten
// on the stack and runs that as a graph, for which it wants room for one node more: it reallocates
// the array, which is no memory of the heap (xnn_subgraph_fuse_unary_quantized_into_lut and
// rewrite_dequant_bmm_at in src/subgraph.c of google/XNNPACK at commit 92a7ad501b).
std::unordered_set<uint32_t> CutsOfLongChains(const GraphView& view);

}  // namespace xir
