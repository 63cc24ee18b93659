#include "kernels/loop_nest.h"

#include <algorithm>
#include <cstring>

namespace xir::kernels {

LoopNest::LoopNest(const Tensor& walk, const std::array<Strides, kMaxOperands>& strides) {
  for (size_t i = 0; i < walk.rank(); ++i) {
    const size_t dim = walk.dim_order[i];
    const int64_t size = walk.shape[dim];
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

Strides ContiguousStrides(const Shape& shape) {
  Strides strides{};
  int64_t step = 1;
  for (size_t i = shape.rank; i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

bool BroadcastStrides(const Shape& own_shape, const Strides& own, const Shape& shape,
                      Strides* strides) {
  if (own_shape.rank > shape.rank) return false;
  const size_t lead = shape.rank - own_shape.rank;
  *strides = {};
  for (size_t i = 0; i < own_shape.rank; ++i) {
    if (own_shape[i] == shape[lead + i]) {
      (*strides)[lead + i] = own[i];
    } else if (own_shape[i] != 1) {
      return false;
    }
  }
  return true;
}

bool Broadcast(const Shape& other, Shape* shape) {
  Shape wide;
  wide.rank = std::max(other.rank, shape->rank);
  for (size_t i = 0; i < wide.rank; ++i) {
    const int64_t a = i < other.rank ? other[other.rank - 1 - i] : 1;
    const int64_t b = i < shape->rank ? (*shape)[shape->rank - 1 - i] : 1;
    if (a != b && a != 1 && b != 1) return false;
    wide[wide.rank - 1 - i] = a == 1 ? b : a;
  }
  *shape = wide;
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
    } else if (step[0] == 1 && step[1] == 0) {
      std::fill_n(target, count, *source);
    } else {
      for (int64_t i = 0; i < count; ++i) target[i * step[0]] = source[i * step[1]];
    }
  });
}

}  // namespace

void CopyStrided(const Tensor& walk, size_t element_size, void* to, const Strides& to_strides,
                 const void* from, const Strides& from_strides) {
  const LoopNest nest(walk, {to_strides, from_strides, {}, {}});
  switch (element_size) {
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

namespace {

size_t ComputeSize(Compute compute) {
  switch (compute) {
    case Compute::kFloat:
      return sizeof(float);
    case Compute::kBool:
      return sizeof(Bool);
    default:
      return sizeof(int64_t);
  }
}

}  // namespace

void LoadAll(const Tensor& tensor, Compute compute, void* to) {
  const LoadFunction load = LoaderOf(tensor.dtype, compute);
  const size_t from_size = ElementSize(tensor.dtype), to_size = ComputeSize(compute);
  // The walk is over the array, so that rows of it are contiguous.
  Tensor walk = tensor;
  for (size_t i = 0; i < walk.rank(); ++i) walk.dim_order[i] = static_cast<uint8_t>(i);
  const LoopNest nest(walk, {ContiguousStrides(tensor.shape), tensor.strides(), {}, {}});
  nest.ForEachRow([&](const auto& offset, int64_t count, const auto& step) {
    load(tensor.as<uint8_t>() + offset[1] * static_cast<int64_t>(from_size), step[1], count,
         static_cast<uint8_t*>(to) + offset[0] * static_cast<int64_t>(to_size));
  });
}

void StoreAll(const void* from, Compute compute, const Tensor& tensor) {
  const StoreFunction store = StorerOf(tensor.dtype, compute);
  const size_t from_size = ComputeSize(compute), to_size = ElementSize(tensor.dtype);
  Tensor walk = tensor;
  for (size_t i = 0; i < walk.rank(); ++i) walk.dim_order[i] = static_cast<uint8_t>(i);
  const LoopNest nest(walk, {ContiguousStrides(tensor.shape), tensor.strides(), {}, {}});
  nest.ForEachRow([&](const auto& offset, int64_t count, const auto& step) {
    store(static_cast<const uint8_t*>(from) + offset[0] * static_cast<int64_t>(from_size), count,
          tensor.as<uint8_t>() + offset[1] * static_cast<int64_t>(to_size), step[1]);
  });
}

}  // namespace xir::kernels
