// Blocked matrix multiplication: operands are packed into panels that a micro-kernel reads in
// order, after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/file_bytes.h"
#include "core/round_up.h"
#include "kernels/parallel.h"
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

// A panel of the left operand is to stay in the first-level cache, all of a block of the right one
// in the second.
inline constexpr int64_t kInnerBlock = 256, kRowBlock = 96, kColumnBlock = 768;

// An operand is a number of lines that run along k: rows of the left one, columns of the right one.
// It is called for panels:
//
//   const T* operator()(first_line, lines, first_k, k, width, T* scratch) const
//
// Each panel has `width` lines, zeros beyond the last one, step by step of k. `first_line` is a
// multiple of the width, `first_k` one of kInnerBlock. Panels are made in `scratch`, which has room
// for them and for another `lines` elements, or are there already: then kPacked is true, and
// `scratch` null.

// Lines of a matrix in memory.
template <typename T>
struct LinesOf {
  static constexpr bool kPacked = false;
  const T* data;
  int64_t line_stride, k_stride;

  const T* operator()(int64_t first_line, int64_t count, int64_t first_k, int64_t k, int64_t width,
                      T* to) const {
    const T* panels = to;
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
    return panels;
  }
};

// Lines that were packed before: for each block of k the panels of all lines, one behind the other.
template <typename T>
struct PackedLines {
  static constexpr bool kPacked = true;
  const T* panels;
  int64_t padded;  // the number of lines, rounded up to the panels' width

  const T* operator()(int64_t first_line, int64_t, int64_t first_k, int64_t k, int64_t, T*) const {
    return panels + first_k * padded + first_line * k;
  }
};

// An operand that does not change, packed when its method loads: several matrices of one size.
template <typename T>
class PackedOperand final : public KernelState {
 public:
  // Null where panels would be mostly zeros. `source` is the constant's memory, by which Of knows
  // it again.
  static Result<std::shared_ptr<const KernelState>> Make(const void* source, const LinesOf<T>& from,
                                                         int64_t matrices, int64_t matrix_stride,
                                                         int64_t lines, int64_t k, int64_t width) {
    if (lines * 2 < width || k == 0 || matrices == 0) return std::shared_ptr<const KernelState>();
    auto packed = std::make_shared<PackedOperand>();
    packed->source_ = source;
    packed->padded_ = RoundUp(lines, width);
    packed->size_ = packed->padded_ * k;
    size_t count;
    if (__builtin_mul_overflow(static_cast<size_t>(matrices), static_cast<size_t>(packed->size_),
                               &count) ||
        __builtin_mul_overflow(count, sizeof(T), &packed->nbytes_)) {
      return std::shared_ptr<const KernelState>();
    }
    packed->panels_ = AllocateBuffer(packed->nbytes_);
    if (packed->panels_ == nullptr) return Fail(Code::kResource, "out of memory for a constant");
    PreferLargePages(packed->panels_.get(), packed->nbytes_);
    for (int64_t i = 0; i < matrices; ++i) {
      LinesOf<T> matrix = from;
      matrix.data += i * matrix_stride;
      T* to = reinterpret_cast<T*>(packed->panels_.get()) + i * packed->size_;
      for (int64_t first = 0; first < k; first += kInnerBlock) {
        const int64_t depth = std::min(kInnerBlock, k - first);
        matrix(0, lines, first, depth, width, to + first * packed->padded_);
      }
    }
    return std::shared_ptr<const KernelState>(std::move(packed));
  }

  // The state of a call, if it was made of the operand `tensor`. Whoever made it did so for T.
  static const PackedOperand* Of(const KernelContext& context, const Tensor& tensor) {
    const auto* packed = static_cast<const PackedOperand*>(context.state());
    return packed != nullptr && packed->source_ == tensor.data ? packed : nullptr;
  }

  PackedLines<T> matrix(int64_t i) const {
    return {reinterpret_cast<const T*>(panels_.get()) + i * size_, padded_};
  }
  size_t nbytes() const override { return nbytes_; }

 private:
  const void* source_ = nullptr;
  int64_t padded_ = 0;
  int64_t size_ = 0;  // elements of one matrix
  size_t nbytes_ = 0;
  AlignedBuffer panels_;
};

// Whether `tensor` is a constant, for a kernel's Prepare.
inline bool IsConstant(const Tensor& tensor) {
  return tensor.data != nullptr && !tensor.writable && tensor.numel() > 0;
}

struct LineRange {
  int64_t first, last;
};

// c += a·b for some rows and columns of c.
template <typename T, typename A, typename B>
Status MultiplyBlock(LineRange row_range, LineRange column_range, int64_t k, const A& a, const B& b,
                     T* c, int64_t c_stride) {
  const MicroKernel<T>& kernel = BestMicroKernel<T>();
  const int64_t m = row_range.last - row_range.first, n = column_range.last - column_range.first;
  Scratch<T> scratch_a, scratch_b;
  const auto allocate = [&](Scratch<T>* scratch, int64_t lines, int64_t width) {
    return scratch->Allocate(std::min(k, kInnerBlock) * RoundUp(lines, width) + lines);
  };
  if (!A::kPacked) XIR_RETURN_IF_ERROR(allocate(&scratch_a, std::min(m, kRowBlock), kernel.mr));
  if (!B::kPacked) XIR_RETURN_IF_ERROR(allocate(&scratch_b, std::min(n, kColumnBlock), kernel.nr));
  for (int64_t j0 = column_range.first; j0 < column_range.last; j0 += kColumnBlock) {
    const int64_t columns = std::min(kColumnBlock, column_range.last - j0);
    for (int64_t k0 = 0; k0 < k; k0 += kInnerBlock) {
      const int64_t depth = std::min(kInnerBlock, k - k0);
      const T* panels_b = b(j0, columns, k0, depth, kernel.nr, scratch_b.data());
      for (int64_t i0 = row_range.first; i0 < row_range.last; i0 += kRowBlock) {
        const int64_t rows = std::min(kRowBlock, row_range.last - i0);
        const T* panels_a = a(i0, rows, k0, depth, kernel.mr, scratch_a.data());
        for (int64_t j = 0; j < columns; j += kernel.nr) {
          for (int64_t i = 0; i < rows; i += kernel.mr) {
            kernel.run(depth, panels_a + i * depth, panels_b + j * depth,
                       c + (i0 + i) * c_stride + j0 + j, c_stride, std::min(kernel.mr, rows - i),
                       std::min(kernel.nr, columns - j));
          }
        }
      }
    }
  }
  return {};
}

// How to share a product out: `parts` parts of `each` rows or columns.
struct ProductParts {
  bool of_rows = false;
  int64_t parts = 1;
  int64_t each = 0;
};

// Each part packs all of the operand that is not divided, unless that is packed already: parts of
// the longer side, and as many as there are threads, may be slower than fewer and others. `packs_a`
// and `packs_b` are the lines that are packed.
ProductParts ShareProduct(const KernelContext& context, int64_t m, int64_t n, int64_t k,
                          int64_t packs_a, int64_t packs_b, int64_t mr, int64_t nr);

// c += a·b for m rows, n columns and k steps; c has contiguous rows. Threads take parts of the rows
// or of the columns, so that results do not depend on how many there are.
template <typename T, typename A, typename B>
Status MultiplyAdd(const KernelContext& context, int64_t m, int64_t n, int64_t k, const A& a,
                   const B& b, T* c, int64_t c_stride) {
  if (m == 0 || n == 0 || k == 0) return {};
  const MicroKernel<T>& kernel = BestMicroKernel<T>();
  const ProductParts share =
      ShareProduct(context, m, n, k, A::kPacked ? 0 : m, B::kPacked ? 0 : n, kernel.mr, kernel.nr);
  return ParallelFor(context, share.parts, [&](int64_t i) {
    const auto part = [&](int64_t lines) {
      return LineRange{i * share.each, std::min(lines, (i + 1) * share.each)};
    };
    const LineRange rows = share.of_rows ? part(m) : LineRange{0, m};
    const LineRange columns = share.of_rows ? LineRange{0, n} : part(n);
    return MultiplyBlock(rows, columns, k, a, b, c, c_stride);
  });
}

}  // namespace xir::kernels
