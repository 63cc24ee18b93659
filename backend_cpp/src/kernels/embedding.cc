#include <cstring>

#include "kernels/arguments.h"
#include "kernels/kernels.h"

namespace xir::kernels {

// (weight, indices, padding_idx, scale_grad_by_freq, sparse, out): rows of a contiguous table of
// any dtype.
Status Embedding(KernelArgs args) {
  const Tensor& table = TensorArg(args, 0);
  const Tensor& indices = TensorArg(args, 1);
  Tensor& out = TensorArg(args, 5);
  if (table.dtype != out.dtype || table.rank() != 2 || indices.dtype != DType::kLong ||
      !table.is_contiguous() || !indices.is_contiguous() || !out.is_contiguous() ||
      indices.rank() + 1 > kMaxRank) {
    return Unsupported("an embedding that is not a contiguous table indexed by int64");
  }
  Shape shape = indices.shape;
  shape[shape.rank++] = table.shape[1];
  XIR_RETURN_IF_ERROR(out.Resize(shape));
  const size_t row = static_cast<size_t>(table.shape[1]) * ElementSize(table.dtype);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const int64_t index = indices.as<int64_t>()[i];
    if (index < 0 || index >= table.shape[0]) {
      return Fail(Code::kInvalidArgument, "index ", index, " of a table of ", table.shape[0],
                  " rows");
    }
    std::memcpy(out.as<uint8_t>() + static_cast<size_t>(i) * row,
                table.as<uint8_t>() + static_cast<size_t>(index) * row, row);
  }
  return {};
}

}  // namespace xir::kernels
