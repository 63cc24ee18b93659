// Elements of every dtype that kernels know, as the few types that they compute in.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xir/dtype.h"
#include "xir/kernel_arguments.h"

namespace xir::kernels {

// How elements are stored where C++ has no such type, or, for bool, where a file may hold bytes
// that are neither 0 nor 1.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
struct Bool {
  uint8_t bits;
};

// IEEE 754 binary16, to nearest even.
inline float ToFloat(Half half) {
  const uint32_t sign = static_cast<uint32_t>(half.bits & 0x8000) << 16;
  const uint32_t magnitude = half.bits & 0x7FFF;
  // The exponent's bias differs by 112; multiplying makes subnormals normal.
  uint32_t bits = (magnitude << 13) + (magnitude >= 0x7C00 ? 0x70000000 : 0x38000000);
  float value;
  if (magnitude < 0x0400) {
    value = static_cast<float>(magnitude) * 0x1p-24f;
    std::memcpy(&bits, &value, sizeof(bits));
  }
  bits |= sign;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline Half ToHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7FFFFFFF;
  if (bits > 0x7F800000) return {static_cast<uint16_t>(sign | 0x7E00)};
  if (bits >= 0x477FF000) return {static_cast<uint16_t>(sign | 0x7C00)};
  if (bits < 0x38800000) {
    // The addition rounds at binary16's last place of a subnormal.
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof(magnitude));
    magnitude += 0.5f;
    std::memcpy(&bits, &magnitude, sizeof(bits));
    return {static_cast<uint16_t>(sign | (bits - 0x3F000000))};
  }
  const uint32_t rounded = bits + 0xFFF + (bits >> 13 & 1) - 0x38000000;
  return {static_cast<uint16_t>(sign | rounded >> 13)};
}

inline float ToFloat(BFloat16 value) {
  const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

inline BFloat16 ToBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return {0x7FC0};
  return {static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}

// A conversion that is defined for every value. Integers wrap around; a float beyond int64, or a
// NaN, becomes int64's least value first, as on x86.
template <typename To, typename From>
To Convert(From from) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return Convert<To>(ToFloat(from));
  } else if constexpr (std::is_same_v<From, Bool>) {
    return Convert<To>(static_cast<int64_t>(from.bits != 0));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<uint8_t>(from != From{0})};
  } else if constexpr (std::is_same_v<To, Half>) {
    return ToHalf(static_cast<float>(from));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return ToBFloat16(static_cast<float>(from));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const bool fits = from >= From{-0x1p63} && from < From{0x1p63};
    return static_cast<To>(fits ? static_cast<int64_t>(from) : INT64_MIN);
  } else {
    return static_cast<To>(from);
  }
}

// Arithmetic in which integers wrap around, as torch's do.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

template <typename T>
T Plus(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}

template <typename T>
T Minus(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}

template <typename T>
T Times(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}

// What kernels compute in: float for the floats up to 32 bits, int64 for all integers, whose
// results wrap when they are stored, and bool for conditions.
enum class Compute : uint8_t { kFloat, kDouble, kInt, kBool };

template <typename T>
inline constexpr Compute kComputeOf = std::is_same_v<T, float>     ? Compute::kFloat
                                      : std::is_same_v<T, double>  ? Compute::kDouble
                                      : std::is_same_v<T, int64_t> ? Compute::kInt
                                                                   : Compute::kBool;

inline bool IsFloating(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf ||
         dtype == DType::kBFloat16;
}
// Those that kernels compute in float.
inline bool IsShortFloat(DType dtype) { return IsFloating(dtype) && dtype != DType::kDouble; }
// Whether kernels compute with elements of this dtype at all; others are only moved.
bool IsNumeric(DType dtype);
inline bool IsIntegral(DType dtype) { return IsNumeric(dtype) && !IsFloating(dtype); }
// Whether elements are stored as they are computed with.
bool IsNative(DType dtype, Compute compute);

// Reads `count` elements, `step` elements apart, into an array of the compute type.
using LoadFunction = void (*)(const void* from, int64_t step, int64_t count, void* to);
// Writes an array of the compute type to elements `step` apart.
using StoreFunction = void (*)(const void* from, int64_t count, void* to, int64_t step);
// Rounds, or wraps, an array of the compute type to what a dtype holds.
using NarrowFunction = void (*)(void* elements, int64_t count);
// For a numeric dtype.
LoadFunction LoaderOf(DType dtype, Compute compute);
StoreFunction StorerOf(DType dtype, Compute compute);
// Null where every element of `from`, as it is computed with, is one of `to` already.
NarrowFunction NarrowerOf(DType from, DType to, Compute compute);

// Calls visit(T{}) with the type that elements of a floating dtype are computed in.
template <typename Visit>
auto DispatchFloating(DType dtype, const Visit& visit) {
  return dtype == DType::kDouble ? visit(double{}) : visit(float{});
}

// Likewise for every numeric dtype.
template <typename Visit>
auto DispatchNumeric(DType dtype, const Visit& visit) {
  return IsFloating(dtype) ? DispatchFloating(dtype, visit) : visit(int64_t{});
}

}  // namespace xir::kernels
