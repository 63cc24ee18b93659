#pragma once

#include <cstdint>
#include <unordered_set>

#include "verify/graph_view.h"

namespace xir {

// The ids of the graph's outputs that are fp16 or bf16 values converted to fp32, where another node
// reads the value too. They need a copy between conversion and output.
//
// Behind a node that has no kernel for halves XNNPACK keeps values in fp32, and drops a conversion
// to fp32. Where its result is an output, the other readers of its operand are given that output,
// and their kernels take its bytes for halves (FallbackToFp32 in
// src/subgraph/rewrites/cvt_to_fp32.cc of google/XNNPACK at commit 92a7ad501b).
std::unordered_set<uint32_t> WidenedOutputs(const GraphView& view);

}  // namespace xir
