#include <cstring>

#include "kernels/arguments.h"
#include "kernels/kernels.h"
#include "kernels/loop_nest.h"

namespace xir::kernels {
namespace {

Status RequireSameType(const Tensor& in, const Tensor& out) {
  return in.dtype == out.dtype ? Status() : Unsupported("a copy that changes the dtype");
}

// The same elements in the same order under another shape.
Status CopyTo(const Tensor& in, const Shape& shape, Tensor& out) {
  XIR_RETURN_IF_ERROR(RequireSameType(in, out));
  if (shape.numel() != in.numel()) return Mismatch(in, out);
  XIR_RETURN_IF_ERROR(out.Resize(shape));
  if (shape == in.shape) return CopyStrided(in.data, in.strides(), out);
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
    if (known <= 0) return Fail(Code::kInvalidArgument, "a view with a size that cannot be inferred");
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
  return CopyStrided(in.data, strides, out);
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
  return CopyStrided(in.data, strides, out);
}

}  // namespace xir::kernels
