#include <array>

#include "xnnpack/define_node.h"

namespace xir {

xnn_status DefineConv2d(const graph::XNNNodeConv& n, const NodeContext& c) {
  return xnn_define_convolution_2d(
      c.subgraph(), n.padding_top(), n.padding_right(), n.padding_bottom(), n.padding_left(),
      n.kernel_height(), n.kernel_width(), n.subsampling_height(), n.subsampling_width(),
      n.dilation_height(), n.dilation_width(), n.groups(), n.group_input_channels(),
      n.group_output_channels(), c.bounds.min, c.bounds.max, c(n.input1_id()), c(n.filter_id()),
      c(n.bias_id()), c(n.output_id()), n.flags());
}

xnn_status DefineDepthwiseConv2d(const graph::XNNNodeConv& n, const NodeContext& c) {
  return xnn_define_depthwise_convolution_2d(
      c.subgraph(), n.padding_top(), n.padding_right(), n.padding_bottom(), n.padding_left(),
      n.kernel_height(), n.kernel_width(), n.subsampling_height(), n.subsampling_width(),
      n.dilation_height(), n.dilation_width(), /*depth_multiplier=*/n.group_output_channels(),
      /*input_channels=*/n.groups(), c.bounds.min, c.bounds.max, c(n.input1_id()), c(n.filter_id()),
      c(n.bias_id()), c(n.output_id()), n.flags());
}

xnn_status DefineConvTranspose2d(const graph::XNNNodeConv& n, const NodeContext& c) {
  return xnn_define_deconvolution_2d(
      c.subgraph(), n.padding_top(), n.padding_right(), n.padding_bottom(), n.padding_left(),
      n.adjustment_height(), n.adjustment_width(), n.kernel_height(), n.kernel_width(),
      n.subsampling_height(), n.subsampling_width(), n.dilation_height(), n.dilation_width(),
      n.groups(), n.group_input_channels(), n.group_output_channels(), c.bounds.min, c.bounds.max,
      c(n.input1_id()), c(n.filter_id()), c(n.bias_id()), c(n.output_id()), n.flags());
}

xnn_status DefineAvgPooling2d(const graph::XNNPooling2D& n, const NodeContext& c) {
  return xnn_define_average_pooling_2d(
      c.subgraph(), n.padding_top(), n.padding_right(), n.padding_bottom(), n.padding_left(),
      n.pooling_height(), n.pooling_width(), n.stride_height(), n.stride_width(), c.bounds.min,
      c.bounds.max, c(n.input_id()), c(n.output_id()), n.flags());
}

xnn_status DefineMaxPooling2d(const graph::XNNPooling2D& n, const NodeContext& c) {
  return xnn_define_max_pooling_2d(c.subgraph(), n.padding_top(), n.padding_right(),
                                   n.padding_bottom(), n.padding_left(), n.pooling_height(),
                                   n.pooling_width(), n.stride_height(), n.stride_width(),
                                   n.dilation_height(), n.dilation_width(), c.bounds.min,
                                   c.bounds.max, c(n.input_id()), c(n.output_id()), n.flags());
}

xnn_status DefineArgMaxPooling2d(const graph::XNNArgMaxPooling2d& n, const NodeContext& c) {
  return xnn_define_argmax_pooling_2d(c.subgraph(), n.padding_top(), n.padding_right(),
                                      n.padding_bottom(), n.padding_left(), n.pooling_height(),
                                      n.pooling_width(), c(n.input_id()), c(n.output_value_id()),
                                      c(n.output_index_id()), n.flags());
}

xnn_status DefineReduce(const graph::XNNStaticReduce& n, xnn_reduce_operator op,
                        const NodeContext& c) {
  const std::vector<size_t> axes(n.reduction_axes()->begin(), n.reduction_axes()->end());
  return xnn_define_static_reduce(c.subgraph(), op, axes.size(), axes.data(), c(n.input_id()),
                                  c(n.output_id()), n.flags());
}

// XNNPACK's own node of this name is deprecated; it is a mean over height and width.
xnn_status DefineGlobalAvgPooling2d(const graph::XNNNode1x1& n, const NodeContext& c) {
  const size_t rank = c.builder.Rank(n.input_id());
  const std::array<size_t, 2> axes = {rank - 3, rank - 2};
  uint32_t mean = c(n.output_id());
  if (c.bounds.finite()) {
    const xnn_status status =
        c.builder.NewTemporary(n.output_id(), c.builder.Datatype(n.output_id()), &mean);
    if (status != xnn_status_success) return status;
  }
  const xnn_status status = xnn_define_static_reduce(c.subgraph(), xnn_reduce_mean, axes.size(),
                                                     axes.data(), c(n.input_id()), mean, n.flags());
  if (status != xnn_status_success || !c.bounds.finite()) return status;
  xnn_unary_params params;
  params.clamp.min = c.bounds.min;
  params.clamp.max = c.bounds.max;
  return xnn_define_unary(c.subgraph(), xnn_unary_clamp, &params, mean, c(n.output_id()),
                          /*flags=*/0);
}

xnn_status DefineStaticResizeBilinear2D(const graph::XNNStaticResizeBilinear2D& n,
                                        const NodeContext& c) {
  // KEEP_DIMS means nothing here, and XNNPACK refuses bits that it does not know.
  constexpr uint32_t kFlags = XNN_FLAG_TENSORFLOW_LEGACY_MODE | XNN_FLAG_ALIGN_CORNERS;
  return xnn_define_static_resize_bilinear_2d(c.subgraph(), n.new_height(), n.new_width(),
                                              c(n.input_id()), c(n.output_id()),
                                              n.flags() & kFlags);
}

}  // namespace xir
