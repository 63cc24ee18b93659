#include <algorithm>

#include "axis.h"
#include "draw_nodes.h"

namespace xir::fuzz {
namespace {

using Entry = DrawnGraph::Entry;

constexpr uint32_t kAlignCorners = 8;

}  // namespace

Axis AnyAxis(DrawnGraph* g, uint32_t size) {
  Axis axis;
  axis.kernel = g->Small(1, 3);
  axis.stride = g->Small(1, 3);
  axis.dilation = g->draws().OneIn(4) ? g->Small(1, 2) : 1;
  axis.before = g->Small(0, std::min<uint32_t>(axis.kernel, 3));
  axis.after = g->Small(0, std::min<uint32_t>(axis.kernel, 3));
  while (!g->odd() && axis.extent() > size + axis.before + axis.after) {
    axis.kernel = 1;
    axis.before = axis.after = 0;
  }
  return axis;
}

void AddPooling(DrawnGraph* g, XNodeUnion kind) {
  const Entry input = *g->Operand(4);
  Dims image = input.dims;
  image.resize(4, 1);
  Axis rows = AnyAxis(g, image[1]);
  Axis columns = AnyAxis(g, image[2]);
  if (kind == XNodeUnion::XNNAvgPooling2d && !g->odd()) rows.dilation = columns.dilation = 1;
  graph::XNNPooling2DT node;
  SetPadding(rows, columns, &node);
  node.pooling_height = rows.kernel;
  node.pooling_width = columns.kernel;
  node.stride_height = rows.stride;
  node.stride_width = columns.stride;
  node.dilation_height = rows.dilation;
  node.dilation_width = columns.dilation;
  node.input_id = g->Id(input.id);
  node.output_id = g->Id(
      g->Result(input.type, {image[0], rows.Slide(image[1]), columns.Slide(image[2]), image[3]})
          ->id);
  node.flags = g->Flags(0);
  g->Push(kind, node);
}

void AddArgMax(DrawnGraph* g) {
  const Entry input = *g->Operand(4);
  Dims image = input.dims;
  image.resize(4, 1);
  Axis rows = AnyAxis(g, image[1]);
  Axis columns = AnyAxis(g, image[2]);
  rows.dilation = columns.dilation = 1;
  rows.stride = rows.kernel;
  columns.stride = columns.kernel;
  graph::XNNArgMaxPooling2dT node;
  SetPadding(rows, columns, &node);
  node.pooling_height = rows.kernel;
  node.pooling_width = columns.kernel;
  node.input_id = g->Id(input.id);
  const Dims out{image[0], rows.Slide(image[1]), columns.Slide(image[2]), image[3]};
  node.output_value_id = g->Id(g->Result(input.type, out)->id);
  node.output_index_id = g->Id(g->Result(XNNDatatype::Int32, out)->id);
  node.flags = g->Flags(0);
  g->Push(XNodeUnion::XNNArgMaxPooling2d, node);
}

void AddGlobalPooling(DrawnGraph* g) {
  const Entry input = *g->Operand(4);
  Dims image = input.dims;
  image.resize(4, 1);
  graph::XNNNode1x1T node;
  node.input_id = g->Id(input.id);
  const bool keep = g->draws().OneIn(2);
  node.output_id = g->Id(
      g->Result(input.type, keep ? Dims{image[0], 1, 1, image[3]} : Dims{image[0], image[3]})->id);
  node.flags = g->Flags(keep ? kKeepDims : 0);
  g->Push(XNodeUnion::XNNGlobalAvgPooling2d, node);
}

void AddResize(DrawnGraph* g) {
  const Entry input = *g->Operand(4);
  Dims image = input.dims;
  image.resize(4, 1);
  graph::XNNStaticResizeBilinear2DT node;
  node.new_height = g->Small(1, 6);
  node.new_width = g->Small(1, 6);
  node.input_id = g->Id(input.id);
  node.output_id =
      g->Id(g->Result(input.type, {image[0], node.new_height, node.new_width, image[3]})->id);
  node.flags = g->Flags(g->draws().OneIn(2) ? kAlignCorners : 0);
  g->Push(XNodeUnion::XNNStaticResizeBilinear2D, node);
}

}  // namespace xir::fuzz
