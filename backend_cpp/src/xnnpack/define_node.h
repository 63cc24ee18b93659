// One definition a node. Each calls XNNPACK with what the file holds, which has been verified. A
// row XIR_NODE(<name>) of node_dispatch.inc needs its Define<name> here.
#pragma once

#include "xnnpack/output_bounds.h"
#include "xnnpack/subgraph_builder.h"

namespace xir {

struct NodeContext {
  const SubgraphBuilder& builder;
  OutputBounds bounds;

  xnn_subgraph_t subgraph() const { return builder.subgraph(); }
  uint32_t operator()(uint32_t id) const { return builder.Id(id); }
};

xnn_status DefineNode(const graph::XNode& node, const SubgraphBuilder& builder);

// define_elementwise.cc
xnn_status DefineUnary(const graph::XNNNode1x1& node, xnn_unary_operator op, const NodeContext& c);
xnn_status DefineBinary(const graph::XNNNode2x1& node, xnn_binary_operator op,
                        const NodeContext& c);
xnn_status DefineClamp(const graph::XNNNode1x1& node, const NodeContext& c);
xnn_status DefineConvert(const graph::XNNNode1x1& node, const NodeContext& c);
xnn_status DefineCopy(const graph::XNNNode1x1& node, const NodeContext& c);
// A copy that XNNPACK does not join with the node before it, as it does with xnn_define_copy.
xnn_status DefineKeptCopy(xnn_subgraph_t subgraph, size_t rank, uint32_t input, uint32_t output);
xnn_status DefineSoftmax(const graph::XNNNode1x1& node, const NodeContext& c);
xnn_status DefineELU(const graph::XNNELU& node, const NodeContext& c);
xnn_status DefineLeakyReLU(const graph::XNNLeakyReLU& node, const NodeContext& c);

// define_matrix.cc
xnn_status DefineFullyConnected(const graph::XNNFullyConnected& node, const NodeContext& c);
xnn_status DefineBatchMatrixMultiply(const graph::XNNNode2x1& node, const NodeContext& c);

// define_spatial.cc
xnn_status DefineConv2d(const graph::XNNNodeConv& node, const NodeContext& c);
xnn_status DefineDepthwiseConv2d(const graph::XNNNodeConv& node, const NodeContext& c);
xnn_status DefineConvTranspose2d(const graph::XNNNodeConv& node, const NodeContext& c);
xnn_status DefineAvgPooling2d(const graph::XNNPooling2D& node, const NodeContext& c);
xnn_status DefineMaxPooling2d(const graph::XNNPooling2D& node, const NodeContext& c);
xnn_status DefineArgMaxPooling2d(const graph::XNNArgMaxPooling2d& node, const NodeContext& c);
xnn_status DefineReduce(const graph::XNNStaticReduce& node, xnn_reduce_operator op,
                        const NodeContext& c);
xnn_status DefineGlobalAvgPooling2d(const graph::XNNNode1x1& node, const NodeContext& c);
xnn_status DefineStaticResizeBilinear2D(const graph::XNNStaticResizeBilinear2D& node,
                                        const NodeContext& c);

// define_movement.cc
xnn_status DefineStaticTranspose(const graph::XNNStaticTranspose& node, const NodeContext& c);
xnn_status DefineStaticReshape(const graph::XNNStaticReshape& node, const NodeContext& c);
xnn_status DefineStaticSlice(const graph::XNNStaticSlice& node, const NodeContext& c);
xnn_status DefineStaticConstantPad(const graph::XNNStaticConstantPad& node, const NodeContext& c);
xnn_status DefineConcatenate2(const graph::XNNCat& node, const NodeContext& c);
xnn_status DefineConcatenate3(const graph::XNNCat& node, const NodeContext& c);
xnn_status DefineConcatenate4(const graph::XNNCat& node, const NodeContext& c);
xnn_status DefineConcatenate5(const graph::XNNCat& node, const NodeContext& c);

}  // namespace xir
