#pragma once

#include <string>
#include <vector>

#include "xir/dtype.h"
#include "xir/status.h"
#include "xir/tensor.h"

// NumPy's .npy files, as its format document (numpy.lib.format) describes them: little-endian, C
// order.
namespace xir::runner {

struct Array {
  DType dtype = DType::kFloat;
  Shape shape;
  std::vector<uint8_t> data;
};

Result<Array> ReadNpy(const std::string& path);

// `data` holds the elements in C order. Writes a temporary file first, so that a failure leaves
// nothing half-written.
Status WriteNpy(const std::string& path, DType dtype, const Shape& shape, const void* data);

}  // namespace xir::runner
