#include "graph_values.h"

namespace xir::fuzz {

size_t Bits(XNNDatatype type) {
  switch (type) {
    case XNNDatatype::FP16:
    case XNNDatatype::BF16:
      return 16;
    case XNNDatatype::QInt8:
    case XNNDatatype::QUInt8:
    case XNNDatatype::QCInt8:
    case XNNDatatype::QDInt8:
      return 8;
    case XNNDatatype::QCInt4:
    case XNNDatatype::QBInt4:
      return 4;
    default:
      return 32;
  }
}

size_t ByteSize(XNNDatatype type, const Dims& dims) {
  size_t size = Bits(type) < 8 ? 1 : Bits(type) / 8;
  for (size_t i = 0; i < dims.size(); ++i) {
    size *= Bits(type) == 4 && i + 1 == dims.size() ? (dims[i] + 1) / 2 : dims[i];
  }
  return size;
}

uint64_t Numel(const Dims& dims) {
  uint64_t count = 1;
  for (const uint32_t dim : dims) count *= dim;
  return count;
}

bool IsFloat(XNNDatatype type) {
  return type == XNNDatatype::FP32 || type == XNNDatatype::FP16 || type == XNNDatatype::BF16;
}

program::ScalarType ScalarTypeOf(XNNDatatype type) {
  using program::ScalarType;
  switch (type) {
    case XNNDatatype::FP16:
      return ScalarType::Half;
    case XNNDatatype::BF16:
      return ScalarType::BFloat16;
    case XNNDatatype::QInt8:
      return ScalarType::Char;
    case XNNDatatype::QUInt8:
      return ScalarType::Byte;
    case XNNDatatype::Int32:
    case XNNDatatype::QInt32:
      return ScalarType::Int;
    default:
      return ScalarType::Float;
  }
}

}  // namespace xir::fuzz
