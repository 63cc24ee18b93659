#include <algorithm>

#include "core/checked.h"
#include "core/invalid_program.h"
#include "verify/node_checks.h"
#include "xir/span.h"

namespace xir {
namespace {

using Uints = flatbuffers::Vector<uint32_t>;
using flatbuffers::uoffset_t;

bool HasLength(const Uints* list, size_t length) {
  return list != nullptr && list->size() == length;
}

Status VerifyConcatenate(const graph::XNNCat& node, size_t count, GraphVerifier* g) {
  const uint32_t ids[] = {node.input1_id(), node.input2_id(), node.input3_id(), node.input4_id(),
                          node.input5_id()};
  const Dims& first = g->Operand(ids[0]).dims;
  Dims dims = first;
  // The file stores the axis unsigned, XNNPACK takes it signed, and -1 is the last one.
  const int64_t signed_axis = static_cast<int32_t>(node.axis());
  const int64_t axis =
      signed_axis < 0 ? signed_axis + static_cast<int64_t>(dims.rank) : signed_axis;
  if (axis < 0 || axis >= static_cast<int64_t>(dims.rank)) return Bad("axis ", signed_axis);
  for (const uint32_t id : Span<const uint32_t>(ids, count).subspan(1, count - 1)) {
    const Dims& next = g->Operand(id).dims;
    Dims expected = first;
    if (next.rank == expected.rank) expected[axis] = next[axis];
    if (!(next == expected)) {
      return Bad("shapes ", first.ToString(), " and ", next.ToString(),
                 " do not concatenate along ", axis);
    }
    dims[axis] += next[axis];
  }
  return g->Output(node.output_id(), dims);
}

}  // namespace

Status VerifyConcatenate2(const graph::XNNCat& node, GraphVerifier* g) {
  return VerifyConcatenate(node, 2, g);
}
Status VerifyConcatenate3(const graph::XNNCat& node, GraphVerifier* g) {
  return VerifyConcatenate(node, 3, g);
}
Status VerifyConcatenate4(const graph::XNNCat& node, GraphVerifier* g) {
  return VerifyConcatenate(node, 4, g);
}
Status VerifyConcatenate5(const graph::XNNCat& node, GraphVerifier* g) {
  return VerifyConcatenate(node, 5, g);
}

Status VerifyStaticTranspose(const graph::XNNStaticTranspose& node, GraphVerifier* g) {
  const GraphValue& input = g->Operand(node.input_id());
  const size_t rank = input.dims.rank;
  if (rank == 0 || !HasLength(node.perm(), rank))
    return Bad("its permutation does not fit its operand");
  Dims dims;
  dims.rank = rank;
  uint32_t seen = 0;
  for (size_t i = 0; i < rank; ++i) {
    const uint32_t from = node.perm()->Get(static_cast<uoffset_t>(i));
    if (from >= rank || (seen >> from & 1) != 0) return Bad("its permutation is none");
    seen |= 1u << from;
    dims[i] = input.dims[from];
  }
  return g->Output(node.output_id(), dims);
}

Status VerifyStaticReshape(const graph::XNNStaticReshape& node, GraphVerifier* g) {
  const GraphValue& input = g->Operand(node.input_id());
  if (node.new_shape() == nullptr || node.new_shape()->size() > XNN_MAX_TENSOR_DIMS) {
    return Bad("no new shape, or one of too high a rank");
  }
  Dims dims;
  dims.rank = node.new_shape()->size();
  uint64_t known = 1;
  size_t inferred = dims.rank;
  for (size_t i = 0; i < dims.rank; ++i) {
    dims[i] = node.new_shape()->Get(static_cast<uoffset_t>(i));
    if (dims[i] == 0) {
      if (inferred != dims.rank) return Bad("more than one dimension to infer");
      inferred = i;
    } else if (!CheckedMul(known, dims[i], &known)) {
      return Bad("its new shape overflows");
    }
  }
  const uint64_t numel = input.numel();
  if (inferred != dims.rank) {
    dims[inferred] = numel / known;
    known *= dims[inferred];
  }
  if (known != numel) return Bad(numel, " elements do not make shape ", dims.ToString());
  return g->Output(node.output_id(), dims);
}

Status VerifyStaticSlice(const graph::XNNStaticSlice& node, GraphVerifier* g) {
  const GraphValue& input = g->Operand(node.input_id());
  Dims dims;
  dims.rank = input.dims.rank;
  if (dims.rank == 0 || !HasLength(node.offsets(), dims.rank) ||
      !HasLength(node.sizes(), dims.rank)) {
    return Bad("its offsets or sizes do not fit its operand");
  }
  for (size_t i = 0; i < dims.rank; ++i) {
    const uint64_t offset = node.offsets()->Get(static_cast<uoffset_t>(i));
    const uint64_t size = node.sizes()->Get(static_cast<uoffset_t>(i));
    const uint64_t available = input.dims[i] - std::min(offset, input.dims[i]);
    dims[i] = std::min(size, available);
    // Of an input that is smaller than the largest one XNNPACK takes what is there, if that is
    // anything.
    if (!g->following() && (dims[i] == 0 || dims[i] < size)) {
      return Bad("[", offset, ", +", size, ") of a dimension of ", input.dims[i]);
    }
  }
  return g->Output(node.output_id(), dims);
}

Status VerifyStaticConstantPad(const graph::XNNStaticConstantPad& node, GraphVerifier* g) {
  const GraphValue& input = g->Operand(node.input_id());
  Dims dims = input.dims;
  if (!HasLength(node.pre_paddings(), dims.rank) || !HasLength(node.post_paddings(), dims.rank)) {
    return Bad("its paddings do not fit its operand");
  }
  for (size_t i = 0; i < dims.rank; ++i) {
    const auto at = static_cast<uoffset_t>(i);
    dims[i] += uint64_t{node.pre_paddings()->Get(at)} + node.post_paddings()->Get(at);
  }
  return g->Output(node.output_id(), dims);
}

}  // namespace xir
