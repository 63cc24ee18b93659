#include <algorithm>

#include "kernels/arguments.h"
#include "kernels/kernels.h"
#include "kernels/loop_nest.h"

namespace xir::kernels {
namespace {

bool IsFloatMatrix(const Tensor& t) {
  return t.dtype == DType::kFloat && t.rank() == 2 && t.is_contiguous();
}

// out += alpha · a·b for contiguous matrices; the inner loop runs along a row of b and out.
void MultiplyAdd(const Tensor& a, const Tensor& b, float alpha, const Tensor& out) {
  const int64_t rows = a.shape[0], inner = a.shape[1], columns = b.shape[1];
  for (int64_t i = 0; i < rows; ++i) {
    float* to = out.as<float>() + i * columns;
    for (int64_t k = 0; k < inner; ++k) {
      const float factor = alpha * a.as<float>()[i * inner + k];
      const float* from = b.as<float>() + k * columns;
      for (int64_t j = 0; j < columns; ++j) to[j] += factor * from[j];
    }
  }
}

Status CheckMatrices(const Tensor& a, const Tensor& b, Tensor& out) {
  if (!IsFloatMatrix(a) || !IsFloatMatrix(b) || !IsFloatMatrix(out)) {
    return Unsupported("matrices that are not contiguous float32");
  }
  if (a.shape[1] != b.shape[0]) return Mismatch(a, b);
  Shape shape;
  shape.rank = 2;
  shape[0] = a.shape[0];
  shape[1] = b.shape[1];
  return out.Resize(shape);
}

}  // namespace

Status Mm(KernelArgs args) {
  const Tensor& a = TensorArg(args, 0);
  const Tensor& b = TensorArg(args, 1);
  Tensor& out = TensorArg(args, 2);
  XIR_RETURN_IF_ERROR(CheckMatrices(a, b, out));
  std::fill_n(out.as<float>(), out.numel(), 0.0f);
  MultiplyAdd(a, b, 1.0f, out);
  return {};
}

Status AddMm(KernelArgs args) {
  const Tensor& bias = TensorArg(args, 0);
  const Tensor& a = TensorArg(args, 1);
  const Tensor& b = TensorArg(args, 2);
  const auto beta = NumberArg<float>(*args[3]);
  const auto alpha = NumberArg<float>(*args[4]);
  Tensor& out = TensorArg(args, 5);
  XIR_RETURN_IF_ERROR(CheckMatrices(a, b, out));
  if (bias.dtype != DType::kFloat) return Unsupported("a bias that is not float32");
  LoopNest::Strides strides;
  if (!BroadcastStrides(bias, out.shape, &strides)) return Mismatch(bias, out);
  // With beta 0 torch does not read the bias, NaNs included.
  const LoopNest nest(out, {out.strides(), strides, {}});
  nest.ForEachRow([&](const auto& offset, int64_t count, const auto& step) {
    const float* from = bias.as<float>() + offset[1];
    float* to = out.as<float>() + offset[0];
    for (int64_t i = 0; i < count; ++i) to[i] = beta == 0.0f ? 0.0f : beta * from[i * step[1]];
  });
  MultiplyAdd(a, b, alpha, out);
  return {};
}

}  // namespace xir::kernels
