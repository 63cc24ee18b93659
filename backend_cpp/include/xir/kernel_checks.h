// What kernels check of their operands, and how they size their results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "xir/kernel_arguments.h"
#include "xir/status.h"
#include "xir/tensor.h"

namespace xir::kernels {

inline Status Unsupported(std::string_view what) { return Fail(Code::kUnsupported, what); }

template <typename... Parts>
Status Invalid(const Parts&... parts) {
  return Fail(Code::kInvalidArgument, parts...);
}

inline Status Mismatch(const Shape& a, const Shape& b) {
  return Invalid("shapes ", a.ToString(), " and ", b.ToString(), " do not fit");
}

// Sets a result's shape. Fails for a shape beyond the tensor's bound or memory.
Status ResizeResult(Tensor& out, const Shape& shape);

// A dimension counted from the start, or from the end where negative. A tensor of rank 0 counts as
// of rank 1.
Result<size_t> WrapDim(int64_t dim, size_t rank);

// The dimensions as a bit set; an empty list stands for all of them.
Result<uint32_t> WrapDims(const Ints& dims, size_t rank);

// An index of `size` elements, counted from the end where negative.
Result<int64_t> WrapIndex(int64_t index, int64_t size);

inline Shape MakeShape(std::initializer_list<int64_t> sizes) {
  Shape shape;
  for (const int64_t size : sizes) shape[shape.rank++] = size;
  return shape;
}

// The shape given by sizes from the file; fails for too many sizes, or negative ones.
Result<Shape> ShapeOf(const Ints& sizes);

// The elements of the dimensions [first, last).
inline int64_t Count(const Shape& shape, size_t first, size_t last) {
  int64_t count = 1;
  for (size_t i = first; i < last; ++i) count *= shape[i];
  return count;
}

// Whether any byte of `a` is one of `b`'s.
bool Overlap(const Tensor& a, const Tensor& b);

// All operands of one dtype, that of the result.
template <typename... Operands>
bool SameType(const Tensor& out, const Operands&... operands) {
  return (... && (operands.dtype == out.dtype));
}

}  // namespace xir::kernels
