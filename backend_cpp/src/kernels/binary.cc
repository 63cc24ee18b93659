// Elementwise functions of two and three operands. A new one is a function object and a row.
#include <algorithm>
#include <cmath>

#include "kernels/elementwise.h"
#include "kernels/families.h"
#include "kernels/function.h"

namespace xir::kernels {
namespace {

template <typename T>
struct AddWithAlpha {
  T alpha;
  T operator()(T a, T b) const { return Plus(a, Times(alpha, b)); }
};

template <typename T>
struct SubScaled {
  T alpha;
  T operator()(T a, T b) const { return Minus(a, Times(alpha, b)); }
};

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return Plus(a, b);
  }
};

struct Multiply {
  template <typename T>
  T operator()(T a, T b) const {
    return Times(a, b);
  }
};

struct Divide {
  template <typename T>
  T operator()(T a, T b) const {
    return a / b;
  }
};

// Integer division by zero, an error in torch, gives 0; by -1 it must not trap.
template <typename T>
T TruncatedQuotient(T a, T b) {
  if (b == 0) return 0;
  return b == -1 ? Minus(T{0}, a) : a / b;
}

struct DivideTrunc {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return TruncatedQuotient(a, b);
    } else {
      return std::trunc(a / b);
    }
  }
};

template <typename T>
T FlooredRemainder(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0 || b == -1) return 0;
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    const T rest = std::fmod(a, b);
    return rest != T{0} && (b < T{0}) != (rest < T{0}) ? rest + b : rest;
  }
}

// Python's `//`: the remainder is subtracted before dividing (c10::div_floor_floating).
struct DivideFloor {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      const T quotient = TruncatedQuotient(a, b);
      return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
    } else {
      if (b == T{0}) return a / b;
      const T rest = std::fmod(a, b);
      T quotient = (a - rest) / b;
      if (rest != T{0} && (b < T{0}) != (rest < T{0})) quotient -= T{1};
      if (quotient == T{0}) return std::copysign(T{0}, a / b);
      const T floored = std::floor(quotient);
      return quotient - floored > T{0.5} ? floored + T{1} : floored;
    }
  }
};

struct Fmod {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return b == 0 || b == -1 ? 0 : a % b;
    } else {
      return std::fmod(a, b);
    }
  }
};

struct Remainder {
  template <typename T>
  T operator()(T a, T b) const {
    return FlooredRemainder(a, b);
  }
};

struct Power {
  template <typename T>
  T operator()(T base, T exponent) const {
    if constexpr (std::is_integral_v<T>) {
      // torch gives 0 for what lies between 0 and 1.
      if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
      uint64_t result = 1;
      for (auto factor = static_cast<uint64_t>(base); exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0) result *= factor;
        factor *= factor;
      }
      return static_cast<T>(result);
    } else {
      return std::pow(base, exponent);
    }
  }
};

struct Atan2 {
  template <typename T>
  T operator()(T a, T b) const {
    return std::atan2(a, b);
  }
};

// A NaN wins.
struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    return a != a || a > b ? a : b;
  }
};

struct Minimum {
  template <typename T>
  T operator()(T a, T b) const {
    return a != a || a < b ? a : b;
  }
};

XIR_BINARY_FUNCTION(Equal, a == b);
XIR_BINARY_FUNCTION(NotEqual, a != b);
XIR_BINARY_FUNCTION(Less, a < b);
XIR_BINARY_FUNCTION(LessEqual, a <= b);
XIR_BINARY_FUNCTION(Greater, a > b);
XIR_BINARY_FUNCTION(GreaterEqual, a >= b);
XIR_BINARY_FUNCTION(LogicalAnd, a&& b);
XIR_BINARY_FUNCTION(LogicalOr, a || b);
XIR_BINARY_FUNCTION(LogicalXor, static_cast<bool>(a) != static_cast<bool>(b));
XIR_BINARY_FUNCTION(BitwiseAnd, a& b);
XIR_BINARY_FUNCTION(BitwiseOr, a | b);
XIR_BINARY_FUNCTION(BitwiseXor, a ^ b);

// A shift by the width or more empties; one by a negative amount too.
struct ShiftLeft {
  int64_t operator()(int64_t a, int64_t b) const {
    return b < 0 || b > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  }
};

struct ShiftRight {
  int64_t operator()(int64_t a, int64_t b) const { return a >> (b < 0 || b > 63 ? 63 : b); }
};

// The kernels. A and B are tensors or numbers.

template <typename A, typename B>
DType CommonType(const A& a, const B& b) {
  const Operand left(a), right(b);
  if (!IsNumeric(left.dtype) || !IsNumeric(right.dtype)) return left.dtype;
  return ResultType({left.typed(), right.typed()});
}

// make(T{}) is the function, computed in `common`.
template <typename Make>
Status MapBinary(const Operand& a, const Operand& b, DType common, Tensor& out, const Make& make,
                 bool keeps_last = false) {
  XIR_RETURN_IF_ERROR(CheckResultType(common, out.dtype));
  return DispatchNumeric(common, [&](auto zero) {
    using T = decltype(zero);
    return Map<T, T>(make(zero), {a, b}, out, common, keeps_last);
  });
}

// What ATen does with a number, or a tensor without dimensions, that is the second operand beside
// halves: products and quotients keep its value (`iter.original_scalar_value` in
// aten/src/ATen/native/cpu/BinaryOpsKernel.cpp), all else converts it to the halves' dtype.
template <typename Function>
inline constexpr bool kKeepsNumber =
    std::is_same_v<Function, Multiply> || std::is_same_v<Function, Divide> ||
    std::is_same_v<Function, DivideTrunc> || std::is_same_v<Function, DivideFloor>;

template <typename Function, typename A, typename B>
Status Arithmetic(const A& a, const B& b, Tensor& out) {
  const auto make = [](auto) { return Function(); };
  return MapBinary(a, b, CommonType(a, b), out, make, kKeepsNumber<Function>);
}

// Integers are divided, and so on, as floats.
template <typename Function, typename A, typename B>
Status InFloats(const A& a, const B& b, Tensor& out) {
  const DType common = CommonType(a, b);
  const DType type = IsFloating(common) ? common : DType::kFloat;
  XIR_RETURN_IF_ERROR(CheckResultType(type, out.dtype));
  return DispatchFloating(type, [&](auto zero) {
    using T = decltype(zero);
    return Map<T, T>(Function(), {a, b}, out, type, kKeepsNumber<Function>);
  });
}

// The exponent of floats keeps 64 bits, which tell whether a large one is even.
Status PowerOfNumber(const Tensor& base, const Scalar& exponent, Tensor& out) {
  const DType common = CommonType(base, exponent);
  const double number = exponent.to<double>();
  if (common == DType::kFloat && std::fabs(number) >= 0x1p24 && std::isfinite(number)) {
    XIR_RETURN_IF_ERROR(CheckResultType(common, out.dtype));
    return Map<double, double>(Power(), {base, exponent}, out);
  }
  return Arithmetic<Power>(base, exponent, out);
}

template <typename B>
Status AddAlpha(const Tensor& a, const B& b, const Scalar& alpha, Tensor& out) {
  const DType common = CommonType(a, b);
  if (alpha.to<double>() == 1.0) {
    return MapBinary(a, b, common, out, [](auto) { return Add(); });
  }
  return MapBinary(a, b, common, out, [&](auto zero) {
    return AddWithAlpha<decltype(zero)>{alpha.to<decltype(zero)>()};
  });
}

template <typename B>
Status SubAlpha(const Tensor& a, const B& b, const Scalar& alpha, Tensor& out) {
  return MapBinary(a, b, CommonType(a, b), out, [&](auto zero) {
    return SubScaled<decltype(zero)>{alpha.to<decltype(zero)>()};
  });
}

Status RsubScalar(const Tensor& self, const Scalar& other, const Scalar& alpha, Tensor& out) {
  return MapBinary(other, self, CommonType(self, other), out, [&](auto zero) {
    return SubScaled<decltype(zero)>{alpha.to<decltype(zero)>()};
  });
}

// An integer divisor of zero is an error before anything is written.
Status CheckDivisor(const Operand& divisor, DType common) {
  if (IsFloating(common) || !IsIntegral(divisor.dtype)) return {};
  if (divisor.is_number) {
    int64_t value = 0;
    LoaderOf(divisor.dtype, Compute::kInt)(divisor.data, 0, 1, &value);
    return value == 0 ? Invalid("division by zero") : Status();
  }
  // Operands are dense, so their order does not matter.
  const LoadFunction load = LoaderOf(divisor.dtype, Compute::kInt);
  const auto size = static_cast<int64_t>(ElementSize(divisor.dtype));
  constexpr int64_t kBlock = 256;
  int64_t values[kBlock];
  const int64_t count = divisor.shape.numel();
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t n = std::min(kBlock, count - i);
    load(static_cast<const uint8_t*>(divisor.data) + i * size, 1, n, values);
    if (std::find(values, values + n, 0) != values + n) return Invalid("division by zero");
  }
  return {};
}

template <typename Function, typename A, typename B>
Status Dividing(const A& a, const B& b, Tensor& out) {
  XIR_RETURN_IF_ERROR(CheckDivisor(b, CommonType(a, b)));
  return Arithmetic<Function>(a, b, out);
}

template <typename B>
Status DivMode(const Tensor& a, const B& b, std::optional<std::string_view> mode, Tensor& out) {
  if (!mode) return InFloats<Divide>(a, b, out);
  if (*mode == "trunc") return Dividing<DivideTrunc>(a, b, out);
  if (*mode == "floor") return Dividing<DivideFloor>(a, b, out);
  return Invalid("a division rounded by '", *mode, "'");
}

template <typename Function, typename A, typename B>
Status Comparison(const A& a, const B& b, Tensor& out) {
  XIR_RETURN_IF_ERROR(CheckResultType(DType::kBool, out.dtype));
  const DType common = CommonType(a, b);
  return DispatchNumeric(common, [&](auto zero) {
    using T = decltype(zero);
    return Map<T, T>(Function(), {a, b}, out, common);
  });
}

template <typename Function, typename A, typename B>
Status Bitwise(const A& a, const B& b, Tensor& out) {
  const DType common = CommonType(a, b);
  if (!IsIntegral(common)) return Unsupported("bits of a float");
  XIR_RETURN_IF_ERROR(CheckResultType(common, out.dtype));
  return Map<int64_t, int64_t>(Function(), {a, b}, out, common);
}

struct Choose {
  template <typename T>
  T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};

Status Select(const Operand& condition, const Operand& a, const Operand& b, DType common,
              Tensor& out) {
  if (condition.dtype != DType::kBool && condition.dtype != DType::kByte) {
    return Unsupported("a condition that is not bool");
  }
  XIR_RETURN_IF_ERROR(CheckResultType(common, out.dtype));
  // As an integer, a fraction would be false.
  if (common == DType::kBool) return Map<Bool, Bool, Bool>(Choose(), {condition, a, b}, out);
  return DispatchNumeric(common, [&](auto zero) {
    using T = decltype(zero);
    return Map<Bool, T, T>(Choose(), {condition, a, b}, out);
  });
}

Status Where(const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
  return Select(condition, self, other, CommonType(self, other), out);
}

// Keeps self's dtype.
template <typename V>
Status MaskedFill(const Tensor& self, const Tensor& mask, const V& value, Tensor& out) {
  return Select(mask, value, self, self.dtype, out);
}

template <typename T>
struct ClampBetween {
  bool from_below, from_above;
  T operator()(T x, T lower, T upper) const {
    if (from_below) x = x != x || x > lower ? x : lower;
    if (from_above) x = x != x || x < upper ? x : upper;
    return x;
  }
};

Status ClampTensor(const Tensor& self, const Tensor* min, const Tensor* max, Tensor& out) {
  if (min == nullptr && max == nullptr) return Invalid("neither bound is given");
  const Operand x(self), lower(min != nullptr ? *min : self), upper(max != nullptr ? *max : self);
  const DType common = ResultType({x.typed(), lower.typed(), upper.typed()});
  XIR_RETURN_IF_ERROR(CheckResultType(common, out.dtype));
  return DispatchNumeric(common, [&](auto zero) {
    using T = decltype(zero);
    return Map<T, T, T>(ClampBetween<T>{min != nullptr, max != nullptr}, {x, lower, upper}, out,
                        common);
  });
}

using T = Tensor;
using S = Scalar;

constexpr TypedKernel kBinaryRows[] = {
    MakeKernel<AddAlpha<S>>("aten::add.Scalar_out"),
    MakeKernel<AddAlpha<T>>("aten::add.out"),
    MakeKernel<InFloats<Atan2, T, T>>("aten::atan2.out"),
    MakeKernel<Bitwise<BitwiseAnd, T, S>>("aten::bitwise_and.Scalar_out"),
    MakeKernel<Bitwise<BitwiseAnd, T, T>>("aten::bitwise_and.Tensor_out"),
    MakeKernel<Bitwise<ShiftLeft, T, S>>("aten::bitwise_left_shift.Tensor_Scalar_out"),
    MakeKernel<Bitwise<ShiftLeft, T, T>>("aten::bitwise_left_shift.Tensor_out"),
    MakeKernel<Bitwise<BitwiseOr, T, S>>("aten::bitwise_or.Scalar_out"),
    MakeKernel<Bitwise<BitwiseOr, T, T>>("aten::bitwise_or.Tensor_out"),
    MakeKernel<Bitwise<ShiftRight, T, S>>("aten::bitwise_right_shift.Tensor_Scalar_out"),
    MakeKernel<Bitwise<ShiftRight, T, T>>("aten::bitwise_right_shift.Tensor_out"),
    MakeKernel<Bitwise<BitwiseXor, T, S>>("aten::bitwise_xor.Scalar_out"),
    MakeKernel<Bitwise<BitwiseXor, T, T>>("aten::bitwise_xor.Tensor_out"),
    MakeKernel<ClampTensor>("aten::clamp.Tensor_out"),
    MakeKernel<InFloats<Divide, T, S>>("aten::div.Scalar_out"),
    MakeKernel<DivMode<S>>("aten::div.Scalar_mode_out"),
    MakeKernel<InFloats<Divide, T, T>>("aten::div.out"),
    MakeKernel<DivMode<T>>("aten::div.out_mode"),
    MakeKernel<Comparison<Equal, T, S>>("aten::eq.Scalar_out"),
    MakeKernel<Comparison<Equal, T, T>>("aten::eq.Tensor_out"),
    MakeKernel<Dividing<DivideFloor, T, T>>("aten::floor_divide.out"),
    MakeKernel<Dividing<Fmod, T, S>>("aten::fmod.Scalar_out"),
    MakeKernel<Dividing<Fmod, T, T>>("aten::fmod.Tensor_out"),
    MakeKernel<Comparison<GreaterEqual, T, S>>("aten::ge.Scalar_out"),
    MakeKernel<Comparison<GreaterEqual, T, T>>("aten::ge.Tensor_out"),
    MakeKernel<Comparison<Greater, T, S>>("aten::gt.Scalar_out"),
    MakeKernel<Comparison<Greater, T, T>>("aten::gt.Tensor_out"),
    MakeKernel<Comparison<LessEqual, T, S>>("aten::le.Scalar_out"),
    MakeKernel<Comparison<LessEqual, T, T>>("aten::le.Tensor_out"),
    MakeKernel<Comparison<LogicalAnd, T, T>>("aten::logical_and.out"),
    MakeKernel<Comparison<LogicalOr, T, T>>("aten::logical_or.out"),
    MakeKernel<Comparison<LogicalXor, T, T>>("aten::logical_xor.out"),
    MakeKernel<Comparison<Less, T, S>>("aten::lt.Scalar_out"),
    MakeKernel<Comparison<Less, T, T>>("aten::lt.Tensor_out"),
    MakeKernel<MaskedFill<S>>("aten::masked_fill.Scalar_out"),
    MakeKernel<MaskedFill<T>>("aten::masked_fill.Tensor_out"),
    MakeKernel<Arithmetic<Maximum, T, T>>("aten::maximum.out"),
    MakeKernel<Arithmetic<Minimum, T, T>>("aten::minimum.out"),
    MakeKernel<Arithmetic<Multiply, T, S>>("aten::mul.Scalar_out"),
    MakeKernel<Arithmetic<Multiply, T, T>>("aten::mul.out"),
    MakeKernel<Comparison<NotEqual, T, S>>("aten::ne.Scalar_out"),
    MakeKernel<Comparison<NotEqual, T, T>>("aten::ne.Tensor_out"),
    MakeKernel<Arithmetic<Power, S, T>>("aten::pow.Scalar_out"),
    MakeKernel<PowerOfNumber>("aten::pow.Tensor_Scalar_out"),
    MakeKernel<Arithmetic<Power, T, T>>("aten::pow.Tensor_Tensor_out"),
    MakeKernel<Dividing<Remainder, T, S>>("aten::remainder.Scalar_out"),
    MakeKernel<Dividing<Remainder, T, T>>("aten::remainder.Tensor_out"),
    MakeKernel<RsubScalar>("aten::rsub.Scalar_out"),
    MakeKernel<SubAlpha<S>>("aten::sub.Scalar_out"),
    MakeKernel<SubAlpha<T>>("aten::sub.out"),
    MakeKernel<Where>("aten::where.self_out"),
};

}  // namespace

KernelTable BinaryKernels() { return TableOf<kBinaryRows>(); }

}  // namespace xir::kernels
