// Arithmetic on numbers that a program computes while it runs: sizes of dynamic dimensions.
#include <cmath>

#include "kernels/element.h"
#include "kernels/families.h"
#include "kernels/function.h"
#include "xir/kernel_checks.h"

namespace xir::kernels {
namespace {

// Sets a number's content; what it is was fixed when the program was made.
template <typename T>
Status Set(Value& out, T value) {
  if (auto* integer = out.get<int64_t>()) {
    *integer = Convert<int64_t>(value);
  } else if (auto* flag = out.get<bool>()) {
    *flag = value != T{0};
  } else {
    *out.get<double>() = static_cast<double>(value);
  }
  return {};
}

Status SymSize(const Tensor& self, int64_t dim, Value& out) {
  if (self.rank() == 0) return Invalid("a size of a tensor without dimensions");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  return Set(out, self.shape[at]);
}

Status SymNumel(const Tensor& self, Value& out) { return Set(out, self.numel()); }

// The one element of a tensor as number.
Status Item(const Tensor& self, Value& out) {
  if (!IsNumeric(self.dtype)) return Unsupported("elements of this dtype");
  if (self.numel() != 1) return Invalid("the one element of ", self.numel());
  if (IsFloating(self.dtype)) {
    double value = 0.0;
    LoaderOf(self.dtype, Compute::kDouble)(self.data, 1, 1, &value);
    return Set(out, value);
  }
  int64_t value = 0;
  LoaderOf(self.dtype, Compute::kInt)(self.data, 1, 1, &value);
  return Set(out, value);
}

bool InFloats(const Scalar& a, const Scalar& b) { return a.is_floating() || b.is_floating(); }

// Integers stay integers.
template <typename Function>
Status Binary(const Scalar& a, const Scalar& b, Value& out) {
  if (InFloats(a, b)) return Set(out, Function()(a.to<double>(), b.to<double>()));
  return Set(out, Function()(a.to<int64_t>(), b.to<int64_t>()));
}

XIR_BINARY_FUNCTION(Add, Plus(a, b));
XIR_BINARY_FUNCTION(Sub, Minus(a, b));
XIR_BINARY_FUNCTION(Mul, Times(a, b));
XIR_BINARY_FUNCTION(Max, a < b ? b : a);
XIR_BINARY_FUNCTION(Min, b < a ? b : a);
XIR_BINARY_FUNCTION(Equal, int64_t{a == b});
XIR_BINARY_FUNCTION(Less, int64_t{a < b});
XIR_BINARY_FUNCTION(LessEqual, int64_t{a <= b});
XIR_BINARY_FUNCTION(Greater, int64_t{a > b});
XIR_BINARY_FUNCTION(GreaterEqual, int64_t{a >= b});

Status FloorDiv(const Scalar& a, const Scalar& b, Value& out) {
  if (InFloats(a, b)) return Set(out, std::floor(a.to<double>() / b.to<double>()));
  const auto x = a.to<int64_t>(), y = b.to<int64_t>();
  if (y == 0) return Invalid("division by zero");
  if (y == -1) return Set(out, Minus(int64_t{0}, x));
  return Set(out, x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0));
}

Status Mod(const Scalar& a, const Scalar& b, Value& out) {
  if (InFloats(a, b)) return Unsupported("a remainder of floats");
  const auto x = a.to<int64_t>(), y = b.to<int64_t>();
  if (y == 0) return Invalid("division by zero");
  const int64_t rest = y == -1 ? 0 : x % y;
  return Set(out, rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}

Status TrueDiv(const Scalar& a, const Scalar& b, Value& out) {
  return Set(out, a.to<double>() / b.to<double>());
}

Status Neg(const Scalar& a, Value& out) { return Binary<Sub>(Scalar(int64_t{0}), a, out); }
Status Ceil(const Scalar& a, Value& out) { return Set(out, std::ceil(a.to<double>())); }
Status Round(const Scalar& a, Value& out) { return Set(out, std::nearbyint(a.to<double>())); }
Status Trunc(const Scalar& a, Value& out) { return Set(out, std::trunc(a.to<double>())); }
Status ToFloat(const Scalar& a, Value& out) { return Set(out, a.to<double>()); }
Status ToInt(const Scalar& a, Value& out) { return Set(out, a.to<int64_t>()); }
Status IfThenElse(bool chosen, const Scalar& a, const Scalar& b, Value& out) {
  const Scalar& value = chosen ? a : b;
  return value.is_floating() ? Set(out, value.to<double>()) : Set(out, value.to<int64_t>());
}
Status Not(const Scalar& a, Value& out) { return Set(out, int64_t{a.to<double>() == 0.0}); }

#define XIR_NAME(name) "executorch_prim::" name

constexpr TypedKernel kSymbolRows[] = {
    MakeKernel<Item>("aten::_local_scalar_dense"),
    MakeKernel<SymNumel>("aten::sym_numel"),
    MakeKernel<SymSize>("aten::sym_size.int"),
    MakeKernel<Binary<Add>>(XIR_NAME("add.Scalar")),
    MakeKernel<Ceil>(XIR_NAME("ceil.Scalar")),
    MakeKernel<Binary<Equal>>(XIR_NAME("eq.Scalar")),
    MakeKernel<FloorDiv>(XIR_NAME("floordiv.Scalar")),
    MakeKernel<FloorDiv>(XIR_NAME("floordiv.int")),
    MakeKernel<Binary<GreaterEqual>>(XIR_NAME("ge.Scalar")),
    MakeKernel<Binary<Greater>>(XIR_NAME("gt.Scalar")),
    MakeKernel<Binary<LessEqual>>(XIR_NAME("le.Scalar")),
    MakeKernel<Binary<Less>>(XIR_NAME("lt.Scalar")),
    MakeKernel<Mod>(XIR_NAME("mod.Scalar")),
    MakeKernel<Mod>(XIR_NAME("mod.int")),
    MakeKernel<Binary<Mul>>(XIR_NAME("mul.Scalar")),
    MakeKernel<Neg>(XIR_NAME("neg.Scalar")),
    MakeKernel<Round>(XIR_NAME("round.Scalar")),
    MakeKernel<Binary<Sub>>(XIR_NAME("sub.Scalar")),
    MakeKernel<ToFloat>(XIR_NAME("sym_float.Scalar")),
    MakeKernel<ToInt>(XIR_NAME("sym_int.Scalar")),
    MakeKernel<IfThenElse>(XIR_NAME("sym_ite.Scalar")),
    MakeKernel<Binary<Max>>(XIR_NAME("sym_max.Scalar")),
    MakeKernel<Binary<Min>>(XIR_NAME("sym_min.Scalar")),
    MakeKernel<Not>(XIR_NAME("sym_not.Scalar")),
    MakeKernel<TrueDiv>(XIR_NAME("truediv.Scalar")),
    MakeKernel<Trunc>(XIR_NAME("trunc.Scalar")),
};

#undef XIR_NAME

}  // namespace

KernelTable SymbolKernels() { return TableOf<kSymbolRows>(); }

}  // namespace xir::kernels
