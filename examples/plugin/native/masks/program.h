// What a delegate of masks computes: values in the order in which they are made, the arguments and
// constants first, each of the others by an operation on values before it. One flat array; shapes
// follow from the operands' by broadcasting.
//
// The bytes, all integers little-endian and 32 bits wide unless said otherwise:
//
//   "XMSK", version (1), number of values, number of bytes of constants
//   for each value
//     kind (8 bits): 0 argument, 1 constant, or 16 and an Operation
//     dtype (8 bits), as torch numbers them: 3 int32, 4 int64, 6 float32, 11 bool
//     rank (8 bits)
//     flags (8 bits): 1 where the value is also a result
//     debug handle, 65535 for none
//     three operands: of an operation, its values; of an argument, its index among the call's
//       arguments; of a constant, where its elements begin. What there is none of is 0xffffffff
//     result: the index among the call's arguments that it goes to, or 0xffffffff
//     rank sizes, the largest where one is dynamic
//   the constants' bytes
//
// Operands of kReshape are the value, the dimensions of size 1 that are dropped, and those of the
// result that are inserted, the latter two as bits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "xir/buffer.h"
#include "xir/delegate.h"
#include "xir/dtype.h"
#include "xir/status.h"
#include "xir/tensor.h"

namespace masks {

enum class Operation : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kMinimum,
  kMaximum,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kXor,
  kNegate,
  kNot,        // of each bit; of a bool, which is one
  kSelect,     // the second operand where the first is true, else the third
  kCast,       // to the result's dtype
  kBroadcast,  // to the result's declared shape
  kReshape,    // drops and inserts dimensions of size 1
};
inline constexpr size_t kNumOperations = 20;

inline constexpr uint32_t kNone = 0xffffffff;

struct Value {
  enum class Kind : uint8_t { kArgument, kConstant, kComputed };

  Kind kind = Kind::kArgument;
  Operation operation = Operation::kAdd;
  xir::DType dtype = xir::DType::kBool;
  uint32_t debug_handle = 65535;
  std::array<uint32_t, 3> operands{};  // of an operation; of kReshape only the first is a value
  uint32_t argument = kNone;           // of an argument
  uint32_t result = kNone;
  size_t constant = 0;  // where a constant's elements begin
  xir::Shape largest;

  size_t num_operands() const;  // that are values
};

// A verified program.
struct Program {
  std::vector<Value> values;
  xir::AlignedBuffer constants;
  size_t num_arguments = 0;  // one more than the largest index of one

  // Verifies `data`, of which nothing is trusted.
  static xir::Result<Program> Read(const xir::DelegateData& data, uint64_t max_memory);

  // The shape of a value, given those before it. Those of arguments are given.
  xir::Status InferShape(size_t value, std::vector<xir::Shape>* shapes) const;
};

}  // namespace masks
