// Whether XNNPACK runs a graph, for compilers to ask before they write a program.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "xir/span.h"
#include "xir/status.h"

namespace xir {

// A delegate's flatbuffer without its weights. Constants with a name are in `named_data`; all
// others read as zeros, and `constant_bytes` is the size of the largest.
struct UnweightedGraph {
  Bytes flatbuffer;
  size_t constant_bytes = 0;
  std::unordered_map<std::string_view, Bytes> named_data;
};

// Why XNNPACK does not run a graph.
struct GraphRefusal {
  std::optional<size_t> node;  // the index of the node, if XNNPACK tells
  std::string reason;          // one sentence
};

// Does what loading a delegate does, up to planning memory for the largest shapes: defines every
// node, creates the operators and reshapes them. No weight is read or packed, so it takes
// microseconds per node. Fails if XNNPACK is not found; `xnnpack_paths` as in LoadOptions.
Result<std::optional<GraphRefusal>> CheckGraph(const UnweightedGraph& graph,
                                               Span<const std::string> xnnpack_paths);

}  // namespace xir
