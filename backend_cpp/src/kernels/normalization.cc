// Softmax and the norms.
#include <algorithm>
#include <cmath>

#include "kernels/families.h"
#include "kernels/lines.h"

namespace xir::kernels {
namespace {

template <bool log>
Status Softmax(const Tensor& self, int64_t dim, bool half_to_float, Tensor& out) {
  if (!IsFloating(self.dtype) || out.dtype != self.dtype || half_to_float) {
    return Unsupported("a softmax of other than floats of one dtype");
  }
  XIR_ASSIGN_OR_RETURN(const size_t index, WrapDim(dim, self.rank()));
  XIR_RETURN_IF_ERROR(ResizeResult(out, self.shape));
  if (out.numel() == 0) return {};
  const Lines lines(self.shape, index);
  return DispatchFloating(self.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> in;
    OutputArray<T> result;
    Scratch<T> line;
    XIR_RETURN_IF_ERROR(in.Init(self));
    XIR_RETURN_IF_ERROR(result.Init(out));
    XIR_RETURN_IF_ERROR(line.Allocate(lines.size));
    T* x = line.data();
    lines.ForEach([&](int64_t offset, int64_t) {
      const T* from = in.data() + offset;
      T* to = result.data() + offset;
      T largest = -INFINITY;
      for (int64_t i = 0; i < lines.size; ++i) {
        x[i] = from[i * lines.inner];
        largest = x[i] > largest ? x[i] : largest;
      }
      T sum{0};
      for (int64_t i = 0; i < lines.size; ++i) {
        x[i] -= largest;
        const T power = std::exp(x[i]);
        sum += power;
        if (!log) x[i] = power;
      }
      const T factor = log ? std::log(sum) : T{1} / sum;
      for (int64_t i = 0; i < lines.size; ++i) {
        to[i * lines.inner] = log ? x[i] - factor : x[i] * factor;
      }
    });
    return result.Commit();
  });
}

// An operand of one number for each channel, `otherwise` where it is absent.
template <typename T>
class PerChannel {
 public:
  Status Init(const Tensor* tensor, int64_t count, T otherwise) {
    otherwise_ = otherwise;
    if (tensor == nullptr) return {};
    if (tensor->numel() != count) {
      return Invalid("a parameter of shape ", tensor->shape.ToString(), " for ", count,
                     " channels");
    }
    present_ = true;
    return array_.Init(*tensor);
  }
  T operator[](int64_t i) const { return present_ ? array_.data()[i] : otherwise_; }

 private:
  InputArray<T> array_;
  T otherwise_{};
  bool present_ = false;
};

Status CheckFloats(const Tensor& in, std::initializer_list<const Tensor*> parameters,
                   std::initializer_list<const Tensor*> outs) {
  if (!IsFloating(in.dtype)) return Unsupported("a norm of other than floats");
  for (const Tensor* parameter : parameters) {
    if (parameter != nullptr && !IsFloating(parameter->dtype)) {
      return Unsupported("a parameter of other than floats");
    }
  }
  for (const Tensor* out : outs) {
    if (!IsFloating(out->dtype)) return Unsupported("a result of other than floats");
  }
  return {};
}

// With given statistics; the results that would hold new ones are empty.
Status BatchNorm(const Tensor& input, const Tensor* weight, const Tensor* bias, const Tensor& mean,
                 const Tensor& variance, Unused, double eps, Tensor& out, Tensor& saved_mean,
                 Tensor& saved_variance) {
  XIR_RETURN_IF_ERROR(CheckFloats(input, {weight, bias, &mean, &variance}, {&out}));
  if (input.rank() < 2 || out.dtype != input.dtype)
    return Unsupported("an operand without channels");
  XIR_RETURN_IF_ERROR(ResizeResult(out, input.shape));
  XIR_RETURN_IF_ERROR(ResizeResult(saved_mean, MakeShape({0})));
  XIR_RETURN_IF_ERROR(ResizeResult(saved_variance, MakeShape({0})));
  return DispatchFloating(input.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const int64_t channels = input.shape[1], plane = Count(input.shape, 2, input.rank());
    InputArray<T> in;
    OutputArray<T> result;
    PerChannel<T> weights, biases, means, variances;
    XIR_RETURN_IF_ERROR(in.Init(input));
    XIR_RETURN_IF_ERROR(result.Init(out));
    XIR_RETURN_IF_ERROR(weights.Init(weight, channels, T{1}));
    XIR_RETURN_IF_ERROR(biases.Init(bias, channels, T{0}));
    XIR_RETURN_IF_ERROR(means.Init(&mean, channels, T{0}));
    XIR_RETURN_IF_ERROR(variances.Init(&variance, channels, T{1}));
    for (int64_t i = 0; i < (plane == 0 ? 0 : input.shape[0] * channels); ++i) {
      const int64_t c = i % channels;
      const T scale = weights[c] / std::sqrt(variances[c] + static_cast<T>(eps));
      const T shift = biases[c] - means[c] * scale;
      const T* from = in.data() + i * plane;
      T* to = result.data() + i * plane;
      for (int64_t p = 0; p < plane; ++p) to[p] = from[p] * scale + shift;
    }
    return result.Commit();
  });
}

// Mean and reciprocal standard deviation of `count` elements.
template <typename T>
void Statistics(const T* x, int64_t count, double eps, T* mean, T* reciprocal) {
  constexpr int64_t kParts = 8;
  const auto total = [&](auto value) {
    double parts[kParts] = {};
    int64_t i = 0;
    for (; i + kParts <= count; i += kParts) {
      for (int64_t p = 0; p < kParts; ++p) parts[p] += value(static_cast<double>(x[i + p]));
    }
    for (; i < count; ++i) parts[0] += value(static_cast<double>(x[i]));
    double sum = 0.0;
    for (const double part : parts) sum += part;
    return sum;
  };
  const double center = total([](double v) { return v; }) / static_cast<double>(count);
  const double variance =
      total([&](double v) { return (v - center) * (v - center); }) / static_cast<double>(count);
  *mean = static_cast<T>(center);
  *reciprocal = static_cast<T>(1.0 / std::sqrt(variance + eps));
}

Status LayerNorm(const Tensor& input, const Ints& normalized_shape, const Tensor* weight,
                 const Tensor* bias, double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  XIR_RETURN_IF_ERROR(CheckFloats(input, {weight, bias}, {&out, &mean, &rstd}));
  if (out.dtype != input.dtype) return Unsupported("a result of another dtype");
  XIR_ASSIGN_OR_RETURN(const Shape normalized, ShapeOf(normalized_shape));
  if (normalized.rank < 1 || normalized.rank > input.rank()) {
    return Mismatch(input.shape, normalized);
  }
  const size_t lead = input.rank() - normalized.rank;
  Shape statistics = input.shape;
  for (size_t i = lead; i < input.rank(); ++i) {
    if (input.shape[i] != normalized[i - lead]) return Mismatch(input.shape, normalized);
    statistics[i] = 1;
  }
  XIR_RETURN_IF_ERROR(ResizeResult(out, input.shape));
  XIR_RETURN_IF_ERROR(ResizeResult(mean, statistics));
  XIR_RETURN_IF_ERROR(ResizeResult(rstd, statistics));
  return DispatchFloating(input.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const int64_t size = normalized.numel(), rows = statistics.numel();
    InputArray<T> in;
    OutputArray<T> result, means, reciprocals;
    PerChannel<T> weights, biases;
    XIR_RETURN_IF_ERROR(in.Init(input));
    XIR_RETURN_IF_ERROR(result.Init(out));
    XIR_RETURN_IF_ERROR(means.Init(mean));
    XIR_RETURN_IF_ERROR(reciprocals.Init(rstd));
    XIR_RETURN_IF_ERROR(weights.Init(weight, size, T{1}));
    XIR_RETURN_IF_ERROR(biases.Init(bias, size, T{0}));
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = in.data() + r * size;
      T* to = result.data() + r * size;
      Statistics(from, size, eps, &means.data()[r], &reciprocals.data()[r]);
      const T center = means.data()[r], factor = reciprocals.data()[r];
      for (int64_t i = 0; i < size; ++i)
        to[i] = (from[i] - center) * factor * weights[i] + biases[i];
    }
    XIR_RETURN_IF_ERROR(means.Commit());
    XIR_RETURN_IF_ERROR(reciprocals.Commit());
    return result.Commit();
  });
}

Status GroupNorm(const Tensor& input, const Tensor* weight, const Tensor* bias, int64_t batch,
                 int64_t channels, int64_t plane, int64_t groups, double eps, Tensor& out,
                 Tensor& mean, Tensor& rstd) {
  XIR_RETURN_IF_ERROR(CheckFloats(input, {weight, bias}, {&out, &mean, &rstd}));
  if (out.dtype != input.dtype) return Unsupported("a result of another dtype");
  if (input.rank() < 2 || input.shape[0] != batch || input.shape[1] != channels ||
      Count(input.shape, 2, input.rank()) != plane || groups < 1 || channels % groups != 0) {
    return Invalid("shape ", input.shape.ToString(), " as ", batch, " times ", channels,
                   " channels of ", plane, " elements in ", groups, " groups");
  }
  const Shape statistics = MakeShape({batch, groups});
  XIR_RETURN_IF_ERROR(ResizeResult(out, input.shape));
  XIR_RETURN_IF_ERROR(ResizeResult(mean, statistics));
  XIR_RETURN_IF_ERROR(ResizeResult(rstd, statistics));
  return DispatchFloating(input.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const int64_t in_group = channels / groups, size = in_group * plane;
    InputArray<T> in;
    OutputArray<T> result, means, reciprocals;
    PerChannel<T> weights, biases;
    XIR_RETURN_IF_ERROR(in.Init(input));
    XIR_RETURN_IF_ERROR(result.Init(out));
    XIR_RETURN_IF_ERROR(means.Init(mean));
    XIR_RETURN_IF_ERROR(reciprocals.Init(rstd));
    XIR_RETURN_IF_ERROR(weights.Init(weight, channels, T{1}));
    XIR_RETURN_IF_ERROR(biases.Init(bias, channels, T{0}));
    for (int64_t r = 0; r < statistics.numel(); ++r) {
      const T* from = in.data() + r * size;
      T* to = result.data() + r * size;
      Statistics(from, size, eps, &means.data()[r], &reciprocals.data()[r]);
      for (int64_t i = 0; i < (plane == 0 ? 0 : in_group); ++i) {
        const int64_t c = r % groups * in_group + i;
        const T scale = reciprocals.data()[r] * weights[c];
        const T shift = biases[c] - means.data()[r] * scale;
        for (int64_t p = i * plane; p < (i + 1) * plane; ++p) to[p] = from[p] * scale + shift;
      }
    }
    XIR_RETURN_IF_ERROR(means.Commit());
    XIR_RETURN_IF_ERROR(reciprocals.Commit());
    return result.Commit();
  });
}

constexpr TypedKernel kNormalizationRows[] = {
    MakeKernel<Softmax<true>>("aten::_log_softmax.out"),
    MakeKernel<BatchNorm>("aten::_native_batch_norm_legit_no_training.out"),
    MakeKernel<Softmax<false>>("aten::_softmax.out"),
    MakeKernel<GroupNorm>("aten::native_group_norm.out"),
    MakeKernel<LayerNorm>("aten::native_layer_norm.out"),
};

}  // namespace

KernelTable NormalizationKernels() { return TableOf<kNormalizationRows>(); }

}  // namespace xir::kernels
