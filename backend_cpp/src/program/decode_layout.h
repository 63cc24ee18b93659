#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.h"
#include "program/description.h"
#include "verify/flatbuffer.h"
#include "xir/dtype.h"
#include "xir/status.h"
#include "xir/tensor.h"

namespace xir {

// Element type, sizes, dimension order and bytes of a tensor, from the table of a program or of a
// data file. Of an empty tensor the other dimensions' product has to be a number too: strides and
// numbers of rows are such products.
template <typename Table>
Status DecodeLayout(const Table& from, TensorDescription* to) {
  const size_t rank = SizeOf(from.sizes());
  if (rank > kMaxRank) return Fail(Code::kInvalidProgram, "rank ", rank, " exceeds ", kMaxRank);
  if (SizeOf(from.dim_order()) != rank) {
    return Fail(Code::kInvalidProgram, "rank ", rank, " with a dimension order of ",
                SizeOf(from.dim_order()));
  }
  to->dtype = static_cast<DType>(from.scalar_type());
  to->rank = static_cast<uint8_t>(rank);
  uint64_t nbytes = ElementSize(to->dtype);
  if (nbytes == 0) {
    return Fail(Code::kInvalidProgram, "element type ", static_cast<int>(from.scalar_type()),
                " is unknown");
  }
  uint32_t seen = 0;
  bool empty = false;
  for (flatbuffers::uoffset_t i = 0; i < rank; ++i) {
    const int32_t size = from.sizes()->Get(i);
    if (size < 0) return Fail(Code::kInvalidProgram, "size ", size, " is negative");
    empty = empty || size == 0;
    if (!CheckedMul(nbytes, static_cast<uint64_t>(std::max(size, 1)), &nbytes)) {
      return Fail(Code::kInvalidProgram, "its size in bytes overflows");
    }
    const uint8_t dim = from.dim_order()->Get(i);
    if (dim >= rank || (seen >> dim & 1) != 0) {
      return Fail(Code::kInvalidProgram, "the dimension order is no permutation");
    }
    seen |= 1u << dim;
    to->sizes[i] = size;
    to->dim_order[i] = dim;
  }
  if (nbytes > INT64_MAX) return Fail(Code::kInvalidProgram, "its size in bytes overflows");
  to->nbytes = empty ? 0 : nbytes;
  return {};
}

}  // namespace xir
