// Kernels that look at all elements along one dimension together.
#pragma once

#include "kernels/scratch.h"

namespace xir::kernels {

// A contiguous tensor as lines along one dimension: element i of line (o, n) is at
// (o · size + i) · inner + n.
struct Lines {
  int64_t outer = 1, size = 1, inner = 1;

  Lines(const Shape& shape, size_t dim) {
    if (shape.rank == 0) return;
    outer = Count(shape, 0, dim);
    size = shape[dim];
    inner = Count(shape, dim + 1, shape.rank);
  }

  // Calls visit(offset of the line's first element, number of the line).
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    // Others may be many where there are none of these.
    if (inner == 0) return;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t n = 0; n < inner; ++n) visit(o * size * inner + n, o * inner + n);
    }
  }
};

// The shape that is left of `shape` when one dimension is reduced.
inline Shape WithoutDim(const Shape& shape, size_t dim, bool keep) {
  Shape left;
  for (size_t i = 0; i < shape.rank; ++i) {
    if (i != dim || keep) left[left.rank++] = i == dim ? 1 : shape[i];
  }
  return left;
}

}  // namespace xir::kernels
