#include "draw_nodes.h"

namespace xir::fuzz {
namespace {

using Entry = DrawnGraph::Entry;

template <typename T>
void FinishSlope(DrawnGraph* g, XNodeUnion kind, T node) {
  const Entry* input = g->Operand();
  node.input_id = g->Id(input->id);
  node.output_id = g->Id(g->Result(input->type, input->dims)->id);
  node.flags = g->Flags(0);
  g->Push(kind, node);
}

// Another operand that broadcasts with `a`.
const Entry* Partner(DrawnGraph* g, const Entry& a) {
  for (size_t tries = 0; tries < 2; ++tries) {
    const Entry* other = g->Operand();
    if (other->type == a.type && other->dims == a.dims) return other;
  }
  Dims dims = a.dims;
  for (uint32_t& dim : dims) {
    if (g->draws().OneIn(3)) dim = 1;
  }
  if (!dims.empty() && g->draws().OneIn(3)) dims.erase(dims.begin());
  return g->AddConstant(a.type, dims);
}

}  // namespace

void AddUnary(DrawnGraph* g, XNodeUnion kind) {
  const Entry* input = g->Operand();
  if (kind == XNodeUnion::XNNSoftmax && input->dims.empty() && !g->odd()) kind = XNodeUnion::XNNAbs;
  graph::XNNNode1x1T node;
  node.input_id = g->Id(input->id);
  node.output_id = g->Id(g->Result(input->type, input->dims)->id);
  node.flags = g->Flags(0);
  g->Push(kind, node);
}

void AddWithSlope(DrawnGraph* g, XNodeUnion kind) {
  const float slope = g->AnyScale();
  if (kind == XNodeUnion::XNNELU) {
    graph::XNNELUT node;
    node.alpha = slope;
    return FinishSlope(g, kind, node);
  }
  graph::XNNLeakyReLUT node;
  node.negative_slope = slope;
  FinishSlope(g, kind, node);
}

void AddBinary(DrawnGraph* g, XNodeUnion kind) {
  const Entry a = *g->Operand();
  const Entry* b = Partner(g, a);
  graph::XNNNode2x1T node;
  const bool swapped = g->draws().OneIn(4);
  node.input1_id = g->Id(swapped ? b->id : a.id);
  node.input2_id = g->Id(swapped ? a.id : b->id);
  node.output_id = g->Id(g->Result(a.type, a.dims)->id);
  node.flags = g->Flags(0);
  g->Push(kind, node);
}

}  // namespace xir::fuzz
