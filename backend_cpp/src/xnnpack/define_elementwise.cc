#include <vector>

#include "xnnpack/define_node.h"

namespace xir {

xnn_status DefineKeptCopy(xnn_subgraph_t subgraph, size_t rank, uint32_t input, uint32_t output) {
  if (rank == 0) {
    return xnn_define_static_reshape(subgraph, rank, /*new_shape=*/nullptr, input, output,
                                     /*flags=*/0);
  }
  // A size of 0 is all that there is.
  const std::vector<size_t> zeros(rank, 0);
  return xnn_define_static_slice(subgraph, rank, zeros.data(), zeros.data(), input, output,
                                 /*flags=*/0);
}

xnn_status DefineUnary(const graph::XNNNode1x1& node, xnn_unary_operator op, const NodeContext& c) {
  return xnn_define_unary(c.subgraph(), op, /*params=*/nullptr, c(node.input_id()),
                          c(node.output_id()), node.flags());
}

xnn_status DefineClamp(const graph::XNNNode1x1& node, const NodeContext& c) {
  xnn_unary_params params;
  params.clamp.min = c.bounds.min;
  params.clamp.max = c.bounds.max;
  return xnn_define_unary(c.subgraph(), xnn_unary_clamp, &params, c(node.input_id()),
                          c(node.output_id()), node.flags());
}

xnn_status DefineConvert(const graph::XNNNode1x1& node, const NodeContext& c) {
  if (!c.builder.IsWidenedOutput(node.output_id())) return DefineUnary(node, xnn_unary_convert, c);
  uint32_t widened = XNN_INVALID_VALUE_ID;
  xnn_status status = c.builder.NewTemporary(node.output_id(), xnn_datatype_fp32, &widened);
  if (status != xnn_status_success) return status;
  status = xnn_define_unary(c.subgraph(), xnn_unary_convert, /*params=*/nullptr, c(node.input_id()),
                            widened, node.flags());
  if (status != xnn_status_success) return status;
  return DefineKeptCopy(c.subgraph(), c.builder.Rank(node.output_id()), widened,
                        c(node.output_id()));
}

xnn_status DefineELU(const graph::XNNELU& node, const NodeContext& c) {
  xnn_unary_params params;
  params.elu.alpha = node.alpha();
  return xnn_define_unary(c.subgraph(), xnn_unary_elu, &params, c(node.input_id()),
                          c(node.output_id()), node.flags());
}

xnn_status DefineLeakyReLU(const graph::XNNLeakyReLU& node, const NodeContext& c) {
  xnn_unary_params params;
  params.leaky_relu.negative_slope = node.negative_slope();
  return xnn_define_unary(c.subgraph(), xnn_unary_leaky_relu, &params, c(node.input_id()),
                          c(node.output_id()), node.flags());
}

xnn_status DefineCopy(const graph::XNNNode1x1& node, const NodeContext& c) {
  return xnn_define_copy(c.subgraph(), c(node.input_id()), c(node.output_id()), node.flags());
}

xnn_status DefineSoftmax(const graph::XNNNode1x1& node, const NodeContext& c) {
  return xnn_define_softmax(c.subgraph(), c(node.input_id()), c(node.output_id()), node.flags());
}

xnn_status DefineBinary(const graph::XNNNode2x1& node, xnn_binary_operator op,
                        const NodeContext& c) {
  const xnn_binary_params params{c.bounds.min, c.bounds.max};
  return xnn_define_binary(c.subgraph(), op, &params, c(node.input1_id()), c(node.input2_id()),
                           c(node.output_id()), node.flags());
}

}  // namespace xir
