#include "masks/element.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace masks {
namespace {

using xir::DType;

// Wraps around, as torch's integers do.
template <typename T, typename Function>
T Wrapping(T a, T b, Function function) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(function(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
}

template <Operation kOperation, typename T>
auto Compute(T a, T b) {
  if constexpr (kOperation == Operation::kAdd) {
    return Wrapping(a, b, [](auto x, auto y) { return x + y; });
  } else if constexpr (kOperation == Operation::kSubtract) {
    return Wrapping(a, b, [](auto x, auto y) { return x - y; });
  } else if constexpr (kOperation == Operation::kMultiply) {
    return Wrapping(a, b, [](auto x, auto y) { return x * y; });
  } else if constexpr (kOperation == Operation::kMinimum) {
    return std::min(a, b);
  } else if constexpr (kOperation == Operation::kMaximum) {
    return std::max(a, b);
  } else if constexpr (kOperation == Operation::kEqual) {
    return static_cast<uint8_t>(a == b);
  } else if constexpr (kOperation == Operation::kNotEqual) {
    return static_cast<uint8_t>(a != b);
  } else if constexpr (kOperation == Operation::kLess) {
    return static_cast<uint8_t>(a < b);
  } else if constexpr (kOperation == Operation::kLessEqual) {
    return static_cast<uint8_t>(a <= b);
  } else if constexpr (kOperation == Operation::kGreater) {
    return static_cast<uint8_t>(a > b);
  } else if constexpr (kOperation == Operation::kGreaterEqual) {
    return static_cast<uint8_t>(a >= b);
  } else if constexpr (kOperation == Operation::kAnd) {
    return static_cast<T>(a & b);
  } else if constexpr (kOperation == Operation::kOr) {
    return static_cast<T>(a | b);
  } else if constexpr (kOperation == Operation::kXor) {
    return static_cast<T>(a ^ b);
  } else if constexpr (kOperation == Operation::kNegate) {
    return Wrapping(T{0}, a, [](auto x, auto y) { return x - y; });
  } else {
    static_assert(kOperation == Operation::kNot);
    // Of a bool, which is a byte of 0 or 1, there is one bit.
    if constexpr (sizeof(T) == 1) return static_cast<T>(a ^ 1);
    return static_cast<T>(~a);
  }
}

template <Operation kOperation, typename T>
void Block(const void* a, const void* b, const void*, void* result, size_t count) {
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b == nullptr ? a : b);
  using R = decltype(Compute<kOperation>(T{}, T{}));
  auto* to = static_cast<R*>(result);
  for (size_t i = 0; i < count; ++i) to[i] = Compute<kOperation>(x[i], y[i]);
}

template <typename T>
void Select(const void* condition, const void* a, const void* b, void* result, size_t count) {
  const auto* flags = static_cast<const uint8_t*>(condition);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  auto* to = static_cast<T*>(result);
  for (size_t i = 0; i < count; ++i) to[i] = flags[i] != 0 ? x[i] : y[i];
}

template <typename From, typename To, bool kToBool>
void Cast(const void* a, const void*, const void*, void* result, size_t count) {
  const auto* from = static_cast<const From*>(a);
  auto* to = static_cast<To*>(result);
  for (size_t i = 0; i < count; ++i) {
    to[i] = kToBool ? static_cast<To>(from[i] != 0) : static_cast<To>(from[i]);
  }
}

template <size_t kSize>
void Copy(const void* a, const void*, const void*, void* result, size_t count) {
  std::memmove(result, a, count * kSize);
}

BlockFunction CopyOf(DType dtype) {
  const size_t size = ElementSize(dtype);
  return size == 1 ? Copy<1> : size == 4 ? Copy<4> : Copy<8>;
}

template <typename From>
BlockFunction CastTo(DType to) {
  switch (to) {
    case DType::kBool:
      return Cast<From, uint8_t, true>;
    case DType::kInt:
      return Cast<From, int32_t, false>;
    case DType::kLong:
      return Cast<From, int64_t, false>;
    default:
      return Cast<From, float, false>;
  }
}

BlockFunction CastOf(DType from, DType to) {
  switch (from) {
    case DType::kBool:
      return CastTo<uint8_t>(to);
    case DType::kInt:
      return CastTo<int32_t>(to);
    default:
      return CastTo<int64_t>(to);
  }
}

BlockFunction SelectOf(DType dtype) {
  const size_t size = ElementSize(dtype);
  return size == 1 ? Select<uint8_t> : size == 4 ? Select<uint32_t> : Select<uint64_t>;
}

template <typename T>
BlockFunction BlockOf(Operation operation) {
  switch (operation) {
    case Operation::kAdd:
      return Block<Operation::kAdd, T>;
    case Operation::kSubtract:
      return Block<Operation::kSubtract, T>;
    case Operation::kMultiply:
      return Block<Operation::kMultiply, T>;
    case Operation::kMinimum:
      return Block<Operation::kMinimum, T>;
    case Operation::kMaximum:
      return Block<Operation::kMaximum, T>;
    case Operation::kEqual:
      return Block<Operation::kEqual, T>;
    case Operation::kNotEqual:
      return Block<Operation::kNotEqual, T>;
    case Operation::kLess:
      return Block<Operation::kLess, T>;
    case Operation::kLessEqual:
      return Block<Operation::kLessEqual, T>;
    case Operation::kGreater:
      return Block<Operation::kGreater, T>;
    case Operation::kGreaterEqual:
      return Block<Operation::kGreaterEqual, T>;
    case Operation::kAnd:
      return Block<Operation::kAnd, T>;
    case Operation::kOr:
      return Block<Operation::kOr, T>;
    case Operation::kXor:
      return Block<Operation::kXor, T>;
    case Operation::kNegate:
      return Block<Operation::kNegate, T>;
    default:
      return Block<Operation::kNot, T>;
  }
}

}  // namespace

BlockFunction FunctionOf(const Program& program, const Value& value) {
  const DType from = program.values[value.operands[0]].dtype;
  switch (value.operation) {
    case Operation::kSelect:
      return SelectOf(value.dtype);
    case Operation::kCast:
      return CastOf(from, value.dtype);
    case Operation::kBroadcast:
    case Operation::kReshape:
      return CopyOf(value.dtype);
    default:
      break;
  }
  if (from == DType::kBool) return BlockOf<uint8_t>(value.operation);
  return from == DType::kInt ? BlockOf<int32_t>(value.operation)
                             : BlockOf<int64_t>(value.operation);
}

}  // namespace masks
