// XNNPACK graphs from draws: every kind of node, with operands, attributes and constants that
// mostly agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draws.h"
#include "program_file.h"
#include "xnnpack_generated.h"

namespace xir::fuzz {

// Tags from here on are not ExecuTorch's.
constexpr auto kFirstOwnKind = static_cast<graph::XNodeUnion>(128);

// A tensor that the graph takes or gives, by its place among a call's arguments.
struct ExternalTensor {
  graph::XNNDatatype datatype = graph::XNNDatatype::FP32;
  std::vector<uint32_t> dims;  // in physical order
  bool output = false;
};

struct BuiltGraph {
  Blob blob;  // with header and constants
  std::vector<ExternalTensor> externals;
};

// With `odd`, now and then something does not agree: a shape, a type, a flag, an id. Without it
// the graph is one that a compiler could have written. With `weights`, half of its nodes have some,
// which few kinds do.
BuiltGraph BuildGraph(Draws* draws, bool odd, bool weights = false);

}  // namespace xir::fuzz
