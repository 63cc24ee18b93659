#include <algorithm>
#include <cmath>

#include "kernels/arguments.h"
#include "kernels/kernels.h"
#include "kernels/loop_nest.h"

namespace xir::kernels {
namespace {

// The dimensions as bits; none given means all.
Result<uint32_t> ReducedDims(const Value& dims, size_t rank) {
  const auto all = static_cast<uint32_t>((uint64_t{1} << rank) - 1);
  if (dims.is_none()) return all;
  uint32_t reduced = 0;
  for (int64_t dim : IntsArg(dims)) {
    if (dim < 0) dim += static_cast<int64_t>(rank);
    if (dim < 0 || dim >= static_cast<int64_t>(rank)) {
      return Fail(Code::kInvalidArgument, "dimension ", dim, " of a tensor of rank ", rank);
    }
    reduced |= 1u << dim;
  }
  return reduced == 0 ? all : reduced;
}

}  // namespace

Status Mean(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  Tensor& out = TensorArg(args, 4);
  if (in.dtype != DType::kFloat || out.dtype != DType::kFloat) {
    return Unsupported("a dtype other than float32");
  }
  XIR_ASSIGN_OR_RETURN(const uint32_t reduced, ReducedDims(*args[1], in.rank()));
  const bool keep = *args[2]->get<bool>();
  Shape shape;
  LoopNest::Strides out_strides{};  // by the operand's dimensions
  int64_t count = 1;
  for (size_t i = 0; i < in.rank(); ++i) {
    const bool gone = (reduced >> i & 1) != 0;
    if (gone) count *= in.shape[i];
    if (!gone || keep) shape[shape.rank++] = gone ? 1 : in.shape[i];
  }
  XIR_RETURN_IF_ERROR(out.Resize(shape));
  const auto own = out.strides();
  for (size_t i = 0, next = 0; i < in.rank(); ++i) {
    const bool gone = (reduced >> i & 1) != 0;
    if (!gone) out_strides[i] = own[next];
    if (!gone || keep) ++next;
  }
  // The walk is over the operand; what it adds into is a second operand.
  std::vector<double> sums(static_cast<size_t>(out.numel()), 0.0);
  const LoopNest nest(in, {in.strides(), out_strides, {}});
  nest.ForEachRow([&](const auto& offset, int64_t length, const auto& step) {
    const float* from = in.as<float>() + offset[0];
    double* to = sums.data() + offset[1];
    if (step[1] == 0) {
      double sum = 0.0;
      for (int64_t i = 0; i < length; ++i) sum += from[i];
      *to += sum;
    } else {
      for (int64_t i = 0; i < length; ++i) to[i * step[1]] += from[i];
    }
  });
  for (size_t i = 0; i < sums.size(); ++i) {
    out.as<float>()[i] = static_cast<float>(sums[i] / static_cast<double>(count));
  }
  return {};
}

Status Softmax(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  const auto rank = static_cast<int64_t>(in.rank());
  Tensor& out = TensorArg(args, 3);
  if (in.dtype != DType::kFloat || out.dtype != DType::kFloat || !in.is_contiguous() ||
      !out.is_contiguous()) {
    return Unsupported("a softmax that is not over contiguous float32");
  }
  int64_t dim = *args[1]->get<int64_t>();
  if (dim < 0) dim += std::max<int64_t>(rank, 1);
  if (dim < 0 || dim >= std::max<int64_t>(rank, 1)) {
    return Fail(Code::kInvalidArgument, "dimension ", dim, " of a tensor of rank ", rank);
  }
  XIR_RETURN_IF_ERROR(out.Resize(in.shape));
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < dim; ++i) outer *= in.shape[static_cast<size_t>(i)];
  for (int64_t i = dim + 1; i < rank; ++i) inner *= in.shape[static_cast<size_t>(i)];
  const int64_t size = rank == 0 ? 1 : in.shape[static_cast<size_t>(dim)];
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t n = 0; n < inner; ++n) {
      const float* from = in.as<float>() + o * size * inner + n;
      float* to = out.as<float>() + o * size * inner + n;
      float largest = -INFINITY;
      for (int64_t i = 0; i < size; ++i) largest = std::max(largest, from[i * inner]);
      float sum = 0.0f;
      for (int64_t i = 0; i < size; ++i) {
        to[i * inner] = std::exp(from[i * inner] - largest);
        sum += to[i * inner];
      }
      for (int64_t i = 0; i < size; ++i) to[i * inner] /= sum;
    }
  }
  return {};
}

}  // namespace xir::kernels
