#include "kernels/loop_nest.h"

#include <algorithm>
#include <cstring>

namespace xir::kernels {

LoopNest::LoopNest(const Tensor& result, const std::array<Strides, kMaxOperands>& strides) {
  for (size_t i = 0; i < result.rank(); ++i) {
    const size_t dim = result.dim_order[i];
    const int64_t size = result.shape[dim];
    if (size == 0) empty_ = true;
    if (size == 1) continue;
    std::array<int64_t, kMaxOperands> step{};
    for (size_t k = 0; k < kMaxOperands; ++k) step[k] = strides[k][dim];
    bool even = rank_ > 0;
    for (size_t k = 0; even && k < kMaxOperands; ++k) {
      even = stride_[rank_ - 1][k] == step[k] * size;
    }
    if (!even) {
      size_[rank_] = 1;
      ++rank_;
    }
    size_[rank_ - 1] *= size;
    stride_[rank_ - 1] = step;
  }
  if (rank_ == 0) {
    rank_ = 1;
    size_[0] = 1;
  }
}

bool BroadcastStrides(const Tensor& operand, const Shape& shape, LoopNest::Strides* strides) {
  if (operand.rank() > shape.rank) return false;
  const auto own = operand.strides();
  const size_t lead = shape.rank - operand.rank();
  *strides = {};
  for (size_t i = 0; i < operand.rank(); ++i) {
    if (operand.shape[i] == shape[lead + i]) {
      (*strides)[lead + i] = own[i];
    } else if (operand.shape[i] != 1) {
      return false;
    }
  }
  return true;
}

bool BroadcastShape(const Shape& a, const Shape& b, Shape* shape) {
  shape->rank = std::max(a.rank, b.rank);
  for (size_t i = 0; i < shape->rank; ++i) {
    const int64_t from_a = i < a.rank ? a[a.rank - 1 - i] : 1;
    const int64_t from_b = i < b.rank ? b[b.rank - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) return false;
    (*shape)[shape->rank - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return true;
}

namespace {

template <typename Element>
void CopyElements(const LoopNest& nest, void* to, const void* from) {
  nest.ForEachRow([&](const auto& offset, int64_t count, const auto& step) {
    Element* target = static_cast<Element*>(to) + offset[0];
    const Element* source = static_cast<const Element*>(from) + offset[1];
    if (step[0] == 1 && step[1] == 1) {
      std::memmove(target, source, static_cast<size_t>(count) * sizeof(Element));
      return;
    }
    for (int64_t i = 0; i < count; ++i) target[i * step[0]] = source[i * step[1]];
  });
}

}  // namespace

void CopyStrided(const Tensor& walk, void* to, const LoopNest::Strides& to_strides,
                 const void* from, const LoopNest::Strides& from_strides) {
  const LoopNest nest(walk, {to_strides, from_strides, {}});
  switch (ElementSize(walk.dtype)) {
    case 1:
      return CopyElements<uint8_t>(nest, to, from);
    case 2:
      return CopyElements<uint16_t>(nest, to, from);
    case 4:
      return CopyElements<uint32_t>(nest, to, from);
    default:
      return CopyElements<uint64_t>(nest, to, from);
  }
}

}  // namespace xir::kernels
