#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program/description.h"
#include "xir/status.h"
#include "xir/tensor.h"

namespace xir {

// What a dimension of an input may be, beside at most what the tensor's bound says.
struct InputDim {
  int32_t symbol = -1;  // equal where sizes have to be equal; -1 is a fixed size
  int64_t least = 0;
};

// By input of a method and by dimension. Where the file says nothing of an input, which xir's files
// do only of inputs without open dimensions, and stock ExecuTorch's of all, each size of a
// resizable tensor may be anything up to the bound.
std::vector<std::vector<InputDim>> InputDimsOf(const ProgramDescription& program,
                                               const MethodDescription& method);

// "[8 at most, 3]"
std::string SizesToString(const Tensor& input, const std::vector<InputDim>& dims);

// Fails unless `shape` is one that input `index`, which is declared as `input`, may have.
Status CheckSizes(size_t index, const Tensor& input, const std::vector<InputDim>& dims,
                  const Shape& shape);

}  // namespace xir
