#include "kernels/view.h"

#include <algorithm>
#include <cstring>

#include "kernels/scratch.h"

namespace xir::kernels {
namespace {

// A walk of a shape in its logical order.
Tensor WalkOf(const Shape& shape) {
  Tensor walk;
  walk.shape = shape;
  for (size_t i = 0; i < shape.rank; ++i) walk.dim_order[i] = static_cast<uint8_t>(i);
  return walk;
}

uint8_t* At(const Tensor& tensor, int64_t offset) {
  return tensor.as<uint8_t>() + offset * static_cast<int64_t>(ElementSize(tensor.dtype));
}

}  // namespace

void View::Slice(size_t dim, int64_t start, int64_t count, int64_t step) {
  offset += start * strides[dim];
  shape[dim] = count;
  // Over one element the step may be anything, and must not overflow.
  strides[dim] = count > 1 ? strides[dim] * step : 0;
}

View View::Without(size_t dim) const {
  View rest;
  rest.offset = offset;
  for (size_t i = 0; i < shape.rank; ++i) {
    if (i != dim) rest.Append(shape[i], strides[i]);
  }
  return rest;
}

Status CopyView(const Tensor& in, const View& view, Tensor& out) {
  if (!SameType(out, in)) return Unsupported("a copy that changes the dtype");
  XIR_RETURN_IF_ERROR(ResizeResult(out, view.shape));
  if (out.numel() > 0) {
    CopyStrided(out, ElementSize(out.dtype), out.data, out.strides(), At(in, view.offset),
                view.strides);
  }
  return {};
}

void CopyBetween(const Tensor& in, const View& from, const Tensor& out, const View& to) {
  if (to.shape.numel() == 0) return;
  CopyStrided(WalkOf(to.shape), ElementSize(out.dtype), At(out, to.offset), to.strides,
              At(in, from.offset), from.strides);
}

void ClearView(const Tensor& out, const View& view) {
  if (view.shape.numel() == 0) return;
  const uint64_t zero = 0;
  CopyStrided(WalkOf(view.shape), ElementSize(out.dtype), At(out, view.offset), view.strides, &zero,
              {});
}

Status CopyReshaped(const Tensor& in, const Shape& shape, Tensor& out) {
  if (!SameType(out, in)) return Unsupported("a copy that changes the dtype");
  if (shape.numel() != in.numel()) return Mismatch(in.shape, shape);
  const bool is_there = in.data == out.data && in.is_contiguous() && out.is_contiguous();
  if (shape == in.shape && !is_there) return CopyView(in, View(in), out);
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  if (in.numel() == 0 || is_there) return {};
  if (in.is_contiguous() && out.is_contiguous()) {
    std::memmove(out.data, in.data, in.nbytes());
    return {};
  }
  Scratch<uint8_t> elements;
  XIR_RETURN_IF_ERROR(elements.Allocate(static_cast<int64_t>(in.nbytes())));
  const size_t size = ElementSize(in.dtype);
  CopyStrided(WalkOf(in.shape), size, elements.data(), ContiguousStrides(in.shape), in.data,
              in.strides());
  CopyStrided(out, size, out.data, out.strides(), elements.data(), ContiguousStrides(shape));
  return {};
}

void FillWithNumber(const Tensor& out, const Scalar& number) {
  uint64_t element = 0;
  if (number.is_floating()) {
    const auto value = number.to<double>();
    StorerOf(out.dtype, Compute::kDouble)(&value, 1, &element, 1);
  } else {
    const auto value = number.to<int64_t>();
    StorerOf(out.dtype, Compute::kInt)(&value, 1, &element, 1);
  }
  DispatchSize(out.dtype, [&](auto typed) {
    std::memcpy(&typed, &element, sizeof(typed));
    std::fill_n(out.as<decltype(typed)>(), out.numel(), typed);
  });
}

}  // namespace xir::kernels
