// The frame of all elementwise kernels. An operation sees contiguous arrays of one type that it
// computes in; strides, broadcasting, promotion and storage types are settled here, a block of
// elements at a time. A new operation is a function object and a row of its file's table.
#pragma once

#include <array>
#include <optional>

#include "kernels/element.h"
#include "kernels/loop_nest.h"
#include "kernels/promotion.h"
#include "xir/kernel_checks.h"

namespace xir::kernels {

// A tensor, or a number that broadcasts.
struct Operand {
  Operand(const Tensor& tensor)
      : data(tensor.data), dtype(tensor.dtype), shape(tensor.shape), strides(tensor.strides()) {}
  Operand(const Scalar& number) : data(number.data()), dtype(number.dtype()), is_number(true) {}

  Typed typed() const {
    return {dtype, is_number         ? Weight::kNumber
                   : shape.rank == 0 ? Weight::kZeroDim
                                     : Weight::kDimensioned};
  }

  const void* data;
  DType dtype;
  Shape shape;
  Strides strides{};
  bool is_number = false;
};

template <size_t N>
using Operands = std::array<Operand, N>;

// Applies an operation to `count` elements: (operation, out, in, count).
using RowFunction = void (*)(const void* op, void* out, const void* const* in, int64_t count);

struct Mapping {
  RowFunction row;
  const void* op;
  Compute result;                   // what the row writes
  std::array<Compute, 3> operands;  // and reads
  // The dtype that operands of others are converted to first, if any, as ATen does it. Beside
  // halves, in which some operations compute as floats, `keeps_last` says that the last operand
  // keeps its value where it is a number or has no dimensions.
  std::optional<DType> common;
  bool keeps_last = false;
};

// Sizes `out` to what the operands broadcast to and fills it.
Status MapRows(Tensor& out, const Operand* operands, size_t count, const Mapping& mapping);

// The stored type of what an operation on arrays of T... returns: bool for predicates.
template <typename R>
using Stored = std::conditional_t<std::is_same_v<R, bool>, Bool, R>;

template <typename T>
T FromStored(T value) {
  return value;
}
inline bool FromStored(Bool value) { return value.bits != 0; }
template <typename R>
Stored<R> ToStored(R value) {
  if constexpr (std::is_same_v<R, bool>) {
    return Bool{static_cast<uint8_t>(value)};
  } else {
    return value;
  }
}

template <typename Op, typename... T, size_t... I>
void ApplyRow(const void* op, void* out, const void* const* in, int64_t count,
              std::index_sequence<I...>) {
  using R = decltype((*static_cast<const Op*>(op))(FromStored(T{})...));
  const Op apply = *static_cast<const Op*>(op);
  auto* to = static_cast<Stored<R>*>(out);
  const std::tuple<const T*...> from{static_cast<const T*>(in[I])...};
  for (int64_t i = 0; i < count; ++i) {
    to[i] = ToStored<R>(apply(FromStored(std::get<I>(from)[i])...));
  }
}

template <typename Op, typename... T>
void RowOf(const void* op, void* out, const void* const* in, int64_t count) {
  ApplyRow<Op, T...>(op, out, in, count, std::index_sequence_for<T...>());
}

// op(T...) for each element; T are what the operands are computed in, converted to `common` first.
template <typename... T, typename Op>
Status Map(const Op& op, const Operands<sizeof...(T)>& operands, Tensor& out,
           std::optional<DType> common = {}, bool keeps_last = false) {
  using R = decltype(op(FromStored(T{})...));
  Mapping mapping{RowOf<Op, T...>, &op, kComputeOf<Stored<R>>, {}, common, keeps_last};
  mapping.operands = {kComputeOf<T>...};
  return MapRows(out, operands.data(), sizeof...(T), mapping);
}

// Whether a result that is computed as `common` and stored as `out` is what ATen would store.
// Where it would first round to a narrower `common`, only the same dtype is.
Status CheckResultType(DType common, DType out);

}  // namespace xir::kernels
