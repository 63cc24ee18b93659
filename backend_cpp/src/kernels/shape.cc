// Kernels whose result is a view of the operand, or the operand with a view of it replaced.
#include <algorithm>

#include "kernels/families.h"
#include "kernels/view.h"

namespace xir::kernels {
namespace {

Status Copy(const Tensor& self, Tensor& out) { return CopyView(self, View(self), out); }

Status Clone(const Tensor& self, Unused, Tensor& out) { return Copy(self, out); }

Status ViewCopy(const Tensor& self, const Ints& size, Tensor& out) {
  Shape shape;
  if (size.size() > kMaxRank) return Invalid("rank ", size.size(), " exceeds ", kMaxRank);
  size_t inferred = kMaxRank;
  int64_t known = 1;
  for (const int64_t each : size) {
    if (each == -1 && inferred == kMaxRank) {
      inferred = shape.rank;
    } else if (each < 0 || __builtin_mul_overflow(known, each, &known)) {
      return Invalid("a view with size ", each);
    }
    shape[shape.rank++] = each;
  }
  if (inferred < kMaxRank) {
    if (known == 0) return Invalid("a view with a size that cannot be inferred");
    shape[inferred] = self.numel() / known;
    known *= shape[inferred];
  }
  return known == self.numel() ? CopyReshaped(self, shape, out)
                               : Invalid("a view of ", self.numel(), " elements as ", known);
}

Status SqueezeDims(const Tensor& self, const Ints& dims, Tensor& out) {
  uint32_t squeezed = 0;
  for (const int64_t dim : dims) {
    XIR_ASSIGN_OR_RETURN(const size_t index, WrapDim(dim, self.rank()));
    squeezed |= uint32_t{1} << index;
  }
  View view;
  const Strides strides = self.strides();
  for (size_t i = 0; i < self.rank(); ++i) {
    if ((squeezed >> i & 1) == 0 || self.shape[i] != 1) view.Append(self.shape[i], strides[i]);
  }
  return CopyView(self, view, out);
}

Status SqueezeDim(const Tensor& self, int64_t dim, Tensor& out) {
  return SqueezeDims(self, {dim}, out);
}

Status Squeeze(const Tensor& self, Tensor& out) {
  Ints all;
  for (size_t i = 0; i < self.rank(); ++i) all.push_back(static_cast<int64_t>(i));
  return SqueezeDims(self, all, out);
}

Status Unsqueeze(const Tensor& self, int64_t dim, Tensor& out) {
  if (self.rank() == kMaxRank) return Invalid("rank ", kMaxRank + 1, " exceeds ", kMaxRank);
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank() + 1));
  View view;
  const Strides strides = self.strides();
  for (size_t i = 0; i <= self.rank(); ++i) {
    if (i == at) view.Append(1, 0);
    if (i < self.rank()) view.Append(self.shape[i], strides[i]);
  }
  return CopyView(self, view, out);
}

Status Permute(const Tensor& self, const Ints& dims, Tensor& out) {
  if (dims.size() != self.rank()) {
    return Invalid(dims.size(), " dimensions permute rank ", self.rank());
  }
  const Strides strides = self.strides();
  View view;
  uint32_t seen = 0;
  for (const int64_t dim : dims) {
    XIR_ASSIGN_OR_RETURN(const size_t index, WrapDim(dim, self.rank()));
    if ((seen >> index & 1) != 0) return Invalid("its dimensions are no permutation");
    seen |= uint32_t{1} << index;
    view.Append(self.shape[index], strides[index]);
  }
  return CopyView(self, view, out);
}

Status Transpose(const Tensor& self, int64_t dim0, int64_t dim1, Tensor& out) {
  XIR_ASSIGN_OR_RETURN(const size_t a, WrapDim(dim0, self.rank()));
  XIR_ASSIGN_OR_RETURN(const size_t b, WrapDim(dim1, self.rank()));
  View view(self);
  std::swap(view.shape[a], view.shape[b]);
  std::swap(view.strides[a], view.strides[b]);
  // A tensor of rank 0 has nothing to swap: both were the size behind its last.
  if (self.rank() == 0) view = View(self);
  return CopyView(self, view, out);
}

Status T(const Tensor& self, Tensor& out) {
  if (self.rank() > 2) return Invalid("a transpose of rank ", self.rank());
  return self.rank() < 2 ? Copy(self, out) : Transpose(self, 0, 1, out);
}

Status Expand(const Tensor& self, const Ints& size, Unused, Tensor& out) {
  if (size.size() < self.rank() || size.size() > kMaxRank) {
    return Invalid("rank ", self.rank(), " does not expand to ", size.size());
  }
  View view;
  view.shape.rank = size.size();
  const size_t lead = size.size() - self.rank();
  for (size_t i = 0; i < size.size(); ++i) {
    view.shape[i] = size[i] == -1 && i >= lead ? self.shape[i - lead] : size[i];
    if (view.shape[i] < 0) return Invalid("size ", size[i], " is negative");
  }
  if (!BroadcastStrides(self.shape, self.strides(), view.shape, &view.strides)) {
    return Mismatch(self.shape, view.shape);
  }
  return CopyView(self, view, out);
}

Status Repeat(const Tensor& self, const Ints& repeats, Tensor& out) {
  if (!SameType(out, self)) return Unsupported("a copy that changes the dtype");
  XIR_ASSIGN_OR_RETURN(const Shape times, ShapeOf(repeats));
  if (times.rank < self.rank()) return Mismatch(self.shape, times);
  const size_t lead = times.rank - self.rank();
  Shape shape = times;
  for (size_t i = 0; i < self.rank(); ++i) {
    if (__builtin_mul_overflow(times[lead + i], self.shape[i], &shape[lead + i])) {
      return Mismatch(self.shape, times);
    }
  }
  if (times.rank + self.rank() > kMaxRank) return Unsupported("a repetition of so high a rank");
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  // Each dimension of the result is two: how often, and which element.
  View from, to;
  const Strides own = self.strides(), strides = out.strides();
  for (size_t i = 0; i < times.rank; ++i) {
    const int64_t size = i < lead ? 1 : self.shape[i - lead];
    from.Append(times[i], 0);
    to.Append(times[i], strides[i] * size);
    if (i < lead) continue;
    from.Append(size, own[i - lead]);
    to.Append(size, strides[i]);
  }
  CopyBetween(self, from, out, to);
  return {};
}

// The elements start, start + step, … before end, clipped as Python's slices are.
struct Range {
  int64_t start, count;
};
Result<Range> SliceRange(int64_t size, std::optional<int64_t> start, std::optional<int64_t> end,
                         int64_t step) {
  if (step < 1) return Invalid("a slice with step ", step);
  const auto bound = [size](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const int64_t first = bound(start.value_or(0)), last = bound(end.value_or(size));
  return Range{first, last > first ? (last - first - 1) / step + 1 : 0};
}

Status Slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step, Tensor& out) {
  if (self.rank() == 0) return Invalid("a slice of a tensor without dimensions");
  XIR_ASSIGN_OR_RETURN(const size_t index, WrapDim(dim, self.rank()));
  XIR_ASSIGN_OR_RETURN(const Range range, SliceRange(self.shape[index], start, end, step));
  View view(self);
  view.Slice(index, range.start, range.count, step);
  return CopyView(self, view, out);
}

Status SliceScatter(const Tensor& self, const Tensor& src, int64_t dim,
                    std::optional<int64_t> start, std::optional<int64_t> end, int64_t step,
                    Tensor& out) {
  if (self.rank() == 0) return Invalid("a slice of a tensor without dimensions");
  XIR_ASSIGN_OR_RETURN(const size_t index, WrapDim(dim, self.rank()));
  XIR_ASSIGN_OR_RETURN(const Range range, SliceRange(self.shape[index], start, end, step));
  Shape expected = self.shape;
  expected[index] = range.count;
  if (!SameType(out, self, src)) return Unsupported("a copy that changes the dtype");
  if (src.shape != expected) return Mismatch(src.shape, expected);
  XIR_RETURN_IF_ERROR(Copy(self, out));
  View view(out);
  view.Slice(index, range.start, range.count, step);
  CopyBetween(src, View(src), out, view);
  return {};
}

Status Narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length, Tensor& out) {
  if (self.rank() == 0) return Invalid("a slice of a tensor without dimensions");
  XIR_ASSIGN_OR_RETURN(const size_t index, WrapDim(dim, self.rank()));
  const int64_t size = self.shape[index];
  if (start < 0) start += size;
  if (start < 0 || start > size || length < 0 || length > size - start) {
    return Invalid(length, " elements from ", start, " of ", size);
  }
  View view(self);
  view.Slice(index, start, length, 1);
  return CopyView(self, view, out);
}

Status Select(const Tensor& self, int64_t dim, int64_t index, Tensor& out) {
  if (self.rank() == 0) return Invalid("an element of a tensor without dimensions");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  XIR_ASSIGN_OR_RETURN(const int64_t element, WrapIndex(index, self.shape[at]));
  View view(self);
  view.Slice(at, element, 1, 1);
  return CopyView(self, view.Without(at), out);
}

Status SelectScatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index,
                     Tensor& out) {
  if (self.rank() == 0) return Invalid("an element of a tensor without dimensions");
  if (!SameType(out, self, src)) return Unsupported("a copy that changes the dtype");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  XIR_ASSIGN_OR_RETURN(const int64_t element, WrapIndex(index, self.shape[at]));
  if (src.shape != View(self).Without(at).shape) return Mismatch(src.shape, self.shape);
  XIR_RETURN_IF_ERROR(Copy(self, out));
  View view(out);
  view.Slice(at, element, 1, 1);
  CopyBetween(src, View(src), out, view.Without(at));
  return {};
}

// ExecuTorch's `map` writes its results one after the other, and `out` ends with the last.
Status CopyIndex(Tensor& out, const Tensor& element, int64_t index) {
  if (out.rank() != element.rank() + 1) {
    return Invalid("an element of rank ", element.rank(), " of a tensor of rank ", out.rank());
  }
  if (!SameType(out, element)) return Unsupported("a copy that changes the dtype");
  if (index < 0 || index >= INT32_MAX) return Invalid("index ", index);
  Shape shape = out.shape;
  shape[0] = index + 1;
  if (View(out).Without(0).shape != element.shape) return Mismatch(out.shape, element.shape);
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  View view(out);
  view.Slice(0, index, 1, 1);
  CopyBetween(element, View(element), out, view.Without(0));
  return {};
}

Status Flip(const Tensor& self, const Ints& dims, Tensor& out) {
  View view(self);
  uint32_t flipped = 0;
  for (const int64_t dim : dims) {
    XIR_ASSIGN_OR_RETURN(const size_t index, WrapDim(dim, self.rank()));
    flipped |= uint32_t{1} << index;
  }
  for (size_t i = 0; i < self.rank(); ++i) {
    if ((flipped >> i & 1) == 0 || self.shape[i] == 0) continue;
    view.offset += (self.shape[i] - 1) * view.strides[i];
    view.strides[i] = -view.strides[i];
  }
  return CopyView(self, view, out);
}

Status Unfold(const Tensor& self, int64_t dim, int64_t size, int64_t step, Tensor& out) {
  if (self.rank() == 0 || self.rank() == kMaxRank) return Unsupported("this rank");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  if (size < 0 || size > self.shape[at] || step < 1) {
    return Invalid("windows of ", size, " by ", step, " of ", self.shape[at]);
  }
  View view(self);
  const int64_t stride = view.strides[at];
  view.Slice(at, 0, (self.shape[at] - size) / step + 1, step);
  view.Append(size, stride);
  return CopyView(self, view, out);
}

Status Diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, Tensor& out) {
  if (self.rank() < 2) return Invalid("a diagonal of rank ", self.rank());
  XIR_ASSIGN_OR_RETURN(const size_t a, WrapDim(dim1, self.rank()));
  XIR_ASSIGN_OR_RETURN(const size_t b, WrapDim(dim2, self.rank()));
  if (a == b) return Invalid("a diagonal of one dimension");
  const int64_t rows = self.shape[a], columns = self.shape[b];
  const bool outside = offset >= 0 ? offset > columns : offset < -rows;
  const int64_t length = outside       ? 0
                         : offset >= 0 ? std::min(rows, columns - offset)
                                       : std::min(rows + offset, columns);
  const Strides strides = self.strides();
  View view;
  for (size_t i = 0; i < self.rank(); ++i) {
    if (i != a && i != b) view.Append(self.shape[i], strides[i]);
  }
  view.Append(length, strides[a] + strides[b]);
  if (length > 0) view.offset = offset >= 0 ? offset * strides[b] : -offset * strides[a];
  return CopyView(self, view, out);
}

Status AsStrided(const Tensor& self, const Ints& size, const Ints& stride,
                 std::optional<int64_t> storage_offset, Tensor& out) {
  XIR_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(size));
  if (stride.size() != size.size()) return Invalid("as many strides as sizes are needed");
  View view(shape, {});
  view.offset = storage_offset.value_or(0);
  int64_t last = view.offset;
  bool fits = view.offset >= 0;
  for (size_t i = 0; fits && i < size.size(); ++i) {
    int64_t reach;
    fits = stride[i] >= 0 &&
           !__builtin_mul_overflow(std::max<int64_t>(shape[i] - 1, 0), stride[i], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
    view.strides[i] = stride[i];
  }
  if (!self.is_contiguous()) return Unsupported("strides over a tensor that is not contiguous");
  if (!fits || last >= self.numel()) return Invalid("its strides leave the operand's memory");
  return CopyView(self, view, out);
}

Status Roll(const Tensor& self, const Ints& shifts, const Ints& dims, Tensor& out) {
  if (!SameType(out, self)) return Unsupported("a copy that changes the dtype");
  if (dims.empty() && shifts.size() != 1) return Invalid("one shift for each dimension is needed");
  if (!dims.empty() && dims.size() != shifts.size()) {
    return Invalid(shifts.size(), " shifts for ", dims.size(), " dimensions");
  }
  // Without dimensions it is the flat tensor that is rolled.
  if (dims.empty() && !(self.is_contiguous() && out.is_contiguous())) {
    return Unsupported("a flat roll of a tensor that is not contiguous");
  }
  XIR_RETURN_IF_ERROR(ResizeResult(out, self.shape));
  if (self.numel() == 0) return {};
  Tensor from = self, to = out;
  std::array<int64_t, kMaxRank> shift{};
  if (dims.empty()) {
    for (Tensor* flat : {&from, &to}) {
      flat->shape = MakeShape({self.numel()});
      flat->dim_order = {};
    }
    shift[0] = shifts[0] % self.numel();
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    XIR_ASSIGN_OR_RETURN(const size_t dim, WrapDim(dims[i], self.rank()));
    if (self.rank() > 0) shift[dim] = (shift[dim] + shifts[i] % self.shape[dim]) % self.shape[dim];
  }
  // Each dimension is in two parts that change places: 2^rank copies, of what is not empty.
  for (uint32_t parts = 0; parts < uint32_t{1} << from.rank(); ++parts) {
    View source(from), target(to);
    for (size_t i = 0; i < from.rank(); ++i) {
      const int64_t size = from.shape[i], wrapped = (shift[i] + size) % size;
      const bool second = (parts >> i & 1) != 0;
      source.Slice(i, second ? size - wrapped : 0, second ? wrapped : size - wrapped, 1);
      target.Slice(i, second ? 0 : wrapped, second ? wrapped : size - wrapped, 1);
    }
    CopyBetween(from, source, to, target);
  }
  return {};
}

// The pixels of a shuffled image [.., c, h·r, w·r] and of the deep one [.., c·r², h, w], both in
// the order [.., c, y, x, h, w].
View Blocks(const Tensor& image, int64_t factor) {
  const size_t rank = image.rank();
  const Strides strides = image.strides();
  const int64_t row = strides[rank - 2], column = strides[rank - 1];
  View view(image);
  view.shape.rank = rank - 2;
  view.Append(factor, row);
  view.Append(factor, column);
  view.Append(image.shape[rank - 2] / factor, row * factor);
  view.Append(image.shape[rank - 1] / factor, column * factor);
  return view;
}

View Depths(const Tensor& image, int64_t factor) {
  const size_t rank = image.rank();
  const Strides strides = image.strides();
  const int64_t channel = strides[rank - 3];
  View view(image);
  view.shape.rank = rank - 3;
  view.Append(image.shape[rank - 3] / (factor * factor), channel * factor * factor);
  view.Append(factor, channel * factor);
  view.Append(factor, channel);
  view.Append(image.shape[rank - 2], strides[rank - 2]);
  view.Append(image.shape[rank - 1], strides[rank - 1]);
  return view;
}

// [.., c·r², h, w] to [.., c, h·r, w·r], and back.
Status PixelShuffle(const Tensor& self, int64_t factor, Tensor& out) {
  const size_t rank = self.rank();
  if (rank < 3 || rank > kMaxRank - 3 || factor < 1 || factor > INT16_MAX ||
      self.shape[rank - 3] % (factor * factor) != 0) {
    return Invalid("a shuffle of shape ", self.shape.ToString(), " by ", factor);
  }
  if (!SameType(out, self)) return Unsupported("a copy that changes the dtype");
  Shape shape = self.shape;
  shape[rank - 3] /= factor * factor;
  shape[rank - 2] *= factor;
  shape[rank - 1] *= factor;
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  CopyBetween(self, Depths(self, factor), out, Blocks(out, factor));
  return {};
}

Status PixelUnshuffle(const Tensor& self, int64_t factor, Tensor& out) {
  const size_t rank = self.rank();
  if (rank < 3 || rank > kMaxRank - 3 || factor < 1 || factor > INT16_MAX ||
      self.shape[rank - 2] % factor != 0 || self.shape[rank - 1] % factor != 0) {
    return Invalid("an unshuffle of shape ", self.shape.ToString(), " by ", factor);
  }
  if (!SameType(out, self)) return Unsupported("a copy that changes the dtype");
  Shape shape = self.shape;
  shape[rank - 3] *= factor * factor;
  shape[rank - 2] /= factor;
  shape[rank - 1] /= factor;
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  CopyBetween(self, Blocks(self, factor), out, Depths(out, factor));
  return {};
}

// The lower triangle of matrices up to a diagonal, zeros elsewhere; or the upper one from it on.
template <bool lower>
Status Triangle(const Tensor& self, int64_t diagonal, Tensor& out) {
  if (self.rank() < 2) return Invalid("a triangle of rank ", self.rank());
  XIR_RETURN_IF_ERROR(Copy(self, out));
  const size_t rank = self.rank();
  const int64_t rows = out.shape[rank - 2], columns = out.shape[rank - 1];
  if (out.numel() == 0) return {};
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  for (int64_t y = 0; y < rows; ++y) {
    // What lies outside of the triangle in row y.
    const int64_t first = lower ? std::clamp<int64_t>(y + diagonal + 1, 0, columns) : 0;
    const int64_t last = lower ? columns : std::clamp<int64_t>(y + diagonal, 0, columns);
    View view(out);
    view.Slice(rank - 2, y, 1, 1);
    view.Slice(rank - 1, first, last - first, 1);
    ClearView(out, view);
  }
  return {};
}

constexpr TypedKernel kShapeRows[] = {
    MakeKernel<ViewCopy>("aten::_unsafe_view.out"),
    MakeKernel<Copy>("aten::alias_copy.out"),
    MakeKernel<AsStrided>("aten::as_strided_copy.out"),
    MakeKernel<Clone>("aten::clone.out"),
    MakeKernel<Copy>("aten::detach_copy.out"),
    MakeKernel<Diagonal>("aten::diagonal_copy.out"),
    MakeKernel<Expand>("aten::expand_copy.out"),
    MakeKernel<Flip>("aten::flip.out"),
    MakeKernel<Copy>("aten::lift_fresh_copy.out"),
    MakeKernel<Narrow>("aten::narrow_copy.out"),
    MakeKernel<Permute>("aten::permute_copy.out"),
    MakeKernel<PixelShuffle>("aten::pixel_shuffle.out"),
    MakeKernel<PixelUnshuffle>("aten::pixel_unshuffle.out"),
    MakeKernel<Repeat>("aten::repeat.out"),
    MakeKernel<Roll>("aten::roll.out"),
    MakeKernel<Select>("aten::select_copy.int_out"),
    MakeKernel<SelectScatter>("aten::select_scatter.out"),
    MakeKernel<Slice>("aten::slice_copy.Tensor_out"),
    MakeKernel<SliceScatter>("aten::slice_scatter.out"),
    MakeKernel<SqueezeDim>("aten::squeeze_copy.dim_out"),
    MakeKernel<SqueezeDims>("aten::squeeze_copy.dims_out"),
    MakeKernel<Squeeze>("aten::squeeze_copy.out"),
    MakeKernel<T>("aten::t_copy.out"),
    MakeKernel<Transpose>("aten::transpose_copy.int_out"),
    MakeKernel<Triangle<true>>("aten::tril.out"),
    MakeKernel<Triangle<false>>("aten::triu.out"),
    MakeKernel<Unfold>("aten::unfold_copy.out"),
    MakeKernel<Unsqueeze>("aten::unsqueeze_copy.out"),
    MakeKernel<ViewCopy>("aten::view_copy.out"),
    MakeKernel<CopyIndex>("executorch_prim::et_copy_index.tensor"),
    // A view without a copy: ExecuTorch plans its result where the operand is.
    MakeKernel<ViewCopy>("executorch_prim::et_view.default"),
};

}  // namespace

KernelTable ShapeKernels() { return TableOf<kShapeRows>(); }

}  // namespace xir::kernels
