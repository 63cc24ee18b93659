// Elementwise functions of one operand. A new one is a function object and a row.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise.h"
#include "kernels/families.h"
#include "kernels/function.h"

namespace xir::kernels {
namespace {

template <typename T>
T Magnitude(T x) {
  if constexpr (std::is_integral_v<T>) {
    return x < 0 ? Minus(T{0}, x) : x;
  } else {
    return std::fabs(x);
  }
}

template <typename T>
bool IsInfinite(T x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return std::fabs(x) == std::numeric_limits<T>::infinity();
  }
}

// x in [0, 6] after adding 3; a NaN stays one.
template <typename T>
T Relu6Of3More(T x) {
  return std::min(std::max(x + T{3}, T{0}), T{6});
}

// Of floats.
XIR_UNARY_FUNCTION(Acos, std::acos(x));
XIR_UNARY_FUNCTION(Acosh, std::acosh(x));
XIR_UNARY_FUNCTION(Asin, std::asin(x));
XIR_UNARY_FUNCTION(Asinh, std::asinh(x));
XIR_UNARY_FUNCTION(Atan, std::atan(x));
XIR_UNARY_FUNCTION(Atanh, std::atanh(x));
XIR_UNARY_FUNCTION(Cos, std::cos(x));
XIR_UNARY_FUNCTION(Cosh, std::cosh(x));
XIR_UNARY_FUNCTION(Erf, std::erf(x));
XIR_UNARY_FUNCTION(Exp, std::exp(x));
XIR_UNARY_FUNCTION(Exp2, std::exp2(x));
XIR_UNARY_FUNCTION(Expm1, std::expm1(x));
XIR_UNARY_FUNCTION(HardSigmoid, Relu6Of3More(x) / T{6});
XIR_UNARY_FUNCTION(HardSwish, x* Relu6Of3More(x) / T{6});
XIR_UNARY_FUNCTION(Log, std::log(x));
XIR_UNARY_FUNCTION(Log10, std::log10(x));
XIR_UNARY_FUNCTION(Log1p, std::log1p(x));
XIR_UNARY_FUNCTION(Log2, std::log2(x));
XIR_UNARY_FUNCTION(Mish, x* std::tanh(std::log1p(std::exp(x))));
XIR_UNARY_FUNCTION(Reciprocal, T{1} / x);
XIR_UNARY_FUNCTION(Rsqrt, T{1} / std::sqrt(x));
XIR_UNARY_FUNCTION(Sigmoid, T{1} / (T{1} + std::exp(-x)));
XIR_UNARY_FUNCTION(Silu, x / (T{1} + std::exp(-x)));
XIR_UNARY_FUNCTION(Sin, std::sin(x));
XIR_UNARY_FUNCTION(Sinh, std::sinh(x));
XIR_UNARY_FUNCTION(Sqrt, std::sqrt(x));
XIR_UNARY_FUNCTION(Tan, std::tan(x));
XIR_UNARY_FUNCTION(Tanh, std::tanh(x));

// Integers are whole already.
XIR_UNARY_FUNCTION(Ceil, std::ceil(x));
XIR_UNARY_FUNCTION(Floor, std::floor(x));
XIR_UNARY_FUNCTION(Round, std::nearbyint(x));
XIR_UNARY_FUNCTION(Trunc, std::trunc(x));

// Of integers.
XIR_UNARY_FUNCTION(BitwiseNot, ~x);

// Of either.
XIR_UNARY_FUNCTION(Abs, Magnitude(x));
XIR_UNARY_FUNCTION(Identity, x);
XIR_UNARY_FUNCTION(Neg, Times(x, T{-1}));
XIR_UNARY_FUNCTION(Relu, x < T{0} ? T{0} : x);
XIR_UNARY_FUNCTION(Square, Times(x, x));
XIR_UNARY_FUNCTION(Sign, static_cast<T>((x > T{0}) - (x < T{0})));

// Conditions.
XIR_UNARY_FUNCTION(IsInf, IsInfinite(x));
XIR_UNARY_FUNCTION(IsNan, x != x);
XIR_UNARY_FUNCTION(LogicalNot, x == T{0});

DType FloatTypeOf(DType dtype) { return IsFloating(dtype) ? dtype : DType::kFloat; }

// A result in floats, of integers too. `make(T{})` is the function.
template <typename Make>
Status MapFloating(const Tensor& self, Tensor& out, const Make& make) {
  const DType common = FloatTypeOf(self.dtype);
  XIR_RETURN_IF_ERROR(CheckResultType(common, out.dtype));
  return DispatchFloating(common,
                          [&](auto zero) { return Map<decltype(zero)>(make(zero), {self}, out); });
}

// A result of the dtype `common`, computed in it.
template <typename Make>
Status MapNumeric(const Tensor& self, DType common, Tensor& out, const Make& make) {
  XIR_RETURN_IF_ERROR(CheckResultType(common, out.dtype));
  return DispatchNumeric(common,
                         [&](auto zero) { return Map<decltype(zero)>(make(zero), {self}, out); });
}

template <typename Function>
Status Floating(const Tensor& self, Tensor& out) {
  return MapFloating(self, out, [](auto) { return Function(); });
}

template <typename Function>
Status Numeric(const Tensor& self, Tensor& out) {
  return MapNumeric(self, self.dtype, out, [](auto) { return Function(); });
}

template <typename Function>
Status Rounding(const Tensor& self, Tensor& out) {
  return IsFloating(self.dtype) ? Floating<Function>(self, out) : Numeric<Identity>(self, out);
}

template <typename Function>
Status Condition(const Tensor& self, Tensor& out) {
  XIR_RETURN_IF_ERROR(CheckResultType(DType::kBool, out.dtype));
  return DispatchNumeric(self.dtype,
                         [&](auto zero) { return Map<decltype(zero)>(Function(), {self}, out); });
}

Status BitwiseNotOf(const Tensor& self, Tensor& out) {
  if (self.dtype == DType::kBool) return Condition<LogicalNot>(self, out);
  if (!IsIntegral(self.dtype)) return Unsupported("bits of a float");
  XIR_RETURN_IF_ERROR(CheckResultType(self.dtype, out.dtype));
  return Map<int64_t>(BitwiseNot(), {self}, out);
}

// Functions with parameters.

// Limited to [lower, upper], an upper bound below the lower one winning; a NaN stays one, and a
// bound that is none makes all one.
template <typename T>
struct Limit {
  T lower, upper;
  T operator()(T x) const {
    const T raised = x >= lower || x != x ? x : lower;
    return raised <= upper || raised != raised ? raised : upper;
  }
};

template <typename T>
Limit<T> MakeLimit(const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  using Limits = std::numeric_limits<T>;
  const T least = std::is_floating_point_v<T> ? -Limits::infinity() : Limits::lowest();
  const T greatest = std::is_floating_point_v<T> ? Limits::infinity() : Limits::max();
  return {min ? min->to<T>() : least, max ? max->to<T>() : greatest};
}

Status Clamp(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max,
             Tensor& out) {
  DType common = self.dtype;
  const Typed own = Operand(self).typed();
  for (const auto& bound : {min, max}) {
    if (bound) common = Promote(common, ResultType({own, {bound->dtype(), Weight::kNumber}}));
  }
  return MapNumeric(self, common, out,
                    [&](auto zero) { return MakeLimit<decltype(zero)>(min, max); });
}

Status Hardtanh(const Tensor& self, const Scalar& min, const Scalar& max, Tensor& out) {
  return MapNumeric(self, self.dtype, out,
                    [&](auto zero) { return MakeLimit<decltype(zero)>(min, max); });
}

template <typename T>
struct EluOf {
  T negative, positive, input;
  T operator()(T x) const { return x < T{0} ? std::expm1(x * input) * negative : x * positive; }
};

Status Elu(const Tensor& self, double alpha, double scale, double input_scale, Tensor& out) {
  return MapFloating(self, out, [&](auto zero) {
    using T = decltype(zero);
    return EluOf<T>{static_cast<T>(alpha * scale), static_cast<T>(scale),
                    static_cast<T>(input_scale)};
  });
}

template <typename T>
struct LeakyReluOf {
  T slope;
  T operator()(T x) const { return x > T{0} ? x : x * slope; }
};

Status LeakyRelu(const Tensor& self, double slope, Tensor& out) {
  return MapFloating(self, out, [&](auto zero) {
    return LeakyReluOf<decltype(zero)>{Convert<decltype(zero)>(slope)};
  });
}

struct GeluErf {
  template <typename T>
  T operator()(T x) const {
    return T{0.5} * x * (T{1} + std::erf(x * static_cast<T>(0.70710678118654752440)));
  }
};

struct GeluTanh {
  template <typename T>
  T operator()(T x) const {
    const T inner =
        static_cast<T>(0.79788456080286535588) * (x + static_cast<T>(0.044715) * x * x * x);
    return T{0.5} * x * (T{1} + std::tanh(inner));
  }
};

Status Gelu(const Tensor& self, std::string_view approximate, Tensor& out) {
  if (approximate == "none") return Floating<GeluErf>(self, out);
  if (approximate == "tanh") return Floating<GeluTanh>(self, out);
  return Invalid("a gelu approximated by '", approximate, "'");
}

template <typename T>
struct LogitOf {
  T least;  // negative: no limit
  T operator()(T x) const {
    if (least >= T{0}) x = x < least ? least : x > T{1} - least ? T{1} - least : x;
    return std::log(x / (T{1} - x));
  }
};

Status Logit(const Tensor& self, std::optional<double> eps, Tensor& out) {
  return MapFloating(self, out, [&](auto zero) {
    return LogitOf<decltype(zero)>{static_cast<decltype(zero)>(eps.value_or(-1.0))};
  });
}

template <typename T>
struct SoftplusOf {
  T beta, threshold;
  T operator()(T x) const {
    const T scaled = x * beta;
    return scaled > threshold ? x : std::log1p(std::exp(scaled)) / beta;
  }
};

Status Softplus(const Tensor& self, double beta, double threshold, Tensor& out) {
  return MapFloating(self, out, [&](auto zero) {
    using T = decltype(zero);
    return SoftplusOf<T>{static_cast<T>(beta), static_cast<T>(threshold)};
  });
}

// One half of a dimension, gated by the sigmoid of the other.
struct Gate {
  template <typename T>
  T operator()(T x, T gate) const {
    return x / (T{1} + std::exp(-gate));
  }
};

Status Glu(const Tensor& self, int64_t dim, Tensor& out) {
  if (!IsFloating(self.dtype) || self.rank() == 0)
    return Unsupported("a gate of other than floats");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  if (self.shape[at] % 2 != 0) return Invalid("halves of ", self.shape[at], " elements");
  XIR_RETURN_IF_ERROR(CheckResultType(self.dtype, out.dtype));
  Operand first(self), second(self);
  const int64_t half = self.shape[at] / 2;
  first.shape[at] = second.shape[at] = half;
  const int64_t offset = half * self.strides()[at] * static_cast<int64_t>(ElementSize(self.dtype));
  if (self.data != nullptr) second.data = self.as<uint8_t>() + offset;  // an empty tensor has none
  return DispatchFloating(self.dtype, [&](auto zero) {
    using T = decltype(zero);
    return Map<T, T>(Gate(), {first, second}, out);
  });
}

constexpr TypedKernel kUnaryRows[] = {
    MakeKernel<Numeric<Abs>>("aten::abs.out"),
    MakeKernel<Floating<Acos>>("aten::acos.out"),
    MakeKernel<Floating<Acosh>>("aten::acosh.out"),
    MakeKernel<Floating<Asin>>("aten::asin.out"),
    MakeKernel<Floating<Asinh>>("aten::asinh.out"),
    MakeKernel<Floating<Atan>>("aten::atan.out"),
    MakeKernel<Floating<Atanh>>("aten::atanh.out"),
    MakeKernel<BitwiseNotOf>("aten::bitwise_not.out"),
    MakeKernel<Rounding<Ceil>>("aten::ceil.out"),
    MakeKernel<Clamp>("aten::clamp.out"),
    MakeKernel<Floating<Cos>>("aten::cos.out"),
    MakeKernel<Floating<Cosh>>("aten::cosh.out"),
    MakeKernel<Elu>("aten::elu.out"),
    MakeKernel<Floating<Erf>>("aten::erf.out"),
    MakeKernel<Floating<Exp>>("aten::exp.out"),
    MakeKernel<Floating<Exp2>>("aten::exp2.out"),
    MakeKernel<Floating<Expm1>>("aten::expm1.out"),
    MakeKernel<Rounding<Floor>>("aten::floor.out"),
    MakeKernel<Gelu>("aten::gelu.out"),
    MakeKernel<Glu>("aten::glu.out"),
    MakeKernel<Floating<HardSigmoid>>("aten::hardsigmoid.out"),
    MakeKernel<Floating<HardSwish>>("aten::hardswish.out"),
    MakeKernel<Hardtanh>("aten::hardtanh.out"),
    MakeKernel<Condition<IsInf>>("aten::isinf.out"),
    MakeKernel<Condition<IsNan>>("aten::isnan.out"),
    MakeKernel<LeakyRelu>("aten::leaky_relu.out"),
    MakeKernel<Floating<Log>>("aten::log.out"),
    MakeKernel<Floating<Log10>>("aten::log10.out"),
    MakeKernel<Floating<Log1p>>("aten::log1p.out"),
    MakeKernel<Floating<Log2>>("aten::log2.out"),
    MakeKernel<Condition<LogicalNot>>("aten::logical_not.out"),
    MakeKernel<Logit>("aten::logit.out"),
    MakeKernel<Floating<Mish>>("aten::mish.out"),
    MakeKernel<Numeric<Neg>>("aten::neg.out"),
    MakeKernel<Floating<Reciprocal>>("aten::reciprocal.out"),
    MakeKernel<Numeric<Relu>>("aten::relu.out"),
    MakeKernel<Rounding<Round>>("aten::round.out"),
    MakeKernel<Floating<Rsqrt>>("aten::rsqrt.out"),
    MakeKernel<Floating<Sigmoid>>("aten::sigmoid.out"),
    MakeKernel<Numeric<Sign>>("aten::sign.out"),
    MakeKernel<Floating<Silu>>("aten::silu.out"),
    MakeKernel<Floating<Sin>>("aten::sin.out"),
    MakeKernel<Floating<Sinh>>("aten::sinh.out"),
    MakeKernel<Softplus>("aten::softplus.out"),
    MakeKernel<Floating<Sqrt>>("aten::sqrt.out"),
    MakeKernel<Numeric<Square>>("aten::square.out"),
    MakeKernel<Floating<Tan>>("aten::tan.out"),
    MakeKernel<Floating<Tanh>>("aten::tanh.out"),
    MakeKernel<Rounding<Trunc>>("aten::trunc.out"),
};

}  // namespace

KernelTable UnaryKernels() { return TableOf<kUnaryRows>(); }

}  // namespace xir::kernels
