#include "xnnpack/define_node.h"

namespace xir {
namespace {

// XNNPACK multiplies bf16 by bf16 only into fp32.
bool NeedsFloatResult(const graph::XNNFullyConnected& node, const SubgraphBuilder& builder) {
  return builder.Datatype(node.input1_id()) == xnn_datatype_bf16 &&
         builder.Datatype(node.filter_id()) == xnn_datatype_bf16 &&
         builder.Datatype(node.output_id()) == xnn_datatype_bf16;
}

}  // namespace

xnn_status DefineFullyConnected(const graph::XNNFullyConnected& node, const NodeContext& c) {
  const bool through_float = NeedsFloatResult(node, c.builder);
  uint32_t output = c(node.output_id());
  if (through_float) {
    const xnn_status status = c.builder.NewTemporary(node.output_id(), xnn_datatype_fp32, &output);
    if (status != xnn_status_success) return status;
  }
  const xnn_status status =
      xnn_define_fully_connected(c.subgraph(), c.bounds.min, c.bounds.max, c(node.input1_id()),
                                 c(node.filter_id()), c(node.bias_id()), output, node.flags());
  if (status != xnn_status_success || !through_float) return status;
  return xnn_define_unary(c.subgraph(), xnn_unary_convert, /*params=*/nullptr, output,
                          c(node.output_id()), /*flags=*/0);
}

xnn_status DefineBatchMatrixMultiply(const graph::XNNNode2x1& node, const NodeContext& c) {
  return xnn_define_batch_matrix_multiply(c.subgraph(), c(node.input1_id()), c(node.input2_id()),
                                          c(node.output_id()), node.flags());
}

}  // namespace xir
