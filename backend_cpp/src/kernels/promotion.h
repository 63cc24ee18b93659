// ATen's type promotion (c10/core/ScalarType.cpp, ATen/native/TypeProperties.cpp).
#pragma once

#include <initializer_list>

#include "xir/dtype.h"

namespace xir::kernels {

// The smallest dtype that holds both; they are numeric.
DType Promote(DType a, DType b);

// How much an operand's dtype counts: a number only by its category, beside a tensor without
// dimensions, and that beside one with.
enum class Weight { kDimensioned, kZeroDim, kNumber };

struct Typed {
  DType dtype;
  Weight weight;
};

// The dtype that an operation on these is computed in.
DType ResultType(std::initializer_list<Typed> operands);

// Whether a result of one dtype may be stored as another: only not to a lesser category.
bool CanCast(DType from, DType to);

}  // namespace xir::kernels
