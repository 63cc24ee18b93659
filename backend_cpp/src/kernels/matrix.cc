// Products of matrices.
#include "kernels/elementwise.h"
#include "kernels/families.h"
#include "kernels/gemm.h"

namespace xir::kernels {
namespace {

// Fills `out`, of its final shape, with factor · from; `from` broadcasts to it. A factor of 0 does
// not read `from`, NaNs included, as in torch.
template <typename T>
Status FillScaled(const Tensor* from, const Scalar& factor, const Shape& shape, T* out) {
  if (from == nullptr || factor.to<double>() == 0.0) {
    std::fill_n(out, shape.numel(), T{0});
    return {};
  }
  InputArray<T> array;
  XIR_RETURN_IF_ERROR(array.Init(*from));
  Tensor walk;
  walk.shape = shape;
  for (size_t i = 0; i < shape.rank; ++i) walk.dim_order[i] = static_cast<uint8_t>(i);
  Strides strides;
  if (!BroadcastStrides(from->shape, ContiguousStrides(from->shape), shape, &strides)) {
    return Mismatch(from->shape, shape);
  }
  const auto scale = factor.to<T>();
  const LoopNest nest(walk, {ContiguousStrides(shape), strides, {}, {}});
  nest.ForEachRow([&](const auto& offset, int64_t count, const auto& step) {
    const T* source = array.data() + offset[1];
    T* target = out + offset[0];
    for (int64_t i = 0; i < count; ++i) target[i] = Times(scale, source[i * step[1]]);
  });
  return {};
}

// out[b] = beta · addend + alpha · x[b]·y[b], where the matrices are the last two dimensions and y
// may be transposed: [n, k].
struct Product {
  const Tensor* addend = nullptr;
  Scalar beta{int64_t{1}}, alpha{int64_t{1}};
  bool y_transposed = false;
  // One matrix for each of the first operand's batches, or one for all.
  int64_t batches = 1, y_batches = 1;
  int64_t m = 0, n = 0, k = 0;
};

template <typename T>
Status RunProduct(const Product& p, const Tensor& x, const Tensor& y, Tensor& out) {
  InputArray<T> xs, ys;
  OutputArray<T> outs;
  XIR_RETURN_IF_ERROR(xs.Init(x));
  XIR_RETURN_IF_ERROR(ys.Init(y));
  XIR_RETURN_IF_ERROR(outs.Init(out));
  XIR_RETURN_IF_ERROR(FillScaled(p.addend, p.beta, out.shape, outs.data()));
  Scratch<T> scaled;
  const T* left = xs.data();
  if (p.alpha.to<double>() != 1.0) {
    XIR_RETURN_IF_ERROR(scaled.Allocate(x.numel()));
    const auto alpha = p.alpha.to<T>();
    for (int64_t i = 0; i < x.numel(); ++i) scaled.data()[i] = Times(alpha, left[i]);
    left = scaled.data();
  }
  for (int64_t b = 0; b < p.batches; ++b) {
    const T* right = ys.data() + (p.y_batches == 1 ? 0 : b * p.n * p.k);
    const MatrixView<T> y_view =
        p.y_transposed ? MatrixView<T>{right, 1, p.k} : MatrixView<T>{right, p.n, 1};
    XIR_RETURN_IF_ERROR(MultiplyAdd(p.m, p.n, p.k, MatrixView<T>{left + b * p.m * p.k, p.k, 1},
                                    y_view, outs.data() + b * p.m * p.n, p.n));
  }
  return outs.Commit();
}

Status Multiply(const Product& p, const Tensor& x, const Tensor& y, const Shape& shape,
                Tensor& out) {
  if (!SameType(out, x, y) || (p.addend != nullptr && p.addend->dtype != out.dtype)) {
    return Unsupported("matrices of mixed dtypes");
  }
  if (out.dtype == DType::kBool || !IsNumeric(out.dtype))
    return Unsupported("elements of this dtype");
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  if (out.numel() == 0) return {};
  return DispatchNumeric(out.dtype,
                         [&](auto zero) { return RunProduct<decltype(zero)>(p, x, y, out); });
}

Status MultiplyMatrices(Product p, const Tensor& x, const Tensor& y, Tensor& out) {
  if (x.rank() != 2 || y.rank() != 2 || x.shape[1] != y.shape[0]) return Mismatch(x.shape, y.shape);
  p.m = x.shape[0];
  p.k = x.shape[1];
  p.n = y.shape[1];
  return Multiply(p, x, y, MakeShape({p.m, p.n}), out);
}

Status MultiplyBatches(Product p, const Tensor& x, const Tensor& y, Tensor& out) {
  if (x.rank() != 3 || y.rank() != 3 || x.shape[0] != y.shape[0] || x.shape[2] != y.shape[1]) {
    return Mismatch(x.shape, y.shape);
  }
  p.batches = p.y_batches = x.shape[0];
  p.m = x.shape[1];
  p.k = x.shape[2];
  p.n = y.shape[2];
  return Multiply(p, x, y, MakeShape({p.batches, p.m, p.n}), out);
}

Status Mm(const Tensor& self, const Tensor& mat2, Tensor& out) {
  return MultiplyMatrices({}, self, mat2, out);
}

Status Bmm(const Tensor& self, const Tensor& mat2, Tensor& out) {
  return MultiplyBatches({}, self, mat2, out);
}

Status AddMm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha, Tensor& out) {
  Product p;
  p.addend = &self;
  p.beta = beta;
  p.alpha = alpha;
  return MultiplyMatrices(p, mat1, mat2, out);
}

Status BaddBmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha, Tensor& out) {
  Product p;
  p.addend = &self;
  p.beta = beta;
  p.alpha = alpha;
  return MultiplyBatches(p, batch1, batch2, out);
}

Status Linear(const Tensor& input, const Tensor& weight, const Tensor* bias, Tensor& out) {
  if (input.rank() < 1 || weight.rank() != 2 || input.shape[input.rank() - 1] != weight.shape[1] ||
      (bias != nullptr && bias->rank() != 1)) {
    return Mismatch(input.shape, weight.shape);
  }
  Product p;
  p.addend = bias;
  p.y_transposed = true;
  p.m = Count(input.shape, 0, input.rank() - 1);
  p.k = weight.shape[1];
  p.n = weight.shape[0];
  Shape shape = input.shape;
  shape[shape.rank - 1] = p.n;
  return Multiply(p, input, weight, shape, out);
}

constexpr TypedKernel kRows[] = {
    MakeKernel<AddMm>("aten::addmm.out"), MakeKernel<BaddBmm>("aten::baddbmm.out"),
    MakeKernel<Bmm>("aten::bmm.out"),     MakeKernel<Linear>("aten::linear.out"),
    MakeKernel<Mm>("aten::mm.out"),
};

}  // namespace

KernelTable MatrixKernels() { return TableOf(kRows); }

}  // namespace xir::kernels
