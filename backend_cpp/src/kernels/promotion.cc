#include "kernels/promotion.h"

#include <optional>
#include <utility>

#include "kernels/element.h"

namespace xir::kernels {
namespace {

bool IsSignedUpTo(DType dtype, DType widest) {
  return dtype == DType::kChar || (dtype == DType::kShort && widest != DType::kChar);
}

std::optional<DType> PromoteMaybe(std::optional<DType> a, std::optional<DType> b) {
  if (!a) return b;
  if (!b) return a;
  return Promote(*a, *b);
}

int Category(DType dtype) { return dtype == DType::kBool ? 0 : IsFloating(dtype) ? 2 : 1; }

// `higher` decides, unless `lower` is of a greater category.
std::optional<DType> Combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  return Category(*lower) > Category(*higher) ? PromoteMaybe(higher, lower) : higher;
}

}  // namespace

DType Promote(DType a, DType b) {
  if (a == b || b == DType::kBool) return a;
  if (a == DType::kBool) return b;
  if (IsFloating(a) != IsFloating(b)) return IsFloating(a) ? a : b;
  if (IsFloating(a)) {
    // Neither 16-bit float holds the other.
    return a == DType::kDouble || b == DType::kDouble ? DType::kDouble : DType::kFloat;
  }
  if (a == DType::kByte && IsSignedUpTo(b, DType::kShort)) return DType::kShort;
  if (b == DType::kByte && IsSignedUpTo(a, DType::kShort)) return DType::kShort;
  return a > b ? a : b;
}

DType ResultType(std::initializer_list<Typed> operands) {
  std::optional<DType> dimensioned, zero_dim, number;
  for (const Typed& operand : operands) {
    switch (operand.weight) {
      case Weight::kDimensioned:
        dimensioned = PromoteMaybe(dimensioned, operand.dtype);
        break;
      case Weight::kZeroDim:
        zero_dim = PromoteMaybe(zero_dim, operand.dtype);
        break;
      case Weight::kNumber:
        number = PromoteMaybe(number, IsFloating(operand.dtype) ? DType::kFloat : operand.dtype);
        break;
    }
  }
  return Combine(dimensioned, Combine(zero_dim, number)).value_or(DType::kFloat);
}

bool CanCast(DType from, DType to) { return Category(from) <= Category(to); }

}  // namespace xir::kernels
