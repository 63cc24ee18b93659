#include <algorithm>

#include "verify/node_checks.h"

namespace xir {
namespace {

template <typename Node>
Status SameShape(const Node& node, GraphVerifier* g) {
  return g->Output(node.output_id(), g->Operand(node.input_id()).dims);
}

}  // namespace

Status Broadcast(const Dims& a, const Dims& b, size_t last, Dims* dims) {
  for (size_t i = last; i < dims->rank; ++i) {
    const uint64_t from_a = i < a.rank ? a[a.rank - 1 - i] : 1;
    const uint64_t from_b = i < b.rank ? b[b.rank - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return Fail(Code::kInvalidProgram, "shapes ", a.ToString(), " and ", b.ToString(),
                  " do not broadcast");
    }
    (*dims)[dims->rank - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return {};
}

Status VerifyUnary(const graph::XNNNode1x1& node, GraphVerifier* g) { return SameShape(node, g); }

Status VerifyClamp(const graph::XNNNode1x1& node, GraphVerifier* g) { return SameShape(node, g); }

Status VerifyConvert(const graph::XNNNode1x1& node, GraphVerifier* g) { return SameShape(node, g); }

Status VerifyCopy(const graph::XNNNode1x1& node, GraphVerifier* g) { return SameShape(node, g); }

Status VerifyELU(const graph::XNNELU& node, GraphVerifier* g) { return SameShape(node, g); }

Status VerifyLeakyReLU(const graph::XNNLeakyReLU& node, GraphVerifier* g) {
  return SameShape(node, g);
}

Status VerifySoftmax(const graph::XNNNode1x1& node, GraphVerifier* g) {
  if (g->Operand(node.input_id()).dims.rank == 0) {
    return Fail(Code::kInvalidProgram, "its operand has rank 0");
  }
  return SameShape(node, g);
}

Status VerifyBinary(const graph::XNNNode2x1& node, GraphVerifier* g) {
  const Dims& a = g->Operand(node.input1_id()).dims;
  const Dims& b = g->Operand(node.input2_id()).dims;
  Dims dims;
  dims.rank = std::max(a.rank, b.rank);
  XIR_RETURN_IF_ERROR(Broadcast(a, b, /*last=*/0, &dims));
  return g->Output(node.output_id(), dims);
}

}  // namespace xir
