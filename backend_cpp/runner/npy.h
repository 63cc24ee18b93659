#pragma once

#include <cstdint>
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

// Whether a file begins as .npy files do.
bool IsNpy(const std::vector<uint8_t>& bytes);

// What a file holds; `path` names it in errors.
Result<Array> ParseNpy(const std::string& path, const std::vector<uint8_t>& bytes);

Result<Array> ReadNpy(const std::string& path);

// `data` holds the elements in C order.
Status WriteNpy(const std::string& path, DType dtype, const Shape& shape, const void* data);

}  // namespace xir::runner
