// Reductions over any dimensions, and those over one dimension that return positions as well.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise.h"
#include "kernels/families.h"
#include "kernels/lines.h"

namespace xir::kernels {
namespace {

// Which dimensions of an operand go, and what is left.
struct Plan {
  Shape shape;        // of the result
  Strides strides{};  // of a contiguous result by the operand's dimensions, 0 where reduced
  int64_t count = 1;  // elements that make one result
};

Result<Plan> MakePlan(const Tensor& in, const std::optional<Ints>& dims, bool keep) {
  XIR_ASSIGN_OR_RETURN(const uint32_t reduced, WrapDims(dims.value_or(Ints()), in.rank()));
  Plan plan;
  std::array<size_t, kMaxRank> place{};
  for (size_t i = 0; i < in.rank(); ++i) {
    const bool gone = (reduced >> i & 1) != 0;
    if (gone) plan.count *= in.shape[i];
    place[i] = plan.shape.rank;
    if (!gone || keep) plan.shape[plan.shape.rank++] = gone ? 1 : in.shape[i];
  }
  const Strides own = ContiguousStrides(plan.shape);
  for (size_t i = 0; i < in.rank(); ++i) {
    if ((reduced >> i & 1) == 0) plan.strides[i] = own[place[i]];
  }
  return plan;
}

// Walks the operand in memory order. fold(acc, x, output) adds one element to what is known of the
// output; merge(a, b) joins two parts of it.
template <typename T, typename A, typename Fold, typename Merge>
void FoldAll(const Tensor& in, const Plan& plan, A start, A* results, const Fold& fold,
             const Merge& merge) {
  constexpr int64_t kBlock = 512;
  constexpr int64_t kParts = 8;  // independent, so that the processor overlaps them
  std::fill_n(results, plan.shape.numel(), start);
  const LoadFunction load = LoaderOf(in.dtype, kComputeOf<T>);
  const auto size = static_cast<int64_t>(ElementSize(in.dtype));
  const LoopNest nest(in, {in.strides(), plan.strides, {}, {}});
  T block[kBlock];
  nest.ForEachRow([&](const auto& offset, int64_t length, const auto& step) {
    for (int64_t first = 0; first < length; first += kBlock) {
      const int64_t n = std::min(kBlock, length - first);
      load(in.as<uint8_t>() + (offset[0] + first * step[0]) * size, step[0], n, block);
      const int64_t at = offset[1] + first * step[1];
      if (step[1] == 0) {
        A parts[kParts];
        std::fill_n(parts, kParts, start);
        int64_t i = 0;
        for (; i + kParts <= n; i += kParts) {
          for (int64_t p = 0; p < kParts; ++p) parts[p] = fold(parts[p], block[i + p], at);
        }
        for (; i < n; ++i) parts[0] = fold(parts[0], block[i], at);
        for (int64_t p = 0; p < kParts; ++p) results[at] = merge(results[at], parts[p]);
      } else {
        for (int64_t i = 0; i < n; ++i) {
          A& to = results[at + i * step[1]];
          to = fold(to, block[i], at + i * step[1]);
        }
      }
    }
  });
}

// What elements of T are summed up in.
template <typename T>
using SumType = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

template <typename T>
void SumAll(const Tensor& in, const Plan& plan, SumType<T>* results) {
  using A = SumType<T>;
  FoldAll<T>(
      in, plan, A{0}, results, [](A sum, T x, int64_t) { return Plus(sum, static_cast<A>(x)); },
      [](A a, A b) { return Plus(a, b); });
}

// Stores one number for each result.
template <typename A>
Status StoreResults(const A* from, const Tensor& out) {
  StoreAll(from, kComputeOf<A>, out);
  return {};
}

// The dtype in which an operand is reduced to a result.
Status CheckReduction(const Tensor& in, const Tensor& out) {
  if (!IsNumeric(in.dtype) || !IsNumeric(out.dtype)) return Unsupported("elements of this dtype");
  return {};
}

// The result's dtype says what is summed: integers are not summed to floats of a wider kind first.
Status SumDims(const Tensor& self, const std::optional<Ints>& dims, bool keep, Unused,
               Tensor& out) {
  XIR_RETURN_IF_ERROR(CheckReduction(self, out));
  XIR_ASSIGN_OR_RETURN(const Plan plan, MakePlan(self, dims, keep));
  if (!IsFloating(out.dtype) && IsFloating(self.dtype)) return Unsupported("a sum in integers");
  XIR_RETURN_IF_ERROR(ResizeResult(out, plan.shape));
  return DispatchNumeric(out.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    Scratch<SumType<T>> sums;
    XIR_RETURN_IF_ERROR(sums.Allocate(out.numel()));
    SumAll<T>(self, plan, sums.data());
    return StoreResults(sums.data(), out);
  });
}

Status SumAllDims(const Tensor& self, Unused dtype, Tensor& out) {
  return SumDims(self, std::nullopt, false, dtype, out);
}

Status Mean(const Tensor& self, const std::optional<Ints>& dims, bool keep, Unused, Tensor& out) {
  XIR_RETURN_IF_ERROR(CheckReduction(self, out));
  if (!IsFloating(out.dtype)) return Unsupported("a mean in integers");
  XIR_ASSIGN_OR_RETURN(const Plan plan, MakePlan(self, dims, keep));
  XIR_RETURN_IF_ERROR(ResizeResult(out, plan.shape));
  return DispatchFloating(out.dtype, [&](auto zero) -> Status {
    Scratch<double> sums;
    XIR_RETURN_IF_ERROR(sums.Allocate(out.numel()));
    SumAll<decltype(zero)>(self, plan, sums.data());
    for (int64_t i = 0; i < out.numel(); ++i) sums.data()[i] /= static_cast<double>(plan.count);
    return StoreResults(sums.data(), out);
  });
}

Status MeanOfAll(const Tensor& self, Unused dtype, Tensor& out) {
  return Mean(self, std::nullopt, false, dtype, out);
}

Status VarianceOf(const Tensor& self, const std::optional<Ints>& dims, double correction, bool keep,
                  Tensor& out, Tensor* mean) {
  if (!IsFloating(self.dtype) || out.dtype != self.dtype ||
      (mean != nullptr && mean->dtype != self.dtype)) {
    return Unsupported("a variance of other than floats");
  }
  XIR_ASSIGN_OR_RETURN(const Plan plan, MakePlan(self, dims, keep));
  XIR_RETURN_IF_ERROR(ResizeResult(out, plan.shape));
  if (mean != nullptr) XIR_RETURN_IF_ERROR(ResizeResult(*mean, plan.shape));
  return DispatchFloating(self.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    Scratch<double> means, squares;
    XIR_RETURN_IF_ERROR(means.Allocate(out.numel()));
    XIR_RETURN_IF_ERROR(squares.Allocate(out.numel()));
    SumAll<T>(self, plan, means.data());
    const auto count = static_cast<double>(plan.count);
    for (int64_t i = 0; i < out.numel(); ++i) means.data()[i] /= count;
    FoldAll<T>(
        self, plan, 0.0, squares.data(),
        [&](double sum, T x, int64_t at) {
          const double distance = static_cast<double>(x) - means.data()[at];
          return sum + distance * distance;
        },
        [](double a, double b) { return a + b; });
    const double freedom = std::max(count - correction, 0.0);
    for (int64_t i = 0; i < out.numel(); ++i) squares.data()[i] /= freedom;
    if (mean != nullptr) XIR_RETURN_IF_ERROR(StoreResults(means.data(), *mean));
    return StoreResults(squares.data(), out);
  });
}

Status VarCorrection(const Tensor& self, const std::optional<Ints>& dims,
                     const std::optional<Scalar>& correction, bool keep, Tensor& out) {
  return VarianceOf(self, dims, correction ? correction->to<double>() : 1.0, keep, out, nullptr);
}

Status Var(const Tensor& self, const std::optional<Ints>& dims, bool unbiased, bool keep,
           Tensor& out) {
  return VarianceOf(self, dims, unbiased ? 1.0 : 0.0, keep, out, nullptr);
}

Status VarMean(const Tensor& self, const std::optional<Ints>& dims,
               const std::optional<Scalar>& correction, bool keep, Tensor& out, Tensor& mean) {
  return VarianceOf(self, dims, correction ? correction->to<double>() : 1.0, keep, out, &mean);
}

// (sum of |x|^order)^(1/order); of orders 0, ∞ and -∞ how many are not 0, the largest and the
// smallest.
Status VectorNorm(const Tensor& self, const Scalar& order, const std::optional<Ints>& dims,
                  bool keep, Unused, Tensor& out) {
  if (!IsFloating(self.dtype) || !IsFloating(out.dtype)) return Unsupported("other than floats");
  XIR_ASSIGN_OR_RETURN(const Plan plan, MakePlan(self, dims, keep));
  const auto p = order.to<double>();
  if (std::isinf(p) && plan.count == 0 && plan.shape.numel() > 0) {
    return Invalid("an extreme of no elements");
  }
  XIR_RETURN_IF_ERROR(ResizeResult(out, plan.shape));
  return DispatchFloating(out.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    Scratch<double> norms;
    XIR_RETURN_IF_ERROR(norms.Allocate(out.numel()));
    if (std::isinf(p)) {
      // The extreme of all magnitudes; a NaN is one.
      const auto farther = [p](double best, double x) {
        return best == best && (x != x || (p > 0 ? x > best : x < best)) ? x : best;
      };
      FoldAll<T>(
          self, plan, p > 0 ? 0.0 : -p, norms.data(),
          [&](double best, T x, int64_t) {
            return farther(best, std::abs(static_cast<double>(x)));
          },
          farther);
      return StoreResults(norms.data(), out);
    }
    const auto term = [p](double x) {
      if (p == 0) return x == 0 ? 0.0 : 1.0;
      if (p == 1) return std::abs(x);
      return p == 2 ? x * x : std::pow(std::abs(x), p);
    };
    FoldAll<T>(
        self, plan, 0.0, norms.data(),
        [&](double sum, T x, int64_t) { return sum + term(static_cast<double>(x)); },
        [](double a, double b) { return a + b; });
    for (int64_t i = 0; i < out.numel() && p != 0 && p != 1; ++i) {
      double& norm = norms.data()[i];
      norm = p == 2 ? std::sqrt(norm) : std::pow(norm, 1 / p);
    }
    return StoreResults(norms.data(), out);
  });
}

// The larger, or smaller; a NaN wins.
struct Larger {
  template <typename T>
  static bool Beats(T x, T best) {
    return best == best && (x != x || x > best);
  }
  template <typename T>
  static constexpr T kStart = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest();
};

struct Smaller {
  template <typename T>
  static bool Beats(T x, T best) {
    return best == best && (x != x || x < best);
  }
  template <typename T>
  static constexpr T kStart = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::max();
};

template <typename Order>
Status Extreme(const Tensor& self, const std::optional<Ints>& dims, bool keep, Tensor& out) {
  if (!IsNumeric(self.dtype) || out.dtype != self.dtype) return Unsupported("another dtype");
  XIR_ASSIGN_OR_RETURN(const Plan plan, MakePlan(self, dims, keep));
  if (plan.count == 0 && plan.shape.numel() > 0) return Invalid("an extreme of no elements");
  XIR_RETURN_IF_ERROR(ResizeResult(out, plan.shape));
  return DispatchNumeric(self.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    Scratch<T> extremes;
    XIR_RETURN_IF_ERROR(extremes.Allocate(out.numel()));
    FoldAll<T>(
        self, plan, Order::template kStart<T>, extremes.data(),
        [](T best, T x, int64_t) { return Order::Beats(x, best) ? x : best; },
        [](T a, T b) { return Order::Beats(b, a) ? b : a; });
    return StoreResults(extremes.data(), out);
  });
}

template <typename Order>
Status ExtremeOfDims(const Tensor& self, const Ints& dims, bool keep, Tensor& out) {
  return Extreme<Order>(self, dims, keep, out);
}

template <typename Order>
Status ExtremeOfAll(const Tensor& self, Tensor& out) {
  return Extreme<Order>(self, std::nullopt, false, out);
}

Status ProdOf(const Tensor& self, const std::optional<Ints>& dims, bool keep, Tensor& out) {
  XIR_RETURN_IF_ERROR(CheckReduction(self, out));
  if (!IsFloating(out.dtype) && IsFloating(self.dtype)) return Unsupported("a product in integers");
  XIR_ASSIGN_OR_RETURN(const Plan plan, MakePlan(self, dims, keep));
  XIR_RETURN_IF_ERROR(ResizeResult(out, plan.shape));
  return DispatchNumeric(out.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    using A = SumType<T>;
    Scratch<A> products;
    XIR_RETURN_IF_ERROR(products.Allocate(out.numel()));
    FoldAll<T>(
        self, plan, A{1}, products.data(),
        [](A product, T x, int64_t) { return Times(product, static_cast<A>(x)); },
        [](A a, A b) { return Times(a, b); });
    return StoreResults(products.data(), out);
  });
}

Status ProdOfDim(const Tensor& self, int64_t dim, bool keep, Unused, Tensor& out) {
  return ProdOf(self, Ints{dim}, keep, out);
}

Status ProdOfAll(const Tensor& self, Unused, Tensor& out) {
  return ProdOf(self, std::nullopt, false, out);
}

// Whether any element is nonzero, or, with `all`, every one.
template <bool all>
Status Truth(const Tensor& self, const std::optional<Ints>& dims, bool keep, Tensor& out) {
  XIR_RETURN_IF_ERROR(CheckReduction(self, out));
  if (out.dtype != DType::kBool && out.dtype != DType::kByte) return Unsupported("another dtype");
  XIR_ASSIGN_OR_RETURN(const Plan plan, MakePlan(self, dims, keep));
  XIR_RETURN_IF_ERROR(ResizeResult(out, plan.shape));
  Scratch<int64_t> truths;
  XIR_RETURN_IF_ERROR(truths.Allocate(out.numel()));
  const auto join = [](int64_t a, int64_t b) { return all ? a & b : a | b; };
  FoldAll<Bool>(
      self, plan, int64_t{all}, truths.data(),
      [&](int64_t truth, Bool x, int64_t) { return join(truth, x.bits != 0); }, join);
  return StoreResults(truths.data(), out);
}

// Unlike elsewhere, an empty list reduces nothing.
Status AnyOfDims(const Tensor& self, const std::optional<Ints>& dims, bool keep, Tensor& out) {
  if (!dims || !dims->empty()) return Truth<false>(self, dims, keep, out);
  if (out.dtype != DType::kBool || !IsNumeric(self.dtype)) return Unsupported("another dtype");
  return Map<Bool>([](bool x) { return x; }, {self}, out);
}

template <bool all>
Status TruthOfDim(const Tensor& self, int64_t dim, bool keep, Tensor& out) {
  return Truth<all>(self, Ints{dim}, keep, out);
}

template <bool all>
Status TruthOfAll(const Tensor& self, Tensor& out) {
  return Truth<all>(self, std::nullopt, false, out);
}

// The extreme of each line and its first position; either result may be left out.
template <typename Order>
Status ExtremeOfLines(const Tensor& self, const Shape& shape, const Lines& lines, Tensor* values,
                      Tensor& indices) {
  if (!IsNumeric(self.dtype) || (values != nullptr && values->dtype != self.dtype) ||
      indices.dtype != DType::kLong) {
    return Unsupported("another dtype");
  }
  if (lines.size == 0 && shape.numel() > 0) return Invalid("an extreme of no elements");
  if (values != nullptr) XIR_RETURN_IF_ERROR(ResizeResult(*values, shape));
  XIR_RETURN_IF_ERROR(ResizeResult(indices, shape));
  return DispatchNumeric(self.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> in;
    OutputArray<int64_t> positions;
    Scratch<T> extremes;
    XIR_RETURN_IF_ERROR(in.Init(self));
    XIR_RETURN_IF_ERROR(positions.Init(indices));
    XIR_RETURN_IF_ERROR(extremes.Allocate(shape.numel()));
    lines.ForEach([&](int64_t offset, int64_t line) {
      const T* from = in.data() + offset;
      int64_t best = 0;
      for (int64_t i = 1; i < lines.size; ++i) {
        if (Order::Beats(from[i * lines.inner], from[best * lines.inner])) best = i;
      }
      extremes.data()[line] = from[best * lines.inner];
      positions.data()[line] = best;
    });
    XIR_RETURN_IF_ERROR(positions.Commit());
    return values == nullptr ? Status() : StoreResults(extremes.data(), *values);
  });
}

template <typename Order>
Status ExtremeOfDim(const Tensor& self, int64_t dim, bool keep, Tensor& values, Tensor& indices) {
  XIR_ASSIGN_OR_RETURN(const size_t index, WrapDim(dim, self.rank()));
  return ExtremeOfLines<Order>(self, WithoutDim(self.shape, index, keep), Lines(self.shape, index),
                               &values, indices);
}

template <typename Order>
Status PositionOfExtreme(const Tensor& self, std::optional<int64_t> dim, bool keep, Tensor& out) {
  if (dim) {
    XIR_ASSIGN_OR_RETURN(const size_t index, WrapDim(*dim, self.rank()));
    return ExtremeOfLines<Order>(self, WithoutDim(self.shape, index, keep),
                                 Lines(self.shape, index), nullptr, out);
  }
  Shape shape;
  if (keep) {
    for (size_t i = 0; i < self.rank(); ++i) shape[shape.rank++] = 1;
  }
  return ExtremeOfLines<Order>(self, shape, Lines(MakeShape({self.numel()}), 0), nullptr, out);
}

constexpr TypedKernel kReductionRows[] = {
    MakeKernel<TruthOfAll<true>>("aten::all.all_out"),
    MakeKernel<TruthOfDim<true>>("aten::all.out"),
    MakeKernel<ExtremeOfDims<Larger>>("aten::amax.out"),
    MakeKernel<ExtremeOfDims<Smaller>>("aten::amin.out"),
    MakeKernel<TruthOfAll<false>>("aten::any.all_out"),
    MakeKernel<AnyOfDims>("aten::any.dims_out"),
    MakeKernel<TruthOfDim<false>>("aten::any.out"),
    MakeKernel<PositionOfExtreme<Larger>>("aten::argmax.out"),
    MakeKernel<PositionOfExtreme<Smaller>>("aten::argmin.out"),
    MakeKernel<VectorNorm>("aten::linalg_vector_norm.out"),
    MakeKernel<ExtremeOfDim<Larger>>("aten::max.dim_max"),
    MakeKernel<ExtremeOfAll<Larger>>("aten::max.unary_out"),
    MakeKernel<MeanOfAll>("aten::mean.dtype_out"),
    MakeKernel<Mean>("aten::mean.out"),
    MakeKernel<ExtremeOfDim<Smaller>>("aten::min.dim_min"),
    MakeKernel<ExtremeOfAll<Smaller>>("aten::min.unary_out"),
    MakeKernel<ProdOfDim>("aten::prod.int_out"),
    MakeKernel<ProdOfAll>("aten::prod.out"),
    MakeKernel<SumDims>("aten::sum.IntList_out"),
    MakeKernel<SumAllDims>("aten::sum.out"),
    MakeKernel<VarCorrection>("aten::var.correction_out"),
    MakeKernel<Var>("aten::var.out"),
    MakeKernel<VarMean>("aten::var_mean.correction_out"),
};

}  // namespace

KernelTable ReductionKernels() { return TableOf<kReductionRows>(); }

}  // namespace xir::kernels
