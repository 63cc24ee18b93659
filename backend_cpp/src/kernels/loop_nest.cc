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
void CopyElements(const void* data, const LoopNest& nest, void* result) {
  const auto* from = static_cast<const Element*>(data);
  auto* to = static_cast<Element*>(result);
  nest.ForEachRow([&](const auto& offset, int64_t count, const auto& step) {
    const Element* source = from + offset[1];
    Element* target = to + offset[0];
    if (step[1] == 1) {
      std::memcpy(target, source, static_cast<size_t>(count) * sizeof(Element));
      return;
    }
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * step[1]];
  });
}

}  // namespace

Status CopyStrided(const void* data, const LoopNest::Strides& strides, const Tensor& result) {
  const LoopNest nest(result, {result.strides(), strides, {}});
  switch (ElementSize(result.dtype)) {
    case 1:
      CopyElements<uint8_t>(data, nest, result.data);
      break;
    case 2:
      CopyElements<uint16_t>(data, nest, result.data);
      break;
    case 4:
      CopyElements<uint32_t>(data, nest, result.data);
      break;
    default:
      CopyElements<uint64_t>(data, nest, result.data);
  }
  return {};
}

}  // namespace xir::kernels
