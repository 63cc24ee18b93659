// Kernels that look elements up by position. An index is read once, checked, and then used: its
// memory may be that of the result.
#include <algorithm>
#include <cstring>

#include "kernels/families.h"
#include "kernels/lines.h"
#include "kernels/view.h"

namespace xir::kernels {
namespace {

bool IsIndex(const Tensor& index) {
  return index.dtype == DType::kLong || index.dtype == DType::kInt;
}

bool IsMask(const Tensor& mask) { return mask.dtype == DType::kBool || mask.dtype == DType::kByte; }

Status OutOfRange(int64_t index, int64_t size) { return Invalid("index ", index, " of ", size); }

// Rows of a table.
Status Embedding(const Tensor& weight, const Tensor& indices, Unused, Unused, Unused, Tensor& out) {
  if (!SameType(out, weight) || !IsIndex(indices)) return Unsupported("other dtypes");
  if (weight.rank() != 2 || indices.rank() + 1 > kMaxRank) {
    return Mismatch(weight.shape, indices.shape);
  }
  if (!weight.is_contiguous() || !out.is_contiguous()) {
    return Unsupported("a table in another order");
  }
  Shape shape = indices.shape;
  shape[shape.rank++] = weight.shape[1];
  InputArray<int64_t> rows;
  XIR_RETURN_IF_ERROR(rows.Init(indices));
  const int64_t count = indices.numel();
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  if (out.numel() == 0) return {};
  const auto size = static_cast<size_t>(weight.shape[1]) * ElementSize(weight.dtype);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = rows.data()[i];
    if (row < 0 || row >= weight.shape[0]) return OutOfRange(row, weight.shape[0]);
    std::memmove(out.as<uint8_t>() + static_cast<size_t>(i) * size,
                 weight.as<uint8_t>() + static_cast<size_t>(row) * size, size);
  }
  return {};
}

Status IndexSelect(const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  if (!SameType(out, self) || !IsIndex(index)) return Unsupported("other dtypes");
  if (index.rank() > 1) return Invalid("an index of rank ", index.rank());
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  InputArray<int64_t> positions;
  XIR_RETURN_IF_ERROR(positions.Init(index));
  const int64_t count = index.numel();
  Shape shape = self.shape;
  if (self.rank() > 0) shape[at] = count;
  if (self.rank() == 0 && count != 1) return Mismatch(self.shape, index.shape);
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  View source(self), target(out);
  if (self.rank() == 0) {
    source.Append(1, 0);
    target.Append(1, 0);
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t position = positions.data()[i];
    if (position < 0 || position >= source.shape[at]) return OutOfRange(position, source.shape[at]);
    View from = source, to = target;
    from.Slice(at, position, 1, 1);
    to.Slice(at, i, 1, 1);
    CopyBetween(self, from, out, to);
  }
  return {};
}

// Visits an index tensor of the same rank as `self`: visit(offset into self, flat place in the
// index). Each of its elements is a position along `dim`; the other coordinates are its own.
template <typename Visit>
Status ForEachAlong(const Tensor& self, size_t dim, const Tensor& index, const Visit& visit) {
  InputArray<int64_t> positions;
  XIR_RETURN_IF_ERROR(positions.Init(index));
  Strides strides = self.strides();
  const int64_t stride = self.rank() == 0 ? 0 : strides[dim];
  const int64_t size = self.rank() == 0 ? 1 : self.shape[dim];
  if (self.rank() > 0) strides[dim] = 0;
  Tensor walk;
  walk.shape = index.shape;
  for (size_t i = 0; i < walk.rank(); ++i) walk.dim_order[i] = static_cast<uint8_t>(i);
  int64_t outside = 0;
  bool fits = true;
  const LoopNest nest(walk, {ContiguousStrides(index.shape), strides, {}, {}});
  nest.ForEachRow([&](const auto& offset, int64_t count, const auto& step) {
    for (int64_t i = 0; fits && i < count; ++i) {
      const int64_t place = offset[0] + i * step[0];
      const int64_t position = positions.data()[place];
      if (position < 0 || position >= size) {
        fits = false;
        outside = position;
        return;
      }
      visit(offset[1] + i * step[1] + position * stride, place);
    }
  });
  return fits ? Status() : OutOfRange(outside, size);
}

// A tensor of rank 0 stands for a vector of one element.
Shape AtLeastVector(const Shape& shape) { return shape.rank == 0 ? MakeShape({1}) : shape; }

// Whether an index, beside the operand that it walks, stays within it but for `dim`.
Status CheckAlong(const Tensor& self, size_t dim, const Tensor& index) {
  if (!IsIndex(index)) return Unsupported("an index of another dtype");
  const Shape walked = AtLeastVector(self.shape), by = AtLeastVector(index.shape);
  if (walked.rank != by.rank) return Mismatch(self.shape, index.shape);
  for (size_t i = 0; i < walked.rank; ++i) {
    if (i != dim && by[i] > walked[i]) return Mismatch(self.shape, index.shape);
  }
  return {};
}

Status Gather(const Tensor& self, int64_t dim, const Tensor& index, Unused, Tensor& out) {
  if (!SameType(out, self)) return Unsupported("other dtypes");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  if (index.numel() > 0) XIR_RETURN_IF_ERROR(CheckAlong(self, at, index));
  XIR_RETURN_IF_ERROR(ResizeResult(out, index.shape));
  if (!out.is_contiguous()) return Unsupported("a result in another order");
  if (out.numel() == 0) return {};
  return DispatchSize(self.dtype, [&](auto zero) {
    using Element = decltype(zero);
    return ForEachAlong(self, at, index, [&](int64_t from, int64_t place) {
      out.as<Element>()[place] = self.as<Element>()[from];
    });
  });
}

// self with combine(what is there, source) at the index; `source` is by place in the index.
template <typename T, typename Source, typename Combine>
Status ScatterAs(const Tensor& self, size_t dim, const Tensor& index, const Source& source,
                 const Combine& combine, Tensor& out) {
  XIR_RETURN_IF_ERROR(CopyView(self, View(self), out));
  if (index.numel() == 0) return {};
  // Elements are read and written in the dtype of the result, computed in T.
  const LoadFunction load = LoaderOf(out.dtype, kComputeOf<T>);
  const StoreFunction store = StorerOf(out.dtype, kComputeOf<T>);
  const auto size = static_cast<int64_t>(ElementSize(out.dtype));
  return ForEachAlong(out, dim, index, [&](int64_t to, int64_t place) {
    uint8_t* element = out.as<uint8_t>() + to * size;
    T value{};
    load(element, 1, 1, &value);
    value = combine(value, source(place));
    store(&value, 1, element, 1);
  });
}

template <typename Combine>
Status ScatterTensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                     const Combine& combine, Tensor& out) {
  if (!IsNumeric(out.dtype) || !SameType(out, self, src)) return Unsupported("other dtypes");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  if (index.numel() > 0) {
    XIR_RETURN_IF_ERROR(CheckAlong(self, at, index));
    // The source is at least as large as the index in every dimension.
    XIR_RETURN_IF_ERROR(CheckAlong(src, kMaxRank, index));
  }
  return DispatchNumeric(out.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> values;
    XIR_RETURN_IF_ERROR(values.Init(src));
    // A place in the index as one in the source, which may be larger.
    const Strides strides = ContiguousStrides(src.shape);
    const auto value_at = [&](int64_t place) {
      int64_t offset = 0;
      for (size_t i = index.rank(); i-- > 0;) {
        offset += place % index.shape[i] * (src.rank() == 0 ? 0 : strides[i]);
        place /= index.shape[i];
      }
      return values.data()[offset];
    };
    const bool same = src.shape == index.shape;
    return ScatterAs<T>(
        self, at, index,
        [&](int64_t place) { return same ? values.data()[place] : value_at(place); }, combine, out);
  });
}

struct TakeNew {
  template <typename T>
  T operator()(T, T value) const {
    return value;
  }
};

struct AddNew {
  template <typename T>
  T operator()(T old, T value) const {
    return Plus(old, value);
  }
};

Status ScatterSrc(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  Tensor& out) {
  return ScatterTensor(self, dim, index, src, TakeNew(), out);
}

Status ScatterAdd(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  Tensor& out) {
  return ScatterTensor(self, dim, index, src, AddNew(), out);
}

Status ScatterValue(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                    Tensor& out) {
  if (!IsNumeric(out.dtype) || !SameType(out, self)) return Unsupported("other dtypes");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  if (index.numel() > 0) XIR_RETURN_IF_ERROR(CheckAlong(self, at, index));
  return DispatchNumeric(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto number =
        out.dtype == DType::kBool ? static_cast<T>(value.to<bool>()) : value.to<T>();
    return ScatterAs<T>(
        self, at, index, [=](int64_t) { return number; }, TakeNew(), out);
  });
}

struct MultiplyNew {
  template <typename T>
  T operator()(T old, T value) const {
    return Times(old, value);
  }
};

// The larger or smaller one; a NaN wins.
template <bool larger>
struct TakeExtreme {
  template <typename T>
  T operator()(T old, T value) const {
    if (old != old || value != value) return old != old ? old : value;
    return (larger ? value > old : value < old) ? value : old;
  }
};

// Divides each element by how many were added up in it; integers are rounded down.
template <typename T>
Status DivideByCount(size_t dim, const Tensor& index, bool include_self, const Tensor& out) {
  Scratch<int64_t> counts;
  XIR_RETURN_IF_ERROR(counts.Allocate(out.numel()));
  std::fill_n(counts.data(), out.numel(), include_self ? 1 : 0);
  XIR_RETURN_IF_ERROR(
      ForEachAlong(out, dim, index, [&](int64_t to, int64_t) { ++counts.data()[to]; }));
  const LoadFunction load = LoaderOf(out.dtype, kComputeOf<T>);
  const StoreFunction store = StorerOf(out.dtype, kComputeOf<T>);
  const auto size = static_cast<int64_t>(ElementSize(out.dtype));
  for (int64_t i = 0; i < out.numel(); ++i) {
    const auto count = static_cast<T>(std::max<int64_t>(counts.data()[i], 1));
    T value{};
    load(out.as<uint8_t>() + i * size, 1, 1, &value);
    if constexpr (std::is_integral_v<T>) {
      value = value / count - (value % count < 0 ? 1 : 0);
    } else {
      value /= count;
    }
    store(&value, 1, out.as<uint8_t>() + i * size, 1);
  }
  return {};
}

Status CombineAlong(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, Tensor& out) {
  if (reduce == "amax") return ScatterTensor(self, dim, index, src, TakeExtreme<true>(), out);
  if (reduce == "amin") return ScatterTensor(self, dim, index, src, TakeExtreme<false>(), out);
  if (reduce == "prod") return ScatterTensor(self, dim, index, src, MultiplyNew(), out);
  if (reduce == "sum" || reduce == "mean") return ScatterAdd(self, dim, index, src, out);
  return Invalid("a reduction by ", reduce);
}

Status ScatterReduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                     std::string_view reduce, bool include_self, Tensor& out) {
  if (out.dtype == DType::kBool) return Unsupported("elements of this dtype");
  if (include_self) {
    XIR_RETURN_IF_ERROR(CombineAlong(self, dim, index, src, reduce, out));
  } else if (reduce == "amax" || reduce == "amin") {
    // What is written to begins with one of those that are compared there.
    XIR_RETURN_IF_ERROR(ScatterSrc(self, dim, index, src, out));
    XIR_RETURN_IF_ERROR(CombineAlong(out, dim, index, src, reduce, out));
  } else {
    // Or with what changes nothing.
    const Scalar start(int64_t{reduce == "prod" ? 1 : 0});
    XIR_RETURN_IF_ERROR(ScatterValue(self, dim, index, start, out));
    XIR_RETURN_IF_ERROR(CombineAlong(out, dim, index, src, reduce, out));
  }
  if (reduce != "mean" || index.numel() == 0) return {};
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  return DispatchNumeric(out.dtype, [&](auto zero) {
    return DivideByCount<decltype(zero)>(at, index, include_self, out);
  });
}

// Indexing by several tensors at once, as in self[indices]: the indexed dimensions give way to the
// one shape that the indices broadcast to.
struct Lookup {
  Shape shape;              // of the indices together
  Scratch<int64_t> offset;  // of each place in it, into self
  View rest;                // the dimensions of self that are not indexed
  size_t place = 0;         // before which of those the indices' shape stands
};

// Adds one index's positions along a dimension to the offsets.
Status AddPositions(const Tensor& index, int64_t size, int64_t stride, Lookup* lookup) {
  InputArray<int64_t> positions;
  XIR_RETURN_IF_ERROR(positions.Init(index));
  Strides strides;
  if (!BroadcastStrides(index.shape, ContiguousStrides(index.shape), lookup->shape, &strides)) {
    return Mismatch(index.shape, lookup->shape);
  }
  Tensor walk;
  walk.shape = lookup->shape;
  for (size_t i = 0; i < walk.rank(); ++i) walk.dim_order[i] = static_cast<uint8_t>(i);
  Status status;
  const LoopNest nest(walk, {ContiguousStrides(lookup->shape), strides, {}, {}});
  nest.ForEachRow([&](const auto& at, int64_t count, const auto& step) {
    for (int64_t i = 0; status.ok() && i < count; ++i) {
      auto position = WrapIndex(positions.data()[at[1] + i * step[1]], size);
      if (position.ok()) {
        lookup->offset.data()[at[0] + i * step[0]] += position.value() * stride;
      } else {
        status = std::move(position).status();
      }
    }
  });
  return status;
}

Status PlanLookup(const Tensor& self, const Tensors& indices, Lookup* lookup) {
  if (indices.size() > self.rank()) {
    return Invalid(indices.size(), " indices for rank ", self.rank());
  }
  const Strides strides = self.strides();
  size_t given = 0, first = 0, last = 0;
  for (size_t i = 0; i < self.rank(); ++i) {
    const Tensor* index = i < indices.size() ? indices.get(i) : nullptr;
    if (index == nullptr) {
      lookup->rest.Append(self.shape[i], strides[i]);
      continue;
    }
    // A mask stands for the positions where it is true; no shape tells how many.
    if (!IsIndex(*index)) return Unsupported("an index that is no int");
    if (!Broadcast(index->shape, &lookup->shape)) return Mismatch(index->shape, lookup->shape);
    if (given++ == 0) first = i;
    last = i;
  }
  if (given == 0) return Invalid("no index is given");
  if (lookup->shape.rank + lookup->rest.shape.rank > kMaxRank) return Unsupported("this rank");
  // Where indexed dimensions are not adjacent, those of the indices come first.
  lookup->place = last - first + 1 == given ? first : 0;
  return {};
}

// Reads the indices. The product of their shapes is bounded by the result's or the values' before.
Status FindOffsets(const Tensor& self, const Tensors& indices, Lookup* lookup) {
  const int64_t count = lookup->shape.numel();
  const Strides strides = self.strides();
  XIR_RETURN_IF_ERROR(lookup->offset.Allocate(count));
  std::fill_n(lookup->offset.data(), count, 0);
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor* index = indices.get(i);
    if (index == nullptr) continue;
    XIR_RETURN_IF_ERROR(AddPositions(*index, self.shape[i], strides[i], lookup));
  }
  return {};
}

Shape LookedUpShape(const Lookup& lookup) {
  Shape shape;
  for (size_t i = 0; i <= lookup.rest.shape.rank; ++i) {
    for (size_t k = 0; i == lookup.place && k < lookup.shape.rank; ++k) {
      shape[shape.rank++] = lookup.shape[k];
    }
    if (i < lookup.rest.shape.rank) shape[shape.rank++] = lookup.rest.shape[i];
  }
  return shape;
}

// One slice of values for each place: the dimensions that are not indexed, and where it begins.
// `strides` are those of a tensor of LookedUpShape.
struct Slices {
  View rest;
  Strides outer{};
};

Slices SlicesOf(const Lookup& lookup, const Strides& strides) {
  Slices slices;
  for (size_t k = 0; k < lookup.shape.rank; ++k) slices.outer[k] = strides[lookup.place + k];
  for (size_t i = 0; i < lookup.rest.shape.rank; ++i) {
    const size_t at = i < lookup.place ? i : i + lookup.shape.rank;
    slices.rest.Append(lookup.rest.shape[i], strides[at]);
  }
  return slices;
}

// Calls visit(offset into self, offset of the slice of values) for each place.
template <typename Visit>
void ForEachSlice(const Lookup& lookup, const Slices& slices, const Visit& visit) {
  Tensor walk;
  walk.shape = lookup.shape;
  for (size_t i = 0; i < walk.rank(); ++i) walk.dim_order[i] = static_cast<uint8_t>(i);
  const LoopNest nest(walk, {ContiguousStrides(lookup.shape), slices.outer, {}, {}});
  nest.ForEachRow([&](const auto& at, int64_t count, const auto& step) {
    for (int64_t i = 0; i < count; ++i) {
      visit(lookup.offset.data()[at[0] + i * step[0]], at[1] + i * step[1]);
    }
  });
}

Status Index(const Tensor& self, const Tensors& indices, Tensor& out) {
  if (!SameType(out, self)) return Unsupported("other dtypes");
  Lookup lookup;
  XIR_RETURN_IF_ERROR(PlanLookup(self, indices, &lookup));
  XIR_RETURN_IF_ERROR(ResizeResult(out, LookedUpShape(lookup)));
  if (out.numel() == 0) return {};
  XIR_RETURN_IF_ERROR(FindOffsets(self, indices, &lookup));
  const Slices slices = SlicesOf(lookup, out.strides());
  ForEachSlice(lookup, slices, [&](int64_t from_offset, int64_t to_offset) {
    View from = lookup.rest, to = slices.rest;
    from.offset = from_offset;
    to.offset = to_offset;
    CopyBetween(self, from, out, to);
  });
  return {};
}

// self is in `out` already.
Status PutInto(const Tensor& out, const Tensors& indices, const Tensor& values, bool accumulate) {
  if (!SameType(out, values) || !IsNumeric(out.dtype)) return Unsupported("other dtypes");
  Lookup lookup;
  XIR_RETURN_IF_ERROR(PlanLookup(out, indices, &lookup));
  const Shape shape = LookedUpShape(lookup);
  Strides strides;
  if (!BroadcastStrides(values.shape, values.strides(), shape, &strides)) {
    return Mismatch(values.shape, shape);
  }
  int64_t written = 1;
  for (size_t i = 0; i < shape.rank; ++i) {
    if (__builtin_mul_overflow(written, shape[i], &written)) return Invalid("too many indices");
  }
  if (written == 0) return {};
  // One value may stand for many, but not for more than there is.
  if (written > std::max(out.numel(), values.numel())) return Unsupported("so many places");
  XIR_RETURN_IF_ERROR(FindOffsets(out, indices, &lookup));
  const Slices slices = SlicesOf(lookup, strides);
  if (!accumulate) {
    ForEachSlice(lookup, slices, [&](int64_t to_offset, int64_t from_offset) {
      View from = slices.rest, to = lookup.rest;
      from.offset = from_offset;
      to.offset = to_offset;
      CopyBetween(values, from, out, to);
    });
    return {};
  }
  return DispatchNumeric(out.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const LoadFunction load = LoaderOf(out.dtype, kComputeOf<T>);
    const StoreFunction store = StorerOf(out.dtype, kComputeOf<T>);
    const auto size = static_cast<int64_t>(ElementSize(out.dtype));
    Tensor walk;
    walk.shape = lookup.rest.shape;
    for (size_t i = 0; i < walk.rank(); ++i) walk.dim_order[i] = static_cast<uint8_t>(i);
    const LoopNest nest(walk, {lookup.rest.strides, slices.rest.strides, {}, {}});
    ForEachSlice(lookup, slices, [&](int64_t to_offset, int64_t from_offset) {
      nest.ForEachRow([&](const auto& at, int64_t count, const auto& step) {
        for (int64_t i = 0; i < count; ++i) {
          uint8_t* to = out.as<uint8_t>() + (to_offset + at[0] + i * step[0]) * size;
          T old{}, value{};
          load(to, 1, 1, &old);
          load(values.as<uint8_t>() + (from_offset + at[1] + i * step[1]) * size, 1, 1, &value);
          old = Plus(old, value);
          store(&old, 1, to, 1);
        }
      });
    });
    return {};
  });
}

Status IndexPut(const Tensor& self, const Tensors& indices, const Tensor& values, bool accumulate,
                Tensor& out) {
  if (!SameType(out, values)) return Unsupported("other dtypes");
  XIR_RETURN_IF_ERROR(CopyView(self, View(self), out));
  return PutInto(out, indices, values, accumulate);
}

Status IndexPutInPlace(Tensor& self, const Tensors& indices, const Tensor& values,
                       bool accumulate) {
  return PutInto(self, indices, values, accumulate);
}

Status MaskedScatter(const Tensor& self, const Tensor& mask, const Tensor& source, Tensor& out) {
  if (!SameType(out, self, source) || !IsMask(mask)) return Unsupported("other dtypes");
  Shape shape = self.shape;
  if (!Broadcast(mask.shape, &shape)) return Mismatch(self.shape, mask.shape);
  Strides from, masks;
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  if (!out.is_contiguous() || !source.is_contiguous()) return Unsupported("another order");
  if (!BroadcastStrides(self.shape, self.strides(), shape, &from) ||
      !BroadcastStrides(mask.shape, mask.strides(), shape, &masks)) {
    return Mismatch(self.shape, mask.shape);
  }
  int64_t taken = 0;
  const int64_t available = source.numel();
  DispatchSize(out.dtype, [&](auto zero) {
    using Element = decltype(zero);
    const LoopNest nest(out, {out.strides(), from, masks, {}});
    nest.ForEachRow([&](const auto& at, int64_t count, const auto& step) {
      for (int64_t i = 0; i < count; ++i) {
        const bool chosen = mask.as<uint8_t>()[at[2] + i * step[2]] != 0;
        if (chosen && taken++ >= available) continue;
        out.as<Element>()[at[0] + i * step[0]] =
            chosen ? source.as<Element>()[taken - 1] : self.as<Element>()[at[1] + i * step[1]];
      }
    });
  });
  return taken <= available ? Status() : Invalid(available, " elements for ", taken, " places");
}

// [count, rank] positions of the elements that are not zero.
Status NonZero(const Tensor& self, Tensor& out) {
  if (!IsNumeric(self.dtype) || out.dtype != DType::kLong) return Unsupported("other dtypes");
  InputArray<Bool> truths;
  XIR_RETURN_IF_ERROR(truths.Init(self));
  int64_t count = 0;
  for (int64_t i = 0; i < self.numel(); ++i) count += truths.data()[i].bits != 0 ? 1 : 0;
  const auto rank = static_cast<int64_t>(self.rank());
  XIR_RETURN_IF_ERROR(ResizeResult(out, MakeShape({count, rank})));
  if (!out.is_contiguous()) return Unsupported("a result in another order");
  int64_t* to = out.as<int64_t>();
  for (int64_t i = 0, found = 0; found < count && i < self.numel(); ++i) {
    if (truths.data()[i].bits == 0) continue;
    ++found;
    int64_t place = i;
    for (int64_t d = rank; d-- > 0;) {
      to[d] = place % self.shape[static_cast<size_t>(d)];
      place /= self.shape[static_cast<size_t>(d)];
    }
    to += rank;
  }
  return {};
}

constexpr TypedKernel kIndexingRows[] = {
    MakeKernel<Embedding>("aten::embedding.out"),
    MakeKernel<Gather>("aten::gather.out"),
    MakeKernel<Index>("aten::index.Tensor_out"),
    MakeKernel<IndexPut>("aten::index_put.out"),
    MakeKernel<IndexPutInPlace>("aten::index_put_"),
    MakeKernel<IndexSelect>("aten::index_select.out"),
    MakeKernel<MaskedScatter>("aten::masked_scatter.out"),
    MakeKernel<NonZero>("aten::nonzero.out"),
    MakeKernel<ScatterSrc>("aten::scatter.src_out"),
    MakeKernel<ScatterReduce>("aten::scatter_reduce.two_out"),
    MakeKernel<ScatterValue>("aten::scatter.value_out"),
    MakeKernel<ScatterAdd>("aten::scatter_add.out"),
};

}  // namespace

KernelTable IndexingKernels() { return TableOf<kIndexingRows>(); }

}  // namespace xir::kernels
