// Blocked matrix multiplication: operands are packed into panels that a micro-kernel reads in
// order, after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/scratch.h"

namespace xir::kernels {

// The inner loops, as one processor runs them best.
template <typename T>
struct MicroKernel {
  // Adds a panel of `rows` (at most MR) rows times one of `columns` (at most NR) columns to c.
  // Panels hold MR and NR elements for each of the k steps, zeros beyond the edge.
  int64_t mr, nr;
  void (*run)(int64_t k, const T* a, const T* b, T* c, int64_t c_stride, int64_t rows,
              int64_t columns);
  // to[i] += factor · from[i · step]
  void (*add_scaled)(T* to, const T* from, int64_t step, T factor, int64_t count);
};

// The best of this processor.
template <typename T>
const MicroKernel<T>& BestMicroKernel();

// Elements at row_stride · row + column_stride · column.
template <typename T>
struct MatrixView {
  const T* data;
  int64_t row_stride, column_stride;

  // Packs `count` of the lines that run along k: panels of `width` lines, k steps each.
  void Pack(int64_t first_line, int64_t count, int64_t line_stride, int64_t first_k, int64_t k,
            int64_t k_stride, int64_t width, T* to) const {
    for (int64_t p = 0; p < count; p += width) {
      const int64_t lines = std::min(width, count - p);
      const T* from = data + (first_line + p) * line_stride + first_k * k_stride;
      if (line_stride == 1) {
        for (int64_t i = 0; i < k; ++i) {
          T* row = to + i * width;
          std::copy_n(from + i * k_stride, lines, row);
          std::fill(row + lines, row + width, T{0});
        }
      } else {
        // A few steps at a time, so that what is written stays in the first-level cache.
        constexpr int64_t kSteps = 16;
        if (lines < width) std::fill_n(to, k * width, T{0});
        for (int64_t first = 0; first < k; first += kSteps) {
          const int64_t last = std::min(first + kSteps, k);
          for (int64_t l = 0; l < lines; ++l) {
            const T* line = from + l * line_stride;
            for (int64_t i = first; i < last; ++i) to[i * width + l] = line[i * k_stride];
          }
        }
      }
      to += k * width;
    }
  }
};

// The right operand of a product that is a matrix in memory.
template <typename T>
struct PackColumns {
  MatrixView<T> b;
  void operator()(int64_t first_column, int64_t columns, int64_t first_k, int64_t k, int64_t width,
                  T* to) const {
    b.Pack(first_column, columns, b.column_stride, first_k, k, b.row_stride, width, to);
  }
};

// c += a·b for a of [m, k] and c of [m, n] with contiguous rows. pack_b(first column, columns,
// first k, k, width, to) provides panels of b, so that it need not exist as a matrix.
template <typename T, typename PackB>
Status MultiplyAdd(int64_t m, int64_t n, int64_t k, const MatrixView<T>& a, const PackB& pack_b,
                   T* c, int64_t c_stride) {
  // A panel of a is to stay in the first-level cache, all of a block of b in the second.
  constexpr int64_t kInner = 256, kRows = 96, kColumns = 768;
  if (m == 0 || n == 0 || k == 0) return {};
  const MicroKernel<T>& kernel = BestMicroKernel<T>();
  const auto round = [](int64_t count, int64_t width) {
    return (count + width - 1) / width * width;
  };
  Scratch<T> panels_a, panels_b;
  const int64_t inner = std::min(k, kInner);
  XIR_RETURN_IF_ERROR(panels_a.Allocate(inner * round(std::min(m, kRows), kernel.mr)));
  XIR_RETURN_IF_ERROR(panels_b.Allocate(inner * round(std::min(n, kColumns), kernel.nr)));
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t columns = std::min(kColumns, n - j0);
    for (int64_t k0 = 0; k0 < k; k0 += kInner) {
      const int64_t depth = std::min(kInner, k - k0);
      pack_b(j0, columns, k0, depth, kernel.nr, panels_b.data());
      for (int64_t i0 = 0; i0 < m; i0 += kRows) {
        const int64_t rows = std::min(kRows, m - i0);
        a.Pack(i0, rows, a.row_stride, k0, depth, a.column_stride, kernel.mr, panels_a.data());
        for (int64_t j = 0; j < columns; j += kernel.nr) {
          for (int64_t i = 0; i < rows; i += kernel.mr) {
            kernel.run(depth, panels_a.data() + i * depth, panels_b.data() + j * depth,
                       c + (i0 + i) * c_stride + j0 + j, c_stride, std::min(kernel.mr, rows - i),
                       std::min(kernel.nr, columns - j));
          }
        }
      }
    }
  }
  return {};
}

// c += a·b of matrices in memory.
template <typename T>
Status MultiplyAdd(int64_t m, int64_t n, int64_t k, const MatrixView<T>& a, const MatrixView<T>& b,
                   T* c, int64_t c_stride) {
  return MultiplyAdd(m, n, k, a, PackColumns<T>{b}, c, c_stride);
}

}  // namespace xir::kernels
