#pragma once

#include <array>
#include <cstdint>

#include "kernels/element.h"
#include "xir/tensor.h"

namespace xir::kernels {

using Strides = std::array<int64_t, kMaxRank>;

// A walk over a result in its memory order, beside operands with any strides, 0 where they
// broadcast. Neighbouring dimensions that all operands step through evenly are one, so that
// contiguous tensors are one long row.
class LoopNest {
 public:
  static constexpr size_t kMaxOperands = 4;

  // `strides[i]` are operand i's, in elements, by the walk's logical dimensions. Operand 0 is
  // usually the walk itself. Only its shape and dimension order are looked at.
  LoopNest(const Tensor& walk, const std::array<Strides, kMaxOperands>& strides);

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

// Strides of a dense row-major tensor.
Strides ContiguousStrides(const Shape& shape);

// Strides of an operand as it broadcasts to `shape`; false where it does not.
bool BroadcastStrides(const Shape& own_shape, const Strides& own, const Shape& shape,
                      Strides* strides);

// Widens `shape` to what it and `other` broadcast to; false where they do not.
bool Broadcast(const Shape& other, Shape* shape);

// Copies elements of `element_size` bytes from `from` to `to`, each by its own strides (elements,
// by logical dimensions), in walk's memory order. The two may overlap; what the overlap then holds
// is not said.
void CopyStrided(const Tensor& walk, size_t element_size, void* to, const Strides& to_strides,
                 const void* from, const Strides& from_strides);

// A numeric tensor's elements in logical order, and back.
void LoadAll(const Tensor& tensor, Compute compute, void* to);
void StoreAll(const void* from, Compute compute, const Tensor& tensor);

}  // namespace xir::kernels
