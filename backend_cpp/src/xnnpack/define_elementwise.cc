#include "xnnpack/define_node.h"

namespace xir {

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
  return DefineUnary(node, xnn_unary_convert, c);
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
