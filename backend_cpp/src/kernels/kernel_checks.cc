#include "xir/kernel_checks.h"

#include <algorithm>

#include "core/checked.h"

namespace xir::kernels {

Status ResizeResult(Tensor& out, const Shape& shape) { return out.Resize(shape); }

Result<size_t> WrapDim(int64_t dim, size_t rank) {
  const auto size = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (dim < -size || dim >= size) {
    return Invalid("dimension ", dim, " of a tensor of rank ", rank);
  }
  return static_cast<size_t>(dim < 0 ? dim + size : dim);
}

Result<uint32_t> WrapDims(const Ints& dims, size_t rank) {
  uint32_t bits = 0;
  for (const int64_t dim : dims) {
    XIR_ASSIGN_OR_RETURN(const size_t index, WrapDim(dim, rank));
    bits |= uint32_t{1} << index;
  }
  return dims.empty() ? static_cast<uint32_t>((uint64_t{1} << rank) - 1) : bits;
}

Result<int64_t> WrapIndex(int64_t index, int64_t size) {
  if (index < -size || index >= size) return Invalid("index ", index, " of ", size);
  return index < 0 ? index + size : index;
}

Result<Shape> ShapeOf(const Ints& sizes) {
  if (sizes.size() > kMaxRank) return Invalid("rank ", sizes.size(), " exceeds ", kMaxRank);
  Shape shape;
  for (const int64_t size : sizes) {
    if (size < 0) return Invalid("size ", size, " is negative");
    shape[shape.rank++] = size;
  }
  return shape;
}

bool Overlap(const Tensor& a, const Tensor& b) {
  const auto begin_a = reinterpret_cast<uintptr_t>(a.data);
  const auto begin_b = reinterpret_cast<uintptr_t>(b.data);
  return begin_a < begin_b + b.nbytes() && begin_b < begin_a + a.nbytes();
}

}  // namespace xir::kernels
