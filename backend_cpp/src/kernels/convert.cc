#include "kernels/arguments.h"
#include "kernels/kernels.h"
#include "kernels/loop_nest.h"

namespace xir::kernels {
namespace {

template <typename From, typename To>
void ConvertAs(const Tensor& in, const Tensor& out) {
  const LoopNest nest(out, {out.strides(), in.strides(), {}});
  nest.ForEachRow([&](const auto& offset, int64_t count, const auto& step) {
    const From* from = in.as<From>() + offset[1];
    To* to = out.as<To>() + offset[0];
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i * step[1]]);
  });
}

template <typename From>
Status ConvertFrom(const Tensor& in, const Tensor& out) {
  switch (out.dtype) {
    case DType::kFloat:
      ConvertAs<From, float>(in, out);
      return {};
    case DType::kDouble:
      ConvertAs<From, double>(in, out);
      return {};
    case DType::kInt:
      ConvertAs<From, int32_t>(in, out);
      return {};
    case DType::kLong:
      ConvertAs<From, int64_t>(in, out);
      return {};
    default:
      return Unsupported("a conversion to this dtype");
  }
}

}  // namespace

// (self, non_blocking, dim_order, out): the result's tensor says which dtype and memory order is
// wanted.
Status ToDimOrderCopy(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  Tensor& out = TensorArg(args, 3);
  if (in.dtype == out.dtype) return CloneDimOrder(args);
  XIR_RETURN_IF_ERROR(out.Resize(in.shape));
  switch (in.dtype) {
    case DType::kFloat:
      // What a float out of an integer's range becomes is torch's to say.
      if (out.dtype == DType::kDouble) return ConvertFrom<float>(in, out);
      return Unsupported("a conversion of floats to integers");
    case DType::kInt:
      return ConvertFrom<int32_t>(in, out);
    case DType::kLong:
      return ConvertFrom<int64_t>(in, out);
    case DType::kBool:
    case DType::kByte:
      return ConvertFrom<uint8_t>(in, out);
    default:
      return Unsupported("a conversion from this dtype");
  }
}

}  // namespace xir::kernels
