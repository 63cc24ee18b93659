#pragma once

#include <array>
#include <cstdint>

#include "xir/tensor.h"

namespace xir::kernels {

// A walk over a result in its memory order, beside one or two operands with any strides, 0 where
// they broadcast. Neighbouring dimensions that all operands step through evenly are one, so that
// contiguous tensors are one long row.
class LoopNest {
 public:
  static constexpr size_t kMaxOperands = 3;
  using Strides = std::array<int64_t, kMaxRank>;

  // `strides[i]` are operand i's, in elements, by the result's logical dimensions. Operand 0 is the
  // result itself.
  LoopNest(const Tensor& result, const std::array<Strides, kMaxOperands>& strides);

  // Calls row(offsets, count, steps) for each innermost row; offsets and steps are in elements, one
  // an operand.
  template <typename Row>
  void ForEachRow(const Row& row) const {
    if (empty_) return;
    std::array<int64_t, kMaxRank> counter{};
    std::array<int64_t, kMaxOperands> offset{};
    const size_t inner = rank_ - 1;
    while (true) {
      row(offset, size_[inner], stride_[inner]);
      size_t d = inner;
      while (d-- > 0) {
        for (size_t k = 0; k < kMaxOperands; ++k) offset[k] += stride_[d][k];
        if (++counter[d] < size_[d]) break;
        for (size_t k = 0; k < kMaxOperands; ++k) offset[k] -= stride_[d][k] * size_[d];
        counter[d] = 0;
      }
      if (d == static_cast<size_t>(-1)) return;
    }
  }

 private:
  size_t rank_ = 0;
  bool empty_ = false;
  std::array<int64_t, kMaxRank> size_{};
  std::array<std::array<int64_t, kMaxOperands>, kMaxRank> stride_{};
};

// Strides of `operand` as it broadcasts to `shape`; false where it does not.
bool BroadcastStrides(const Tensor& operand, const Shape& shape, LoopNest::Strides* strides);

// The shape that two operands broadcast to; false where they do not.
bool BroadcastShape(const Shape& a, const Shape& b, Shape* shape);

// Copies elements of any one size from `from` to `to`, each by its own strides (elements, by
// logical dimensions). `walk` gives shape, memory order and dtype.
void CopyStrided(const Tensor& walk, void* to, const LoopNest::Strides& to_strides,
                 const void* from, const LoopNest::Strides& from_strides);

}  // namespace xir::kernels
