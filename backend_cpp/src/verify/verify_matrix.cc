#include <algorithm>

#include "verify/node_checks.h"

namespace xir {
namespace {

template <typename... Parts>
Status Bad(const Parts&... parts) {
  return Fail(Code::kInvalidProgram, parts...);
}

// XNNPACK packs a matrix that is not constant anew in each run, in tiles of at most 64 columns.
Status PackedScratch(uint64_t batch, uint64_t inner, uint64_t columns, GraphVerifier* g) {
  const uint64_t tiled = (columns + 63) / 64 * 64;
  return g->Scratch({batch, tiled, inner + 2, sizeof(float)});
}

}  // namespace

Status VerifyFullyConnected(const graph::XNNFullyConnected& node, GraphVerifier* g) {
  XIR_RETURN_IF_ERROR(CheckFlags(node.flags(), XNN_FLAG_TRANSPOSE_WEIGHTS));
  XIR_ASSIGN_OR_RETURN(const GraphValue* input, g->MatrixInput(node.input1_id(), /*row_rank=*/1));
  XIR_ASSIGN_OR_RETURN(const GraphValue* filter, g->Filter(node.filter_id(), false));
  if (filter->dims.rank != 2) return Bad("its filter has rank ", filter->dims.rank);
  const bool transposed = (node.flags() & XNN_FLAG_TRANSPOSE_WEIGHTS) != 0;
  if (transposed && filter->datatype != xnn_datatype_fp32 &&
      filter->datatype != xnn_datatype_fp16 && filter->datatype != xnn_datatype_bf16) {
    return Fail(Code::kUnsupported, "a transposed filter that is quantised");
  }
  const uint64_t inner = filter->dims[transposed ? 0 : 1];
  const uint64_t channels = filter->dims[transposed ? 1 : 0];
  if (input->dims.rank == 0 || input->dims.last() != inner) {
    return Bad("operand ", input->dims.ToString(), " for a filter of ", inner, " input channels");
  }
  if (filter->datatype == xnn_datatype_qcint4 && inner % 2 != 0) {
    // XNNPACK rounds the channels up to whole bytes and divides the input by them to count rows
    // (fully-connected-nc.c, subgraph/fully-connected.c): it would leave the last rows out.
    return Fail(Code::kUnsupported, "a filter in 4 bits with an odd number of input channels (",
                inner, "), for which XNNPACK computes too few rows");
  }
  XIR_RETURN_IF_ERROR(g->Bias(node.bias_id(), channels, /*must_be_constant=*/false));
  const GraphValue* bias = g->Find(node.bias_id());
  if (!filter->constant || (bias != nullptr && !bias->constant)) {
    // XNNPACK takes filter and bias to be of the input's type (fully-connected.c).
    if (input->datatype != filter->datatype ||
        (bias != nullptr && bias->datatype != filter->datatype)) {
      return Fail(Code::kUnsupported, "a filter or bias that is no constant and of another type");
    }
    XIR_RETURN_IF_ERROR(PackedScratch(1, inner, channels, g));
  }
  Dims dims = input->dims;
  dims[dims.rank - 1] = channels;
  return g->Output(node.output_id(), dims);
}

Status VerifyBatchMatrixMultiply(const graph::XNNNode2x1& node, GraphVerifier* g) {
  XIR_RETURN_IF_ERROR(CheckFlags(node.flags(), XNN_FLAG_TRANSPOSE_B));
  XIR_ASSIGN_OR_RETURN(const GraphValue* a, g->MatrixInput(node.input1_id(), /*row_rank=*/1));
  XIR_ASSIGN_OR_RETURN(const GraphValue* b, g->Filter(node.input2_id(), false));
  if (a->dims.rank < 2 || b->dims.rank < 2) return Bad("an operand has rank below 2");
  // Of an operand quantised by channel XNNPACK reads a scale for each column of each matrix,
  // whatever its channel dimension (batch-matrix-multiply-nc.c); no writer makes such a node.
  if (a->datatype != b->datatype) return Fail(Code::kUnsupported, "operands of different types");
  const bool transposed = (node.flags() & XNN_FLAG_TRANSPOSE_B) != 0;
  const uint64_t inner = b->dims[b->dims.rank - (transposed ? 1 : 2)];
  const uint64_t columns = b->dims[b->dims.rank - (transposed ? 2 : 1)];
  if (a->dims.last() != inner) {
    return Bad("shapes ", a->dims.ToString(), " and ", b->dims.ToString(), " do not multiply");
  }
  Dims dims;
  dims.rank = std::max(a->dims.rank, b->dims.rank);
  uint64_t batch_b = 1;
  for (size_t i = 2; i < dims.rank; ++i) {
    const uint64_t from_a = i < a->dims.rank ? a->dims[a->dims.rank - 1 - i] : 1;
    const uint64_t from_b = i < b->dims.rank ? b->dims[b->dims.rank - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return Bad("shapes ", a->dims.ToString(), " and ", b->dims.ToString(), " do not broadcast");
    }
    dims[dims.rank - 1 - i] = std::max(from_a, from_b);
    batch_b *= from_b;
  }
  dims[dims.rank - 2] = a->dims[a->dims.rank - 2];
  dims[dims.rank - 1] = columns;
  XIR_RETURN_IF_ERROR(PackedScratch(batch_b, inner, columns, g));
  return g->Output(node.output_id(), dims);
}

}  // namespace xir
