#include "graph_builder.h"

#include "draw_nodes.h"

namespace xir::fuzz {
namespace {

// Nodes whose constants XNNPACK packs.
constexpr XNodeUnion kWithWeights[] = {XNodeUnion::XNNFullyConnected, XNodeUnion::XNNConv2d,
                                       XNodeUnion::XNNDepthwiseConv2d,
                                       XNodeUnion::XNNConvTranspose2d};

void AddNode(DrawnGraph* g, bool weights) {
  const auto& kinds = graph::EnumValuesXNodeUnion();
  constexpr size_t kCount = sizeof(kinds) / sizeof(kinds[0]);
  XNodeUnion kind = kinds[1 + g->draws().Below(kCount - 1)];
  if (weights && g->draws().OneIn(2)) kind = g->draws().Of(kWithWeights);
  // A program for both runtimes has nodes that both know.
  if (!g->odd() && kind >= kFirstOwnKind) return AddUnary(g, XNodeUnion::XNNAbs);
  switch (kind) {
    case XNodeUnion::XNNFullyConnected:
      return AddFullyConnected(g);
    case XNodeUnion::XNNConv2d:
    case XNodeUnion::XNNDepthwiseConv2d:
    case XNodeUnion::XNNConvTranspose2d:
      return AddConv(g, kind);
    case XNodeUnion::XNNAvgPooling2d:
    case XNodeUnion::XNNMaxPooling2d:
      return AddPooling(g, kind);
    case XNodeUnion::XNNArgMaxPooling2d:
      return AddArgMax(g);
    case XNodeUnion::XNNGlobalAvgPooling2d:
      return AddGlobalPooling(g);
    case XNodeUnion::XNNBatchMatrixMultiply:
      return AddMatrixMultiply(g);
    case XNodeUnion::XNNStaticTranspose:
      return AddTranspose(g);
    case XNodeUnion::XNNStaticReshape:
      return AddReshape(g);
    case XNodeUnion::XNNStaticSlice:
      return AddSlice(g);
    case XNodeUnion::XNNStaticConstantPad:
      return AddPad(g);
    case XNodeUnion::XNNStaticResizeBilinear2D:
      return AddResize(g);
    case XNodeUnion::XNNConcatenate2:
    case XNodeUnion::XNNConcatenate3:
    case XNodeUnion::XNNConcatenate4:
    case XNodeUnion::XNNConcatenate5:
      return AddConcatenate(g, kind);
    case XNodeUnion::XNNConvert:
      return AddConvert(g);
    case XNodeUnion::XNNELU:
    case XNodeUnion::XNNLeakyReLU:
      return AddWithSlope(g, kind);
    case XNodeUnion::XNNClamp:
    case XNodeUnion::XNNCopy:
    case XNodeUnion::XNNSoftmax:
      return AddUnary(g, kind);
#define XIR_UNARY(name, op)   \
  case XNodeUnion::XNN##name: \
    return AddUnary(g, kind);
#define XIR_BINARY(name, op)  \
  case XNodeUnion::XNN##name: \
    return AddBinary(g, kind);
#define XIR_REDUCE(name, op)  \
  case XNodeUnion::XNN##name: \
    return AddReduce(g, kind);
#define XIR_NODE(name)
#include "xnnpack/node_dispatch.inc"
#undef XIR_UNARY
#undef XIR_BINARY
#undef XIR_REDUCE
#undef XIR_NODE
    case XNodeUnion::XNNScaledDotProductAttention:
      if (g->odd()) g->Push(kind, graph::XNNScaledDotProductAttentionT());
      return;
    // No default: a node that has no case here does not compile.
    case XNodeUnion::NONE:
      return;
  }
}

}  // namespace

BuiltGraph BuildGraph(Draws* draws, bool odd, bool weights) {
  DrawnGraph graph(draws, odd);
  for (uint64_t i = 1 + draws->Below(3); i > 0; --i) {
    const XNNDatatype type = draws->Of(kPlain);
    graph.AddExternal(type, graph.AnyDims(draws->Below(2) == 0 ? 4 : draws->Below(6)), false);
  }
  for (uint64_t i = 1 + draws->Below(odd ? 8 : 5); i > 0; --i) AddNode(&graph, weights);
  return graph.Build();
}

}  // namespace xir::fuzz
