#include <vector>

#include "xnnpack/define_node.h"

namespace xir {
namespace {

std::vector<size_t> Sizes(const flatbuffers::Vector<uint32_t>* list) {
  return std::vector<size_t>(list->begin(), list->end());
}

xnn_status DefineConcatenate(const graph::XNNCat& n, size_t count, const NodeContext& c) {
  const uint32_t inputs[] = {n.input1_id(), n.input2_id(), n.input3_id(), n.input4_id(),
                             n.input5_id()};
  std::vector<uint32_t> ids;
  for (size_t i = 0; i < count; ++i) {
    if (!c.builder.IsEmpty(inputs[i])) ids.push_back(c(inputs[i]));
  }
  if (ids.size() == 1) {
    return DefineKeptCopy(c.subgraph(), c.builder.Rank(n.output_id()), ids[0], c(n.output_id()));
  }
  return xnn_define_concatenate(c.subgraph(), static_cast<int32_t>(n.axis()), ids.size(),
                                ids.data(), c(n.output_id()), n.flags());
}

}  // namespace

xnn_status DefineConcatenate2(const graph::XNNCat& n, const NodeContext& c) {
  return DefineConcatenate(n, 2, c);
}
xnn_status DefineConcatenate3(const graph::XNNCat& n, const NodeContext& c) {
  return DefineConcatenate(n, 3, c);
}
xnn_status DefineConcatenate4(const graph::XNNCat& n, const NodeContext& c) {
  return DefineConcatenate(n, 4, c);
}
xnn_status DefineConcatenate5(const graph::XNNCat& n, const NodeContext& c) {
  return DefineConcatenate(n, 5, c);
}

xnn_status DefineStaticTranspose(const graph::XNNStaticTranspose& n, const NodeContext& c) {
  const std::vector<size_t> perm = Sizes(n.perm());
  return xnn_define_static_transpose(c.subgraph(), perm.size(), perm.data(), c(n.input_id()),
                                     c(n.output_id()), n.flags());
}

xnn_status DefineStaticReshape(const graph::XNNStaticReshape& n, const NodeContext& c) {
  const std::vector<size_t> shape = Sizes(n.new_shape());
  return xnn_define_static_reshape(c.subgraph(), shape.size(), shape.data(), c(n.input_id()),
                                   c(n.output_id()), n.flags());
}

xnn_status DefineStaticSlice(const graph::XNNStaticSlice& n, const NodeContext& c) {
  const std::vector<size_t> offsets = Sizes(n.offsets());
  const std::vector<size_t> sizes = Sizes(n.sizes());
  return xnn_define_static_slice(c.subgraph(), offsets.size(), offsets.data(), sizes.data(),
                                 c(n.input_id()), c(n.output_id()), n.flags());
}

xnn_status DefineStaticConstantPad(const graph::XNNStaticConstantPad& n, const NodeContext& c) {
  const std::vector<size_t> pre = Sizes(n.pre_paddings());
  const std::vector<size_t> post = Sizes(n.post_paddings());
  return xnn_define_static_constant_pad_v2(c.subgraph(), pre.size(), pre.data(), post.data(),
                                           n.padding_value(), c(n.input_id()), c(n.output_id()),
                                           n.flags());
}

}  // namespace xir
