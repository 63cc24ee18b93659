#include <algorithm>

#include "axis.h"
#include "draw_nodes.h"

namespace xir::fuzz {
namespace {

using Entry = DrawnGraph::Entry;

constexpr uint32_t kTransposeWeights = 1;
constexpr uint32_t kSamePadding = 4;

// What weights of a matrix node a type goes with.
XNNDatatype FilterType(DrawnGraph* g, const Entry& input) {
  constexpr XNNDatatype kForRows[] = {XNNDatatype::QCInt8, XNNDatatype::QCInt4,
                                      XNNDatatype::QBInt4};
  constexpr XNNDatatype kForInt8[] = {XNNDatatype::QCInt8, XNNDatatype::QInt8};
  if (g->Odd()) return g->draws().Of(kAny);
  switch (input.type) {
    case XNNDatatype::QDInt8:
      return input.row_rank == 3 ? XNNDatatype::QCInt8 : g->draws().Of(kForRows);
    case XNNDatatype::QInt8:
      return g->draws().Of(kForInt8);
    case XNNDatatype::FP32:
      return g->draws().OneIn(6) ? XNNDatatype::QCInt8 : XNNDatatype::FP32;
    default:
      return input.type;
  }
}

uint32_t Bias(DrawnGraph* g, const Entry& input, XNNDatatype filter, uint32_t channels,
              XNNDatatype result) {
  if (g->draws().OneIn(3)) return kNone;
  XNNDatatype type = result;
  if (input.type == XNNDatatype::QInt8 || input.type == XNNDatatype::QUInt8) {
    type = filter == XNNDatatype::QCInt8 ? XNNDatatype::QCInt32 : XNNDatatype::QInt32;
  } else if (input.type == XNNDatatype::QDInt8 || input.type == XNNDatatype::BF16) {
    type = XNNDatatype::FP32;
  }
  g->set_channel_dim(0);
  return g->AddConstant(type, {channels})->id;
}

void AddFullyConnectedOf(DrawnGraph* g, const Entry& input, XNNDatatype result) {
  const uint32_t channels = 1 + static_cast<uint32_t>(g->draws().Below(9));
  const uint32_t inner = input.dims.empty() ? 1 : input.dims.back();
  XNNDatatype type = FilterType(g, input);
  if (type == XNNDatatype::QBInt4 && inner % 32 != 0 && !g->odd()) type = XNNDatatype::QCInt8;
  const bool transposed = IsFloat(type) && g->draws().OneIn(4);
  g->set_channel_dim(0);
  const Dims dims = transposed ? Dims{inner, channels} : Dims{channels, inner};
  const Entry* filter = IsFloat(type) && g->draws().OneIn(8) ? g->AddExternal(type, dims, false)
                                                             : g->AddConstant(type, dims);
  graph::XNNFullyConnectedT node;
  node.input1_id = g->Id(input.id);
  node.filter_id = g->Id(filter->id);
  node.bias_id = g->Id(Bias(g, input, type, channels, result));
  Dims out = input.dims;
  if (!out.empty()) out.back() = channels;
  node.output_id = g->Id(g->Result(result, out)->id);
  node.flags = g->Flags(transposed ? kTransposeWeights : 0);
  g->Push(XNodeUnion::XNNFullyConnected, node);
}

void AddConvOf(DrawnGraph* g, XNodeUnion kind, const Entry& input, XNNDatatype result) {
  const bool transposed = kind == XNodeUnion::XNNConvTranspose2d;
  const bool depthwise = kind == XNodeUnion::XNNDepthwiseConv2d;
  Dims image = input.dims;
  image.resize(4, 1);
  Axis rows = AnyAxis(g, image[1]);
  Axis columns = AnyAxis(g, image[2]);
  if (transposed && !g->odd()) rows.before = rows.after = columns.before = columns.after = 0;
  const uint32_t in = image[3];
  uint32_t groups = depthwise || (in > 1 && g->draws().OneIn(4)) ? in : 1;
  const uint32_t each = 1 + static_cast<uint32_t>(g->draws().Below(3));
  const uint32_t out = groups * each;
  const XNNDatatype type = FilterType(g, input);
  const uint32_t group_in = groups == 0 ? 1 : in / groups;
  g->set_channel_dim(depthwise ? 3 : 0);
  const Entry* filter =
      g->AddConstant(type, depthwise ? Dims{1, rows.kernel, columns.kernel, out}
                                     : Dims{out, rows.kernel, columns.kernel, group_in});
  graph::XNNNodeConvT node;
  SetPadding(rows, columns, &node);
  node.kernel_height = g->Id(rows.kernel);
  node.kernel_width = g->Id(columns.kernel);
  node.subsampling_height = rows.stride;
  node.subsampling_width = columns.stride;
  node.dilation_height = rows.dilation;
  node.dilation_width = columns.dilation;
  node.group_input_channels = g->Id(depthwise ? 1 : group_in);
  node.group_output_channels = g->Id(each);
  node.groups = g->Id(groups);
  if (transposed && g->Odd()) node.adjustment_height = g->Small(0, 2);
  node.input1_id = g->Id(input.id);
  node.filter_id = g->Id(filter->id);
  node.bias_id = g->Id(Bias(g, input, type, out, result));
  node.flags = g->Flags(0);
  if (!transposed && g->draws().OneIn(8)) {
    node.flags = kSamePadding;
    node.padding_top = node.padding_bottom = node.padding_left = node.padding_right = 0;
    rows = {0, 0, 1, rows.stride, 1, 0};
    columns = {0, 0, 1, columns.stride, 1, 0};
  }
  const uint32_t height = transposed ? rows.Spread(image[1]) : rows.Slide(image[1]);
  const uint32_t width = transposed ? columns.Spread(image[2]) : columns.Slide(image[2]);
  node.output_id = g->Id(g->Result(result, {image[0], height, width, out})->id);
  g->Push(kind, node);
}

}  // namespace

void AddFullyConnected(DrawnGraph* g) {
  const Entry input = *g->Operand();
  if (input.dims.empty() && !g->odd()) return AddUnary(g, XNodeUnion::XNNAbs);
  AddFullyConnectedOf(g, input, input.type);
}

void AddMatrixMultiply(DrawnGraph* g) {
  const Entry a = *g->Operand();
  if (a.dims.size() < 2 && !g->odd()) return AddUnary(g, XNodeUnion::XNNAbs);
  const uint32_t columns = 1 + static_cast<uint32_t>(g->draws().Below(9));
  Dims dims = a.dims;
  Dims out = a.dims;
  if (dims.size() >= 2) {
    dims[dims.size() - 2] = dims.back();
    dims.back() = columns;
    out.back() = columns;
  }
  const XNNDatatype type = g->Odd() ? FilterType(g, a) : a.type;
  g->set_channel_dim(static_cast<uint32_t>(g->draws().Below(dims.size() + 1)));
  const Entry* b =
      g->draws().OneIn(2) ? g->AddConstant(type, dims) : g->AddExternal(type, dims, false);
  graph::XNNNode2x1T node;
  node.input1_id = g->Id(a.id);
  node.input2_id = g->Id(b->id);
  node.output_id = g->Id(g->Result(a.type, out)->id);
  node.flags = g->Flags(0);
  g->Push(XNodeUnion::XNNBatchMatrixMultiply, node);
}

void AddConv(DrawnGraph* g, XNodeUnion kind) {
  const Entry input = *g->Operand(4);
  AddConvOf(g, kind, input, input.type);
}

void AddConvert(DrawnGraph* g) {
  const Entry* input = g->Operand();
  XNNDatatype type = g->draws().Of(kPlain);
  int32_t row_rank = 1;
  if (IsFloat(input->type) && !input->dims.empty() && g->draws().OneIn(2)) {
    type = XNNDatatype::QDInt8;
    row_rank = input->dims.size() == 4 && g->draws().OneIn(2) ? 3 : 1;
  }
  graph::XNNNode1x1T node;
  node.input_id = g->Id(input->id);
  const Entry* output = g->Result(type, input->dims, row_rank);
  node.output_id = g->Id(output->id);
  g->Push(XNodeUnion::XNNConvert, node);
  if (type != XNNDatatype::QDInt8) return;
  const Entry quantized = *output;
  row_rank == 3 ? AddConvOf(g, XNodeUnion::XNNConv2d, quantized, input->type)
                : AddFullyConnectedOf(g, quantized, input->type);
}

}  // namespace xir::fuzz
