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
  int64_t batches = 1;
  int64_t m = 0, n = 0, k = 0;
};

// The columns of the first of y's matrices.
template <typename T>
LinesOf<T> ColumnsOf(const Product& p, const T* y) {
  return p.y_transposed ? LinesOf<T>{y, p.k, 1} : LinesOf<T>{y, 1, p.n};
}

template <typename T>
Status RunProduct(const KernelContext& context, const Product& p, const Tensor& x, const Tensor& y,
                  Tensor& out) {
  const PackedOperand<T>* packed = PackedOperand<T>::Of(context, y);
  InputArray<T> xs, ys;
  OutputArray<T> outs;
  XIR_RETURN_IF_ERROR(xs.Init(x));
  if (packed == nullptr) XIR_RETURN_IF_ERROR(ys.Init(y));
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
  const auto multiply = [&](const KernelContext& threads, int64_t b) {
    const LinesOf<T> rows{left + b * p.m * p.k, p.k, 1};
    T* to = outs.data() + b * p.m * p.n;
    if (packed != nullptr) {
      return MultiplyAdd(threads, p.m, p.n, p.k, rows, packed->matrix(b), to, p.n);
    }
    const LinesOf<T> columns = ColumnsOf(p, ys.data() + b * p.n * p.k);
    return MultiplyAdd(threads, p.m, p.n, p.k, rows, columns, to, p.n);
  };
  if (p.batches == 1) {
    XIR_RETURN_IF_ERROR(multiply(context, 0));
    return outs.Commit();
  }
  const double operations = static_cast<double>(out.numel()) * static_cast<double>(p.k);
  const auto run = [&](int64_t first, int64_t last) -> Status {
    for (int64_t b = first; b < last; ++b) XIR_RETURN_IF_ERROR(multiply(KernelContext(), b));
    return {};
  };
  XIR_RETURN_IF_ERROR(ParallelRanges(context, p.batches, operations, run));
  return outs.Commit();
}

// Packs y for `p` if it is a constant. A matrix that does not fit is refused when the kernel runs.
PreparedState PackY(const Product& p, const Tensor& y) {
  if (!IsConstant(y) || y.dtype == DType::kBool || !IsNumeric(y.dtype))
    return PreparedState(nullptr);
  return DispatchNumeric(y.dtype, [&](auto zero) -> PreparedState {
    using T = decltype(zero);
    InputArray<T> ys;
    XIR_RETURN_IF_ERROR(ys.Init(y));
    return PackedOperand<T>::Make(y.data, ColumnsOf(p, ys.data()), p.batches, p.n * p.k, p.n, p.k,
                                  BestMicroKernel<T>().nr);
  });
}

Status Multiply(const KernelContext& context, const Product& p, const Tensor& x, const Tensor& y,
                const Shape& shape, Tensor& out) {
  if (!SameType(out, x, y) || (p.addend != nullptr && p.addend->dtype != out.dtype)) {
    return Unsupported("matrices of mixed dtypes");
  }
  if (out.dtype == DType::kBool || !IsNumeric(out.dtype))
    return Unsupported("elements of this dtype");
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  if (out.numel() == 0) return {};
  return DispatchNumeric(
      out.dtype, [&](auto zero) { return RunProduct<decltype(zero)>(context, p, x, y, out); });
}

Status MultiplyMatrices(const KernelContext& context, Product p, const Tensor& x, const Tensor& y,
                        Tensor& out) {
  if (x.rank() != 2 || y.rank() != 2 || x.shape[1] != y.shape[0]) return Mismatch(x.shape, y.shape);
  p.m = x.shape[0];
  p.k = x.shape[1];
  p.n = y.shape[1];
  return Multiply(context, p, x, y, MakeShape({p.m, p.n}), out);
}

PreparedState PackMatrix(const Tensor& y) {
  if (y.rank() != 2) return PreparedState(nullptr);
  Product p;
  p.k = y.shape[0];
  p.n = y.shape[1];
  return PackY(p, y);
}

Status MultiplyBatches(const KernelContext& context, Product p, const Tensor& x, const Tensor& y,
                       Tensor& out) {
  if (x.rank() != 3 || y.rank() != 3 || x.shape[0] != y.shape[0] || x.shape[2] != y.shape[1]) {
    return Mismatch(x.shape, y.shape);
  }
  p.batches = x.shape[0];
  p.m = x.shape[1];
  p.k = x.shape[2];
  p.n = y.shape[2];
  return Multiply(context, p, x, y, MakeShape({p.batches, p.m, p.n}), out);
}

PreparedState PackBatches(const Tensor& y) {
  if (y.rank() != 3) return PreparedState(nullptr);
  Product p;
  p.batches = y.shape[0];
  p.k = y.shape[1];
  p.n = y.shape[2];
  return PackY(p, y);
}

Status Mm(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  return MultiplyMatrices(context, {}, self, mat2, out);
}

PreparedState PrepareMm(const Tensor&, const Tensor& mat2, Tensor&) { return PackMatrix(mat2); }

Status Bmm(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  return MultiplyBatches(context, {}, self, mat2, out);
}

PreparedState PrepareBmm(const Tensor&, const Tensor& mat2, Tensor&) { return PackBatches(mat2); }

Status AddMm(KernelContext& context, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
             const Scalar& beta, const Scalar& alpha, Tensor& out) {
  Product p;
  p.addend = &self;
  p.beta = beta;
  p.alpha = alpha;
  return MultiplyMatrices(context, p, mat1, mat2, out);
}

PreparedState PrepareAddMm(const Tensor&, const Tensor&, const Tensor& mat2, const Scalar&,
                           const Scalar&, Tensor&) {
  return PackMatrix(mat2);
}

Status BaddBmm(KernelContext& context, const Tensor& self, const Tensor& batch1,
               const Tensor& batch2, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  Product p;
  p.addend = &self;
  p.beta = beta;
  p.alpha = alpha;
  return MultiplyBatches(context, p, batch1, batch2, out);
}

PreparedState PrepareBaddBmm(const Tensor&, const Tensor&, const Tensor& batch2, const Scalar&,
                             const Scalar&, Tensor&) {
  return PackBatches(batch2);
}

Status Linear(KernelContext& context, const Tensor& input, const Tensor& weight, const Tensor* bias,
              Tensor& out) {
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
  return Multiply(context, p, input, weight, shape, out);
}

PreparedState PrepareLinear(const Tensor&, const Tensor& weight, const Tensor*, Tensor&) {
  if (weight.rank() != 2) return PreparedState(nullptr);
  Product p;
  p.y_transposed = true;
  p.k = weight.shape[1];
  p.n = weight.shape[0];
  return PackY(p, weight);
}

constexpr TypedKernel kMatrixRows[] = {
    MakeKernel<AddMm, PrepareAddMm>("aten::addmm.out"),
    MakeKernel<BaddBmm, PrepareBaddBmm>("aten::baddbmm.out"),
    MakeKernel<Bmm, PrepareBmm>("aten::bmm.out"),
    MakeKernel<Linear, PrepareLinear>("aten::linear.out"),
    MakeKernel<Mm, PrepareMm>("aten::mm.out"),
};

}  // namespace

KernelTable MatrixKernels() { return TableOf<kMatrixRows>(); }

}  // namespace xir::kernels
