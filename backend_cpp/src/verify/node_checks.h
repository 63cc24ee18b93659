// One function a node. Each reads its operands, whose types, flags and presence have been checked,
// derives the result's shape as XNNPACK will, and reports it with Output. A row XIR_NODE(<name>) of
// node_dispatch.inc needs its Verify<name> here.
#pragma once

#include "verify/graph_verifier.h"
#include "xnnpack/datatype.h"

namespace xir {

// Writes the sizes that `a` and `b` broadcast to into `dims`, except the `last` ones. `dims` has
// the larger of the two ranks.
Status Broadcast(const Dims& a, const Dims& b, size_t last, Dims* dims);

// verify_elementwise.cc
Status VerifyUnary(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifyBinary(const graph::XNNNode2x1& node, GraphVerifier* g);
Status VerifyClamp(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifyConvert(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifyCopy(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifySoftmax(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifyELU(const graph::XNNELU& node, GraphVerifier* g);
Status VerifyLeakyReLU(const graph::XNNLeakyReLU& node, GraphVerifier* g);

// verify_matrix.cc
// Counts the memory of `groups` packed matrices of `columns` columns.
Status PackedWeights(uint64_t groups, uint64_t inner, uint64_t columns, const GraphValue& filter,
                     GraphVerifier* g);
// Succeeds if the bias is absent, or has one element for each of `channels`.
Status CheckBias(uint32_t id, uint64_t channels, const GraphVerifier& g);
Status VerifyFullyConnected(const graph::XNNFullyConnected& node, GraphVerifier* g);
Status VerifyBatchMatrixMultiply(const graph::XNNNode2x1& node, GraphVerifier* g);

// verify_spatial.cc
Status VerifyConv2d(const graph::XNNNodeConv& node, GraphVerifier* g);
Status VerifyDepthwiseConv2d(const graph::XNNNodeConv& node, GraphVerifier* g);
Status VerifyConvTranspose2d(const graph::XNNNodeConv& node, GraphVerifier* g);
Status VerifyAvgPooling2d(const graph::XNNPooling2D& node, GraphVerifier* g);
Status VerifyMaxPooling2d(const graph::XNNPooling2D& node, GraphVerifier* g);
Status VerifyArgMaxPooling2d(const graph::XNNArgMaxPooling2d& node, GraphVerifier* g);
Status VerifyReduce(const graph::XNNStaticReduce& node, GraphVerifier* g);
Status VerifyGlobalAvgPooling2d(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifyStaticResizeBilinear2D(const graph::XNNStaticResizeBilinear2D& node, GraphVerifier* g);

// verify_movement.cc
Status VerifyStaticTranspose(const graph::XNNStaticTranspose& node, GraphVerifier* g);
Status VerifyStaticReshape(const graph::XNNStaticReshape& node, GraphVerifier* g);
Status VerifyStaticSlice(const graph::XNNStaticSlice& node, GraphVerifier* g);
Status VerifyStaticConstantPad(const graph::XNNStaticConstantPad& node, GraphVerifier* g);
Status VerifyConcatenate2(const graph::XNNCat& node, GraphVerifier* g);
Status VerifyConcatenate3(const graph::XNNCat& node, GraphVerifier* g);
Status VerifyConcatenate4(const graph::XNNCat& node, GraphVerifier* g);
Status VerifyConcatenate5(const graph::XNNCat& node, GraphVerifier* g);

}  // namespace xir
