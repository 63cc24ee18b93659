#include <algorithm>
#include <cstring>

#include "kernels/arguments.h"
#include "kernels/kernels.h"
#include "kernels/loop_nest.h"

namespace xir::kernels {
namespace {

Status RequireSameType(const Tensor& in, const Tensor& out) {
  return in.dtype == out.dtype ? Status() : Unsupported("a copy that changes the dtype");
}

// Writes all of `out` from memory that `strides` walk by out's dimensions.
Status Fill(const Tensor& out, const void* from, const LoopNest::Strides& strides) {
  CopyStrided(out, out.data, out.strides(), from, strides);
  return {};
}

// The same elements in the same order under another shape.
Status CopyTo(const Tensor& in, const Shape& shape, Tensor& out) {
  XIR_RETURN_IF_ERROR(RequireSameType(in, out));
  if (shape.numel() != in.numel()) return Mismatch(in, out);
  XIR_RETURN_IF_ERROR(out.Resize(shape));
  if (shape == in.shape) return Fill(out, in.data, in.strides());
  if (!in.is_contiguous() || !out.is_contiguous()) {
    return Unsupported("a view of a tensor that is not contiguous");
  }
  std::memcpy(out.data, in.data, in.nbytes());
  return {};
}

// A dimension that counts from the end, or from 0; `rank` where it is neither.
size_t Dimension(int64_t dim, size_t rank) {
  if (dim < 0) dim += static_cast<int64_t>(rank);
  return dim < 0 || dim >= static_cast<int64_t>(rank) ? rank : static_cast<size_t>(dim);
}

}  // namespace

Status Clone(KernelArgs args) {
  return CopyTo(TensorArg(args, 0), TensorArg(args, 0).shape, TensorArg(args, 2));
}

Status CloneDimOrder(KernelArgs args) {
  return CopyTo(TensorArg(args, 0), TensorArg(args, 0).shape, TensorArg(args, 3));
}

Status ViewCopy(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  const std::vector<int64_t> sizes = IntsArg(*args[1]);
  if (sizes.size() > kMaxRank) return Fail(Code::kInvalidArgument, "a view of too high a rank");
  Shape shape;
  shape.rank = sizes.size();
  int64_t known = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    shape[i] = sizes[i];
    if (sizes[i] != -1 && __builtin_mul_overflow(known, sizes[i], &known)) known = 0;
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != -1) continue;
    if (known <= 0)
      return Fail(Code::kInvalidArgument, "a view with a size that cannot be inferred");
    shape[i] = in.numel() / known;
    known *= shape[i];
  }
  return known == in.numel() ? CopyTo(in, shape, TensorArg(args, 2))
                             : Mismatch(in, TensorArg(args, 2));
}

Status SqueezeCopy(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  uint32_t squeezed = 0;
  for (const int64_t dim : IntsArg(*args[1])) {
    const size_t index = Dimension(dim, in.rank());
    if (index < in.rank() && in.shape[index] == 1) squeezed |= 1u << index;
  }
  Shape shape;
  for (size_t i = 0; i < in.rank(); ++i) {
    if ((squeezed >> i & 1) == 0) shape[shape.rank++] = in.shape[i];
  }
  return CopyTo(in, shape, TensorArg(args, 2));
}

Status UnsqueezeCopy(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  Tensor& out = TensorArg(args, 2);
  const size_t at = Dimension(*args[1]->get<int64_t>(), in.rank() + 1);
  if (at > in.rank() || in.rank() == kMaxRank) return Mismatch(in, out);
  Shape shape = in.shape;
  for (size_t i = shape.rank++; i > at; --i) shape[i] = shape[i - 1];
  shape[at] = 1;
  return CopyTo(in, shape, out);
}

Status PermuteCopy(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  const std::vector<int64_t> dims = IntsArg(*args[1]);
  Tensor& out = TensorArg(args, 2);
  XIR_RETURN_IF_ERROR(RequireSameType(in, out));
  const auto rank = static_cast<int64_t>(in.rank());
  if (dims.size() != in.rank()) return Mismatch(in, out);
  const auto own = in.strides();
  LoopNest::Strides strides{};
  Shape shape;
  shape.rank = in.rank();
  uint32_t seen = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (dim < 0 || dim >= rank || (seen >> dim & 1) != 0) {
      return Fail(Code::kInvalidArgument, "its dimensions are no permutation");
    }
    seen |= 1u << dim;
    shape[i] = in.shape[static_cast<size_t>(dim)];
    strides[i] = own[static_cast<size_t>(dim)];
  }
  XIR_RETURN_IF_ERROR(out.Resize(shape));
  return Fill(out, in.data, strides);
}

Status ExpandCopy(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  const std::vector<int64_t> sizes = IntsArg(*args[1]);
  Tensor& out = TensorArg(args, 3);
  XIR_RETURN_IF_ERROR(RequireSameType(in, out));
  if (sizes.size() < in.rank() || sizes.size() > kMaxRank) return Mismatch(in, out);
  Shape shape;
  shape.rank = sizes.size();
  const size_t lead = sizes.size() - in.rank();
  for (size_t i = 0; i < sizes.size(); ++i) {
    shape[i] = sizes[i] == -1 && i >= lead ? in.shape[i - lead] : sizes[i];
  }
  XIR_RETURN_IF_ERROR(out.Resize(shape));
  LoopNest::Strides strides;
  if (!BroadcastStrides(in, shape, &strides)) return Mismatch(in, out);
  return Fill(out, in.data, strides);
}

Status SelectCopy(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  Tensor& out = TensorArg(args, 3);
  XIR_RETURN_IF_ERROR(RequireSameType(in, out));
  const size_t dim = Dimension(*args[1]->get<int64_t>(), in.rank());
  if (dim == in.rank()) return Mismatch(in, out);
  int64_t index = *args[2]->get<int64_t>();
  if (index < 0) index += in.shape[dim];
  if (index < 0 || index >= in.shape[dim]) {
    return Fail(Code::kInvalidArgument, "index ", index, " of ", in.shape[dim]);
  }
  const auto own = in.strides();
  LoopNest::Strides strides{};
  Shape shape;
  for (size_t i = 0; i < in.rank(); ++i) {
    if (i == dim) continue;
    strides[shape.rank] = own[i];
    shape[shape.rank++] = in.shape[i];
  }
  XIR_RETURN_IF_ERROR(out.Resize(shape));
  const auto offset = static_cast<size_t>(index * own[dim]) * ElementSize(in.dtype);
  return Fill(out, in.as<uint8_t>() + offset, strides);
}

Status SliceCopy(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  Tensor& out = TensorArg(args, 5);
  XIR_RETURN_IF_ERROR(RequireSameType(in, out));
  const size_t dim = Dimension(*args[1]->get<int64_t>(), in.rank());
  const int64_t step = *args[4]->get<int64_t>();
  if (dim == in.rank() || step < 1) return Mismatch(in, out);
  const int64_t size = in.shape[dim];
  // Out-of-range bounds are drawn in, as Python's slices do.
  const auto bound = [size](const Value& value, int64_t absent) {
    int64_t at = value.is_none() ? absent : *value.get<int64_t>();
    if (at < 0) at += size;
    return std::clamp<int64_t>(at, 0, size);
  };
  const int64_t start = bound(*args[2], 0), end = bound(*args[3], size);
  Shape shape = in.shape;
  shape[dim] = end > start ? (end - start - 1) / step + 1 : 0;
  XIR_RETURN_IF_ERROR(out.Resize(shape));
  LoopNest::Strides strides = in.strides();
  const auto offset = static_cast<size_t>(start * strides[dim]) * ElementSize(in.dtype);
  // Over one element the step may be anything, and must not overflow.
  strides[dim] = shape[dim] > 1 ? strides[dim] * step : 0;
  return shape.numel() == 0 ? Status() : Fill(out, in.as<uint8_t>() + offset, strides);
}

Status Cat(KernelArgs args) {
  Tensor& out = TensorArg(args, 2);
  // torch ignores operands of shape [0].
  std::vector<const Tensor*> parts;
  for (const Value* item : args[0]->get<TensorList>()->items) {
    const auto* part = item->get<Tensor>();
    if (part->rank() != 1 || part->numel() != 0) parts.push_back(part);
  }
  if (parts.empty()) return Fail(Code::kInvalidArgument, "nothing to concatenate");
  Shape shape = parts[0]->shape;
  const size_t dim = Dimension(*args[1]->get<int64_t>(), shape.rank);
  if (dim == shape.rank) return Mismatch(*parts[0], out);
  shape[dim] = 0;
  for (const Tensor* part : parts) {
    XIR_RETURN_IF_ERROR(RequireSameType(*part, out));
    Shape expected = parts[0]->shape;
    if (part->rank() == expected.rank) expected[dim] = part->shape[dim];
    if (part->shape != expected || part->data == nullptr) return Mismatch(*parts[0], *part);
    shape[dim] += part->shape[dim];
  }
  XIR_RETURN_IF_ERROR(out.Resize(shape));
  const auto strides = out.strides();
  auto* to = out.as<uint8_t>();
  for (const Tensor* part : parts) {
    Tensor walk = out;
    walk.shape = part->shape;
    CopyStrided(walk, to, strides, part->data, part->strides());
    to += static_cast<size_t>(part->shape[dim] * strides[dim]) * ElementSize(out.dtype);
  }
  return {};
}

}  // namespace xir::kernels
