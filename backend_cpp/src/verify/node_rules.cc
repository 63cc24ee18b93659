#include "verify/node_rules.h"

#include <algorithm>
#include <initializer_list>

namespace xir {
namespace {

using graph::XNodeUnion;
using T = graph::XNNDatatype;

#include "verify/node_signatures.inc"

constexpr const NodeRules* Find(XNodeUnion kind) {
  for (const NodeRules& rules : kRules) {
    if (rules.kind == kind) return &rules;
  }
  return nullptr;
}

// Every kind of node that the verifier and the builder handle has rules.
#define XIR_NODE(name) static_assert(Find(XNodeUnion::XNN##name) != nullptr, #name);
#define XIR_UNARY(name, op) XIR_NODE(name)
#define XIR_BINARY(name, op) XIR_NODE(name)
#define XIR_REDUCE(name, op) XIR_NODE(name)
#include "xnnpack/node_dispatch.inc"
#undef XIR_NODE
#undef XIR_UNARY
#undef XIR_BINARY
#undef XIR_REDUCE

NodeOperands MakeOperands(std::initializer_list<uint32_t> operands,
                          std::initializer_list<uint32_t> results, uint32_t flags) {
  NodeOperands ids;
  ids.operands.fill(XNN_INVALID_VALUE_ID);
  ids.results.fill(XNN_INVALID_VALUE_ID);
  std::copy(operands.begin(), operands.end(), ids.operands.begin());
  std::copy(results.begin(), results.end(), ids.results.begin());
  ids.flags = flags;
  return ids;
}

}  // namespace

const NodeRules* FindNodeRules(XNodeUnion kind) { return Find(kind); }

uint64_t GroupMultiple() { return kGroupMultiple; }

NodeOperands OperandsOf(const graph::XNode& node) {
  switch (node.xnode_union_type()) {
#include "verify/node_operands.inc"
    default:
      return MakeOperands({}, {}, 0);
  }
}

}  // namespace xir
