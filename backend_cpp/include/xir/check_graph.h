// What a compiler asks before it writes a program: whether XNNPACK runs a graph.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "xir/span.h"
#include "xir/status.h"

namespace xir {

// A delegate's flatbuffer without its weights. A constant without a name is zeros, of which
// `constant_bytes` are enough for the largest; those with one are in `named_data`.
struct UnweightedGraph {
  Bytes flatbuffer;
  size_t constant_bytes = 0;
  std::unordered_map<std::string_view, Bytes> named_data;
};

// Why XNNPACK does not run a graph.
struct GraphRefusal {
  std::optional<size_t> node;  // by index, where XNNPACK says which one it is
  std::string reason;          // one sentence
};

// Does what loading a delegate does, up to planning memory for the largest shapes: defines every
// node, creates the operators and reshapes them. No weight is read or packed, so it takes
// microseconds a node. Fails where there is no XNNPACK to ask; `xnnpack_paths` as in LoadOptions.
Result<std::optional<GraphRefusal>> CheckGraph(const UnweightedGraph& graph,
                                               Span<const std::string> xnnpack_paths);

}  // namespace xir
