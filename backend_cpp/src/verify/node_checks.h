// One check a node. Each reads its operands through the graph verifier, derives the result's shape
// as XNNPACK will, and reports it with Output. A row XIR_NODE(<name>) of node_dispatch.inc needs
// its Verify<name> here.
#pragma once

#include "verify/graph_verifier.h"

namespace xir {

// Fails for flag bits outside of `allowed`. XNNPACK gives some bits internal meanings that a file
// must not reach. KEEP_DIMS passes everywhere: ExecuTorch sets it also where it means nothing.
inline Status CheckFlags(uint32_t flags, uint32_t allowed) {
  const uint32_t unknown = flags & ~(allowed | XNN_FLAG_KEEP_DIMS);
  return unknown == 0
             ? Status()
             : Fail(Code::kInvalidProgram, "flags ", flags, " have bits that it does not take");
}

// verify_elementwise.cc
Status VerifyUnary(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifyBinary(const graph::XNNNode2x1& node, xnn_binary_operator op, GraphVerifier* g);
Status VerifyClamp(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifyConvert(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifyCopy(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifySoftmax(const graph::XNNNode1x1& node, GraphVerifier* g);
Status VerifyELU(const graph::XNNELU& node, GraphVerifier* g);
Status VerifyLeakyReLU(const graph::XNNLeakyReLU& node, GraphVerifier* g);

// verify_matrix.cc
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
