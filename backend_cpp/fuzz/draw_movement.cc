#include <algorithm>
#include <utility>

#include "draw_nodes.h"

namespace xir::fuzz {
namespace {

using Entry = DrawnGraph::Entry;

}  // namespace

void AddReduce(DrawnGraph* g, XNodeUnion kind) {
  const Entry input = *g->Operand();
  if (input.dims.empty() && !g->odd()) return AddUnary(g, XNodeUnion::XNNAbs);
  graph::XNNStaticReduceT node;
  const bool keep = g->draws().OneIn(2);
  Dims out;
  for (uint32_t i = 0; i < input.dims.size(); ++i) {
    const bool last = i + 1 == input.dims.size() && node.reduction_axes.empty();
    if (!last && g->draws().OneIn(2)) {
      out.push_back(input.dims[i]);
      continue;
    }
    node.reduction_axes.push_back(g->Id(i));
    if (keep) out.push_back(1);
  }
  node.num_reduction_axes = static_cast<uint32_t>(node.reduction_axes.size());
  node.input_id = g->Id(input.id);
  node.output_id = g->Id(g->Result(input.type, out)->id);
  node.flags = g->Flags(keep ? kKeepDims : 0);
  g->Push(kind, node);
}

void AddTranspose(DrawnGraph* g) {
  const Entry input = *g->Operand();
  if (input.dims.empty() && !g->odd()) return AddUnary(g, XNodeUnion::XNNAbs);
  graph::XNNStaticTransposeT node;
  Dims order;
  for (uint32_t i = 0; i < input.dims.size(); ++i) order.push_back(i);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[g->draws().Below(i)]);
  Dims out;
  for (const uint32_t from : order) {
    out.push_back(input.dims[from]);
    node.perm.push_back(g->Id(from));
  }
  node.num_dims = static_cast<uint32_t>(order.size());
  node.input_id = g->Id(input.id);
  node.output_id = g->Id(g->Result(input.type, out)->id);
  node.flags = g->Flags(0);
  g->Push(XNodeUnion::XNNStaticTranspose, node);
}

void AddReshape(DrawnGraph* g) {
  const Entry input = *g->Operand();
  Dims out = input.dims;
  // XNNPACK has so many dimensions at most, and a file has no new shape without any.
  constexpr size_t kMostDims = 6;
  const bool fixed = (out.empty() || out.size() == kMostDims) && !g->odd();
  switch (fixed ? 0 : g->draws().Below(4)) {
    case 0:
      out = {static_cast<uint32_t>(Numel(input.dims))};
      break;
    case 1:
      out.push_back(1);
      break;
    case 2:
      out.insert(out.begin(), 1);
      break;
    default:
      std::reverse(out.begin(), out.end());
  }
  graph::XNNStaticReshapeT node;
  for (const uint32_t dim : out) node.new_shape.push_back(g->Id(dim));
  if (!out.empty() && g->draws().OneIn(3)) node.new_shape[g->draws().Below(out.size())] = 0;
  node.num_dims = static_cast<uint32_t>(out.size());
  node.input_id = g->Id(input.id);
  node.output_id = g->Id(g->Result(input.type, out)->id);
  node.flags = g->Flags(0);
  g->Push(XNodeUnion::XNNStaticReshape, node);
}

void AddSlice(DrawnGraph* g) {
  const Entry input = *g->Operand();
  if (input.dims.empty() && !g->odd()) return AddUnary(g, XNodeUnion::XNNAbs);
  graph::XNNStaticSliceT node;
  Dims out;
  for (const uint32_t dim : input.dims) {
    const auto offset = static_cast<uint32_t>(g->draws().Below(dim == 0 ? 1 : dim));
    const uint32_t size = dim == 0 ? 0 : 1 + static_cast<uint32_t>(g->draws().Below(dim - offset));
    node.offsets.push_back(g->Id(offset));
    node.sizes.push_back(g->Id(size));
    out.push_back(size);
  }
  node.num_dims = static_cast<uint32_t>(out.size());
  node.input_id = g->Id(input.id);
  node.output_id = g->Id(g->Result(input.type, out)->id);
  node.flags = g->Flags(0);
  g->Push(XNodeUnion::XNNStaticSlice, node);
}

void AddPad(DrawnGraph* g) {
  const Entry input = *g->Operand();
  if (input.dims.empty() && !g->odd()) return AddUnary(g, XNodeUnion::XNNAbs);
  graph::XNNStaticConstantPadT node;
  Dims out;
  for (const uint32_t dim : input.dims) {
    node.pre_paddings.push_back(g->Small(0, 3));
    node.post_paddings.push_back(g->Small(0, 3));
    out.push_back(dim + node.pre_paddings.back() + node.post_paddings.back());
  }
  node.padding_value = g->AnyScale();
  node.input_id = g->Id(input.id);
  node.output_id = g->Id(g->Result(input.type, out)->id);
  node.flags = g->Flags(0);
  g->Push(XNodeUnion::XNNStaticConstantPad, node);
}

void AddConcatenate(DrawnGraph* g, XNodeUnion kind) {
  const Entry first = *g->Operand();
  if (first.dims.empty() && !g->odd()) return AddUnary(g, XNodeUnion::XNNAbs);
  const size_t count =
      kind == XNodeUnion::XNNConcatenate5
          ? 5
          : 2 + static_cast<size_t>(kind) - static_cast<size_t>(XNodeUnion::XNNConcatenate2);
  const size_t axis = first.dims.empty() ? 0 : g->draws().Below(first.dims.size());
  uint32_t ids[5] = {kNone, kNone, kNone, kNone, kNone};
  Dims out = first.dims;
  ids[0] = first.id;
  for (size_t i = 1; i < count; ++i) {
    const Entry* next = &first;
    if (g->draws().OneIn(2)) {
      Dims dims = first.dims;
      if (!dims.empty()) dims[axis] = 1 + static_cast<uint32_t>(g->draws().Below(4));
      next = g->AddConstant(first.type, dims);
    }
    ids[i] = g->Id(next->id);
    if (!out.empty()) out[axis] += next->dims[axis];
  }
  graph::XNNCatT node;
  node.axis = g->Odd() ? static_cast<uint32_t>(g->OddNumber()) : static_cast<uint32_t>(axis);
  node.input1_id = ids[0];
  node.input2_id = ids[1];
  node.input3_id = ids[2];
  node.input4_id = ids[3];
  node.input5_id = ids[4];
  node.output_id = g->Id(g->Result(first.type, out)->id);
  node.flags = g->Flags(0);
  g->Push(kind, node);
}

}  // namespace xir::fuzz
