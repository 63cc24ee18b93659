#include "verify/verify_node.h"

#include "verify/node_checks.h"

namespace xir {

Status VerifyXnode(const graph::XNode& node, GraphVerifier* graph) {
  using graph::XNodeUnion;
  switch (node.xnode_union_type()) {
#define XIR_UNARY(name, op)   \
  case XNodeUnion::XNN##name: \
    return VerifyUnary(*node.xnode_union_as_XNN##name(), graph);
#define XIR_BINARY(name, op)  \
  case XNodeUnion::XNN##name: \
    return VerifyBinary(*node.xnode_union_as_XNN##name(), graph);
#define XIR_REDUCE(name, op)  \
  case XNodeUnion::XNN##name: \
    return VerifyReduce(*node.xnode_union_as_XNN##name(), graph);
#define XIR_NODE(name)        \
  case XNodeUnion::XNN##name: \
    return Verify##name(*node.xnode_union_as_XNN##name(), graph);
#include "xnnpack/node_dispatch.inc"
#undef XIR_UNARY
#undef XIR_BINARY
#undef XIR_REDUCE
#undef XIR_NODE
    default:
      return Fail(Code::kUnsupported, "node kind ", static_cast<int>(node.xnode_union_type()),
                  " is unknown to this runtime");
  }
}

}  // namespace xir
