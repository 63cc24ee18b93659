// Strided views, which most kernels that only move elements are.
#pragma once

#include "kernels/loop_nest.h"
#include "xir/kernel_checks.h"

namespace xir::kernels {

// Elements of a tensor by another shape. Strides and offset are in elements.
struct View {
  Shape shape;
  Strides strides{};
  int64_t offset = 0;

  View() = default;
  explicit View(const Tensor& tensor) : shape(tensor.shape), strides(tensor.strides()) {}
  View(const Shape& of_shape, const Strides& with_strides)
      : shape(of_shape), strides(with_strides) {}

  void Append(int64_t size, int64_t stride) {
    strides[shape.rank] = stride;
    shape[shape.rank++] = size;
  }
  // Every `step`-th element of a dimension from `start` on.
  void Slice(size_t dim, int64_t start, int64_t count, int64_t step);
  View Without(size_t dim) const;
};

// Calls visit with an unsigned integer of an element's size.
template <typename Visit>
auto DispatchSize(DType dtype, const Visit& visit) {
  switch (ElementSize(dtype)) {
    case 1:
      return visit(uint8_t{});
    case 2:
      return visit(uint16_t{});
    case 4:
      return visit(uint32_t{});
    default:
      return visit(uint64_t{});
  }
}

// Fills all of `out` from `view` of `in`. They are of one dtype.
Status CopyView(const Tensor& in, const View& view, Tensor& out);

// Copies one view's elements to another's, which has its shape. Both tensors are of one dtype.
void CopyBetween(const Tensor& in, const View& from, const Tensor& out, const View& to);

// Every byte of a view's elements becomes 0.
void ClearView(const Tensor& out, const View& view);

// The same elements in the same order under another shape.
Status CopyReshaped(const Tensor& in, const Shape& shape, Tensor& out);

// All of `out`, of a numeric dtype, becomes one number.
void FillWithNumber(const Tensor& out, const Scalar& number);

}  // namespace xir::kernels
