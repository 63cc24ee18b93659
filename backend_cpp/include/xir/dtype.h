#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace xir {

// Element types, numbered as in the file and in torch (c10::ScalarType).
enum class DType : int8_t {
  kByte = 0,
  kChar = 1,
  kShort = 2,
  kInt = 3,
  kLong = 4,
  kHalf = 5,
  kFloat = 6,
  kDouble = 7,
  kBool = 11,
  kQInt8 = 12,
  kQUInt8 = 13,
  kQInt32 = 14,
  kBFloat16 = 15,
  kBits16 = 22,
  kFloat8E5M2 = 23,
  kFloat8E4M3FN = 24,
  kFloat8E5M2FNUZ = 25,
  kFloat8E4M3FNUZ = 26,
  kUInt16 = 27,
  kUInt32 = 28,
  kUInt64 = 29,
};

// Bytes of one element; 0 for a number that is no byte-addressable element type.
size_t ElementSize(DType dtype);

// "float32", "int64", …
std::string_view Name(DType dtype);

}  // namespace xir
