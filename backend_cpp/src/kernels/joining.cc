// Kernels with lists of tensors.
#include "kernels/families.h"
#include "kernels/view.h"

namespace xir::kernels {
namespace {

Status Cat(const PresentTensors& tensors, int64_t dim, Tensor& out) {
  // torch ignores operands of shape [0].
  std::vector<const Tensor*> parts;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].rank() != 1 || tensors[i].numel() != 0) parts.push_back(&tensors[i]);
  }
  if (tensors.size() == 0) return Invalid("nothing to concatenate");
  if (parts.empty()) parts.push_back(&tensors[0]);
  Shape shape = parts[0]->shape;
  if (shape.rank == 0) return Invalid("a concatenation of tensors without dimensions");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, shape.rank));
  shape[at] = 0;
  for (const Tensor* part : parts) {
    if (!SameType(out, *part)) return Unsupported("a copy that changes the dtype");
    Shape expected = part->shape;
    expected[at] = 0;
    Shape rest = shape;
    rest[at] = 0;
    if (part->rank() != shape.rank || expected != rest)
      return Mismatch(parts[0]->shape, part->shape);
    shape[at] += part->shape[at];
  }
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  int64_t start = 0;
  for (const Tensor* part : parts) {
    View view(out);
    view.Slice(at, start, part->shape[at], 1);
    CopyBetween(*part, View(*part), out, view);
    start += part->shape[at];
  }
  return {};
}

Status Stack(const PresentTensors& tensors, int64_t dim, Tensor& out) {
  if (tensors.size() == 0) return Invalid("nothing to stack");
  const Shape& each = tensors[0].shape;
  if (each.rank == kMaxRank) return Invalid("rank ", kMaxRank + 1, " exceeds ", kMaxRank);
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, each.rank + 1));
  Shape shape;
  for (size_t i = 0; i <= each.rank; ++i) {
    if (i == at) shape[shape.rank++] = static_cast<int64_t>(tensors.size());
    if (i < each.rank) shape[shape.rank++] = each[i];
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!SameType(out, tensors[i])) return Unsupported("a copy that changes the dtype");
    if (tensors[i].shape != each) return Mismatch(each, tensors[i].shape);
  }
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  for (size_t i = 0; i < tensors.size(); ++i) {
    View view(out);
    view.Slice(at, static_cast<int64_t>(i), 1, 1);
    CopyBetween(tensors[i], View(tensors[i]), out, view.Without(at));
  }
  return {};
}

// Parts of `sizes[i]` elements along a dimension.
Status SplitWithSizes(const Tensor& self, const Ints& sizes, int64_t dim, const OutTensors& out) {
  if (self.rank() == 0) return Invalid("a split of a tensor without dimensions");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  if (sizes.size() != out.size())
    return Invalid(sizes.size(), " parts for ", out.size(), " results");
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > self.shape[at] - start) {
      return Invalid("a part of ", sizes[i], " from ", start, " of ", self.shape[at]);
    }
    if (!SameType(out[i], self)) return Unsupported("a copy that changes the dtype");
    start += sizes[i];
  }
  if (start != self.shape[at]) return Invalid("parts of ", start, " of ", self.shape[at]);
  start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    View view(self);
    view.Slice(at, start, sizes[i], 1);
    XIR_RETURN_IF_ERROR(CopyView(self, view, out[i]));
    start += sizes[i];
  }
  return {};
}

Status Split(const Tensor& self, int64_t size, int64_t dim, const OutTensors& out) {
  if (self.rank() == 0) return Invalid("a split of a tensor without dimensions");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  const int64_t all = self.shape[at];
  if (size < 0 || (size == 0 && all != 0)) return Invalid("parts of ", size);
  const int64_t count = all == 0 ? 1 : (all - 1) / size + 1;
  if (count != static_cast<int64_t>(out.size())) {
    return Invalid(count, " parts for ", out.size(), " results");
  }
  Ints sizes(out.size(), size);
  sizes.back() = all - (count - 1) * size;
  return SplitWithSizes(self, sizes, dim, out);
}

Status Unbind(const Tensor& self, int64_t dim, const OutTensors& out) {
  if (self.rank() == 0) return Invalid("a split of a tensor without dimensions");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  if (self.shape[at] != static_cast<int64_t>(out.size())) {
    return Invalid(self.shape[at], " parts for ", out.size(), " results");
  }
  for (size_t i = 0; i < out.size(); ++i) {
    View view(self);
    view.Slice(at, static_cast<int64_t>(i), 1, 1);
    XIR_RETURN_IF_ERROR(CopyView(self, view.Without(at), out[i]));
  }
  return {};
}

constexpr TypedKernel kJoiningRows[] = {
    MakeKernel<Cat>("aten::cat.out"),
    MakeKernel<Split>("aten::split_copy.Tensor_out"),
    MakeKernel<SplitWithSizes>("aten::split_with_sizes_copy.out"),
    MakeKernel<Stack>("aten::stack.out"),
    MakeKernel<Unbind>("aten::unbind_copy.int_out"),
};

}  // namespace

KernelTable JoiningKernels() { return TableOf<kJoiningRows>(); }

}  // namespace xir::kernels
