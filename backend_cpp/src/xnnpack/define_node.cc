#include "xnnpack/define_node.h"

namespace xir {

xnn_status DefineNode(const graph::XNode& node, const SubgraphBuilder& builder) {
  using graph::XNodeUnion;
  const NodeContext context{builder, BoundsOf(node)};
  switch (node.xnode_union_type()) {
#define XIR_UNARY(name, op)   \
  case XNodeUnion::XNN##name: \
    return DefineUnary(*node.xnode_union_as_XNN##name(), op, context);
#define XIR_BINARY(name, op)  \
  case XNodeUnion::XNN##name: \
    return DefineBinary(*node.xnode_union_as_XNN##name(), op, context);
#define XIR_REDUCE(name, op)  \
  case XNodeUnion::XNN##name: \
    return DefineReduce(*node.xnode_union_as_XNN##name(), op, context);
#define XIR_NODE(name)        \
  case XNodeUnion::XNN##name: \
    return Define##name(*node.xnode_union_as_XNN##name(), context);
#include "xnnpack/node_dispatch.inc"
#undef XIR_UNARY
#undef XIR_BINARY
#undef XIR_REDUCE
#undef XIR_NODE
    default:
      return xnn_status_unsupported_parameter;
  }
}

}  // namespace xir
