#include "xir/dtype.h"

namespace xir {

size_t ElementSize(DType dtype) {
  switch (dtype) {
    case DType::kByte:
    case DType::kChar:
    case DType::kBool:
    case DType::kQInt8:
    case DType::kQUInt8:
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E4M3FNUZ:
      return 1;
    case DType::kShort:
    case DType::kHalf:
    case DType::kBFloat16:
    case DType::kBits16:
    case DType::kUInt16:
      return 2;
    case DType::kInt:
    case DType::kFloat:
    case DType::kQInt32:
    case DType::kUInt32:
      return 4;
    case DType::kLong:
    case DType::kDouble:
    case DType::kUInt64:
      return 8;
  }
  return 0;
}

std::string_view Name(DType dtype) {
  switch (dtype) {
    case DType::kByte:
      return "uint8";
    case DType::kChar:
      return "int8";
    case DType::kShort:
      return "int16";
    case DType::kInt:
      return "int32";
    case DType::kLong:
      return "int64";
    case DType::kHalf:
      return "float16";
    case DType::kFloat:
      return "float32";
    case DType::kDouble:
      return "float64";
    case DType::kBool:
      return "bool";
    case DType::kQInt8:
      return "qint8";
    case DType::kQUInt8:
      return "quint8";
    case DType::kQInt32:
      return "qint32";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kBits16:
      return "bits16";
    case DType::kFloat8E5M2:
      return "float8_e5m2";
    case DType::kFloat8E4M3FN:
      return "float8_e4m3fn";
    case DType::kFloat8E5M2FNUZ:
      return "float8_e5m2fnuz";
    case DType::kFloat8E4M3FNUZ:
      return "float8_e4m3fnuz";
    case DType::kUInt16:
      return "uint16";
    case DType::kUInt32:
      return "uint32";
    case DType::kUInt64:
      return "uint64";
  }
  return "unknown dtype";
}

}  // namespace xir
