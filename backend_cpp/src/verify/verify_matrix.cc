#include <algorithm>

#include "core/invalid_program.h"
#include "verify/node_checks.h"

namespace xir {
Status PackedWeights(uint64_t groups, uint64_t inner, uint64_t columns, const GraphValue& filter,
                     GraphVerifier* g) {
  // In tiles of at most 64 columns, each with a bias, a sum and a scale.
  const bool floats = DatatypeBits(filter.datatype) > 8;
  const uint64_t tiled = (columns + 63) / 64 * 64;
  XIR_RETURN_IF_ERROR(g->Scratch({groups, tiled, 4, sizeof(float)}));
  return g->Scratch({groups, tiled, inner, floats ? sizeof(float) : 1});
}

Status CheckBias(uint32_t id, uint64_t channels, const GraphVerifier& g) {
  if (id == XNN_INVALID_VALUE_ID) return {};
  const Dims& dims = g.Operand(id).dims;
  return dims.rank == 1 && dims[0] == channels
             ? Status()
             : Bad("bias ", id, " of shape ", dims.ToString(), " for ", channels, " channels");
}

Status VerifyFullyConnected(const graph::XNNFullyConnected& node, GraphVerifier* g) {
  const GraphValue& input = g->Operand(node.input1_id());
  const GraphValue& filter = g->Operand(node.filter_id());
  if (filter.dims.rank != 2) return Bad("its filter has rank ", filter.dims.rank);
  const bool transposed = (node.flags() & XNN_FLAG_TRANSPOSE_WEIGHTS) != 0;
  if (transposed && DatatypeBits(filter.datatype) <= 8) {
    return Fail(Code::kUnsupported, "a transposed filter that is quantised");
  }
  const uint64_t inner = filter.dims[transposed ? 0 : 1];
  const uint64_t channels = filter.dims[transposed ? 1 : 0];
  if (input.dims.rank == 0 || input.dims.last() != inner) {
    return Bad("operand ", input.dims.ToString(), " for a filter of ", inner, " input channels");
  }
  XIR_RETURN_IF_ERROR(CheckBias(node.bias_id(), channels, *g));
  XIR_RETURN_IF_ERROR(PackedWeights(1, inner, channels, filter, g));
  Dims dims = input.dims;
  dims[dims.rank - 1] = channels;
  return g->Output(node.output_id(), dims);
}

Status VerifyBatchMatrixMultiply(const graph::XNNNode2x1& node, GraphVerifier* g) {
  const Dims& a = g->Operand(node.input1_id()).dims;
  const Dims& b = g->Operand(node.input2_id()).dims;
  if (a.rank < 2 || b.rank < 2) return Bad("an operand has rank below 2");
  const bool transposed = (node.flags() & XNN_FLAG_TRANSPOSE_B) != 0;
  const uint64_t inner = b[b.rank - (transposed ? 1 : 2)];
  const uint64_t columns = b[b.rank - (transposed ? 2 : 1)];
  if (a.last() != inner) {
    return Bad("shapes ", a.ToString(), " and ", b.ToString(), " do not multiply");
  }
  Dims dims;
  dims.rank = std::max(a.rank, b.rank);
  XIR_RETURN_IF_ERROR(Broadcast(a, b, /*last=*/2, &dims));
  dims[dims.rank - 2] = a[a.rank - 2];
  dims[dims.rank - 1] = columns;
  uint64_t batch = 1;
  for (size_t i = 0; i + 2 < b.rank; ++i) batch *= b[i];
  XIR_RETURN_IF_ERROR(PackedWeights(batch, inner, columns, g->Operand(node.input2_id()), g));
  return g->Output(node.output_id(), dims);
}

}  // namespace xir
