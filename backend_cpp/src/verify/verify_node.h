#pragma once

#include "verify/graph_verifier.h"

namespace xir {

// Checks one node against its operands and marks its results as written.
Status VerifyXnode(const graph::XNode& node, GraphVerifier* graph);

}  // namespace xir
