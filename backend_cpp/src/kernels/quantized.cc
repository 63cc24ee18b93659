// Quantisation as in quantized_decomposed (torch/ao/quantization/fx/_decomposed.py), in float32.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/families.h"
#include "kernels/scratch.h"

namespace xir::kernels {
namespace {

// Elements that share parameters follow each other in logical order, in `count` runs of `length`.
// Run i has the parameters of channel i modulo the number of channels.
struct Runs {
  int64_t length = 0;
  int64_t count = 0;
};

struct QuantizationParameters {
  InputArray<float> scales;
  InputArray<int64_t> zero_points;
  int64_t channels = 1;
  bool symmetric = false;  // all zero points are 0
  float scale = 1.0f;      // where there is one for all
  int64_t zero_point = 0;
  bool single = false;

  float scale_of(int64_t run) const { return single ? scale : scales.data()[run % channels]; }
  int64_t zero_point_of(int64_t run) const {
    return single ? zero_point : symmetric ? 0 : zero_points.data()[run % channels];
  }
};

constexpr int64_t kMaxZeroPoint = INT32_MAX;

Status ReadParameters(const Tensor& scales, const Tensor* zero_points, int64_t channels,
                      QuantizationParameters* to) {
  if (!IsFloating(scales.dtype) || (zero_points != nullptr && !IsIntegral(zero_points->dtype))) {
    return Unsupported("scales that are no floats, or zero points that are no integers");
  }
  if (scales.numel() != channels || (zero_points != nullptr && zero_points->numel() != channels)) {
    return Invalid(scales.numel(), " scales for ", channels, " channels");
  }
  to->channels = channels;
  to->symmetric = zero_points == nullptr;
  if (!to->symmetric) XIR_RETURN_IF_ERROR(to->zero_points.Init(*zero_points));
  return to->scales.Init(scales);
}

// The integers that quantised elements may be.
struct Range {
  int64_t min, max;
};

template <typename Q>
Result<Range> CheckRange(int64_t min, int64_t max) {
  using Limits = std::numeric_limits<Q>;
  if (min > max || min < Limits::min() || max > Limits::max()) {
    return Invalid("a range of [", min, ", ", max, "] for its dtype");
  }
  return Range{min, max};
}

// clamp(round(x / scale) + zero_point), ties to even. What lies beyond the range does so before it
// is rounded as well; a NaN becomes the least.
template <typename Q>
void QuantizeRun(const float* x, int64_t count, float scale, int64_t zero_point, Range range,
                 Q* to) {
  const float factor = 1.0f / scale;
  const auto low = static_cast<float>(range.min - zero_point);
  const auto high = static_cast<float>(range.max - zero_point);
  constexpr float kExact = 0x1p22f;
  if (std::fabs(low) < kExact && std::fabs(high) < kExact) {
    // Adding 1.5 · 2^23 leaves no fraction: it rounds as the processor does, and vectorises.
    constexpr float kWhole = 0x1.8p23f;
    const auto shift = static_cast<int32_t>(zero_point);
    for (int64_t i = 0; i < count; ++i) {
      const float scaled = x[i] * factor;
      const float raised = scaled > low ? scaled : low;
      const float limited = raised < high ? raised : high;
      to[i] = static_cast<Q>(static_cast<int32_t>(limited + kWhole - kWhole) + shift);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const double whole = std::nearbyint(static_cast<double>(x[i] * factor));
    const double limited =
        std::clamp(whole == whole ? whole : -0x1p40, static_cast<double>(range.min - zero_point),
                   static_cast<double>(range.max - zero_point));
    to[i] = static_cast<Q>(static_cast<int64_t>(limited) + zero_point);
  }
}

// Calls visit(Q{}) with the type of a quantised dtype.
template <typename Visit>
Status DispatchQuantized(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kByte:
      return visit(uint8_t{});
    case DType::kChar:
      return visit(int8_t{});
    case DType::kShort:
      return visit(int16_t{});
    case DType::kInt:
      return visit(int32_t{});
    default:
      return Unsupported("a quantised dtype of this kind");
  }
}

Status Quantize(const Tensor& input, const QuantizationParameters& parameters, const Runs& runs,
                int64_t min, int64_t max, Tensor& out) {
  if (!IsFloating(input.dtype)) return Unsupported("quantisation of other than floats");
  return DispatchQuantized(out.dtype, [&](auto typed) -> Status {
    using Q = decltype(typed);
    XIR_ASSIGN_OR_RETURN(const Range range, CheckRange<Q>(min, max));
    for (int64_t run = 0; run < std::min(runs.count, parameters.channels); ++run) {
      const int64_t zero_point = parameters.zero_point_of(run);
      if (zero_point < -kMaxZeroPoint || zero_point > kMaxZeroPoint)
        return Invalid("zero point ", zero_point);
    }
    XIR_RETURN_IF_ERROR(ResizeResult(out, input.shape));
    if (!out.is_contiguous()) return Unsupported("quantisation in another order");
    if (out.numel() == 0) return {};  // of runs there may be any number
    InputArray<float> in;
    XIR_RETURN_IF_ERROR(in.Init(input));
    for (int64_t run = 0; run < runs.count; ++run) {
      // The memory of the parameters may be the result's: what is used is what is checked.
      const int64_t zero_point =
          std::clamp(parameters.zero_point_of(run), -kMaxZeroPoint, kMaxZeroPoint);
      QuantizeRun(in.data() + run * runs.length, runs.length, parameters.scale_of(run), zero_point,
                  range, out.as<Q>() + run * runs.length);
    }
    return {};
  });
}

// (q - zero_point) · scale
template <typename Q>
void DequantizeRun(const Q* q, int64_t count, float scale, int64_t zero_point, float* to) {
  const auto shift = static_cast<float>(zero_point);
  for (int64_t i = 0; i < count; ++i) to[i] = (static_cast<float>(q[i]) - shift) * scale;
}

Status Dequantize(const Tensor& input, const QuantizationParameters& parameters, const Runs& runs,
                  Tensor& out) {
  if (!IsFloating(out.dtype) || out.dtype == DType::kDouble) {
    return Unsupported("dequantisation to other than floats up to 32 bits");
  }
  if (!input.is_contiguous()) return Unsupported("dequantisation in another order");
  return DispatchQuantized(input.dtype, [&](auto typed) -> Status {
    using Q = decltype(typed);
    XIR_RETURN_IF_ERROR(ResizeResult(out, input.shape));
    if (out.numel() == 0) return {};  // of runs there may be any number
    OutputArray<float> result;
    XIR_RETURN_IF_ERROR(result.Init(out));
    for (int64_t run = 0; run < runs.count; ++run) {
      DequantizeRun(input.as<Q>() + run * runs.length, runs.length, parameters.scale_of(run),
                    parameters.zero_point_of(run), result.data() + run * runs.length);
    }
    return result.Commit();
  });
}

// How elements lie that share parameters.

Runs OneRun(const Tensor& tensor) { return {tensor.numel(), tensor.numel() == 0 ? 0 : 1}; }

Result<Runs> ChannelRuns(const Tensor& tensor, int64_t axis, int64_t* channels) {
  if (tensor.rank() == 0) return Invalid("channels of a tensor without dimensions");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(axis, tensor.rank()));
  *channels = tensor.shape[at];
  if (tensor.numel() == 0) return Runs{};
  const int64_t inner = Count(tensor.shape, at + 1, tensor.rank());
  return Runs{inner, tensor.numel() / inner};
}

Result<Runs> TokenRuns(const Tensor& tensor) {
  if (tensor.rank() == 0) return Invalid("tokens of a tensor without dimensions");
  const int64_t size = tensor.shape[tensor.rank() - 1];
  if (tensor.numel() == 0) return Runs{0, Count(tensor.shape, 0, tensor.rank() - 1)};
  return Runs{size, tensor.numel() / size};
}

Result<Runs> GroupRuns(const Tensor& tensor, const Tensor& scales, int64_t group) {
  if (tensor.rank() != 2 || scales.rank() == 0) return Invalid("groups of rank ", tensor.rank());
  const int64_t size = tensor.shape[1];
  if (group > size && scales.shape[scales.rank() - 1] == 1) group = size;
  if (group < 1 || size % group != 0)
    return Invalid("groups of ", group, " of ", size, " elements");
  return Runs{group, tensor.numel() / group};
}

Result<QuantizationParameters> OneParameter(double scale, int64_t zero_point) {
  if (zero_point < -kMaxZeroPoint || zero_point > kMaxZeroPoint)
    return Invalid("zero point ", zero_point);
  QuantizationParameters parameters;
  parameters.single = true;
  parameters.scale = static_cast<float>(scale);
  parameters.zero_point = zero_point;
  return parameters;
}

// The kernels. Dtypes among the arguments repeat those of the tensors.

Status QuantizePerTensor(const Tensor& input, double scale, int64_t zero_point, int64_t min,
                         int64_t max, Unused, Tensor& out) {
  XIR_ASSIGN_OR_RETURN(const QuantizationParameters parameters, OneParameter(scale, zero_point));
  return Quantize(input, parameters, OneRun(input), min, max, out);
}

Status QuantizePerTensorOf(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                           int64_t min, int64_t max, Unused, Tensor& out) {
  QuantizationParameters parameters;
  XIR_RETURN_IF_ERROR(ReadParameters(scale, &zero_point, 1, &parameters));
  return Quantize(input, parameters, OneRun(input), min, max, out);
}

Status QuantizePerChannel(const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                          int64_t axis, int64_t min, int64_t max, Unused, Tensor& out) {
  QuantizationParameters parameters;
  int64_t channels = 0;
  XIR_ASSIGN_OR_RETURN(const Runs runs, ChannelRuns(input, axis, &channels));
  XIR_RETURN_IF_ERROR(ReadParameters(scales, &zero_points, channels, &parameters));
  return Quantize(input, parameters, runs, min, max, out);
}

Status QuantizePerToken(const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                        int64_t min, int64_t max, Unused, Tensor& out) {
  QuantizationParameters parameters;
  XIR_ASSIGN_OR_RETURN(const Runs runs, TokenRuns(input));
  XIR_RETURN_IF_ERROR(ReadParameters(scales, &zero_points, runs.count, &parameters));
  return Quantize(input, parameters, runs, min, max, out);
}

Status QuantizePerGroup(const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                        int64_t min, int64_t max, Unused, int64_t group, Tensor& out) {
  QuantizationParameters parameters;
  XIR_ASSIGN_OR_RETURN(const Runs runs, GroupRuns(input, scales, group));
  XIR_RETURN_IF_ERROR(ReadParameters(scales, &zero_points, runs.count, &parameters));
  return Quantize(input, parameters, runs, min, max, out);
}

Status DequantizePerTensor(const Tensor& input, double scale, int64_t zero_point, Unused, Unused,
                           Unused, Unused, Tensor& out) {
  XIR_ASSIGN_OR_RETURN(const QuantizationParameters parameters, OneParameter(scale, zero_point));
  return Dequantize(input, parameters, OneRun(input), out);
}

Status DequantizePerTensorOf(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                             Unused, Unused, Unused, Unused, Tensor& out) {
  QuantizationParameters parameters;
  XIR_RETURN_IF_ERROR(ReadParameters(scale, &zero_point, 1, &parameters));
  return Dequantize(input, parameters, OneRun(input), out);
}

Status DequantizePerChannel(const Tensor& input, const Tensor& scales, const Tensor* zero_points,
                            int64_t axis, Unused, Unused, Unused, Unused, Tensor& out) {
  QuantizationParameters parameters;
  int64_t channels = 0;
  XIR_ASSIGN_OR_RETURN(const Runs runs, ChannelRuns(input, axis, &channels));
  XIR_RETURN_IF_ERROR(ReadParameters(scales, zero_points, channels, &parameters));
  return Dequantize(input, parameters, runs, out);
}

Status DequantizePerToken(const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                          Unused, Unused, Unused, Unused, Tensor& out) {
  QuantizationParameters parameters;
  XIR_ASSIGN_OR_RETURN(const Runs runs, TokenRuns(input));
  XIR_RETURN_IF_ERROR(ReadParameters(scales, &zero_points, runs.count, &parameters));
  return Dequantize(input, parameters, runs, out);
}

Status DequantizePerGroup(const Tensor& input, const Tensor& scales, const Tensor* zero_points,
                          Unused, Unused, Unused, int64_t group, Unused, Tensor& out) {
  QuantizationParameters parameters;
  XIR_ASSIGN_OR_RETURN(const Runs runs, GroupRuns(input, scales, group));
  XIR_RETURN_IF_ERROR(ReadParameters(scales, zero_points, runs.count, &parameters));
  return Dequantize(input, parameters, runs, out);
}

// The range of elements, widened to hold 0.
struct Extent {
  float min = 0.0f, max = 0.0f;
};

Extent ExtentOf(const float* x, int64_t count) {
  Extent extent;
  for (int64_t i = 0; i < count; ++i) {
    extent.min = x[i] < extent.min ? x[i] : extent.min;
    extent.max = x[i] > extent.max ? x[i] : extent.max;
  }
  return extent;
}

Status CheckChoice(const Tensor& input, const Tensor& scale, const Tensor& zero_point) {
  if (!IsFloating(input.dtype) || !IsFloating(scale.dtype) || !IsIntegral(zero_point.dtype)) {
    return Unsupported("parameters of other than floats");
  }
  return {};
}

template <bool symmetric>
Status ChooseParameters(const Tensor& input, int64_t min, int64_t max, double eps, int64_t dtype,
                        Tensor& scale, Tensor& zero_point) {
  XIR_RETURN_IF_ERROR(CheckChoice(input, scale, zero_point));
  if (min >= max || min < -kMaxZeroPoint || max > kMaxZeroPoint) {
    return Invalid("a range of [", min, ", ", max, "]");
  }
  InputArray<float> in;
  XIR_RETURN_IF_ERROR(in.Init(input));
  const int64_t count = input.numel();
  if (count == 0) return Invalid("the range of no elements");
  XIR_RETURN_IF_ERROR(ResizeResult(scale, MakeShape({1})));
  XIR_RETURN_IF_ERROR(ResizeResult(zero_point, MakeShape({1})));
  const Extent extent = ExtentOf(in.data(), count);
  const auto steps = static_cast<float>(max - min);
  float step;
  int64_t zero = 0;
  if (symmetric) {
    step = std::max(std::max(-extent.min, extent.max) / (steps / 2.0f), static_cast<float>(eps));
    if (dtype == static_cast<int64_t>(DType::kByte)) zero = 128;
  } else {
    step = std::max((extent.max - extent.min) / steps, static_cast<float>(eps));
    const float shift = std::nearbyint(extent.min / step);
    // An infinite extent makes a NaN of the shift, which becomes the least integer.
    zero = std::clamp(Minus(min, Convert<int64_t>(std::clamp(shift, -0x1p40f, 0x1p40f))), min, max);
  }
  StoreAll(&step, Compute::kFloat, scale);
  StoreAll(&zero, Compute::kInt, zero_point);
  return {};
}

// For int8, each vector of the last dimension for itself.
Status ChoosePerToken(const Tensor& input, Unused, Tensor& scales, Tensor& zero_points) {
  XIR_RETURN_IF_ERROR(CheckChoice(input, scales, zero_points));
  XIR_ASSIGN_OR_RETURN(const Runs runs, TokenRuns(input));
  if (runs.length == 0 && runs.count > 0) return Invalid("the range of no elements");
  InputArray<float> in;
  XIR_RETURN_IF_ERROR(in.Init(input));
  Shape shape = input.shape;
  shape[shape.rank - 1] = 1;
  XIR_RETURN_IF_ERROR(ResizeResult(scales, shape));
  XIR_RETURN_IF_ERROR(ResizeResult(zero_points, shape));
  OutputArray<float> steps;
  OutputArray<int64_t> zeros;
  XIR_RETURN_IF_ERROR(steps.Init(scales));
  XIR_RETURN_IF_ERROR(zeros.Init(zero_points));
  constexpr float kMin = -128.0f, kMax = 127.0f;
  for (int64_t run = 0; run < runs.count; ++run) {
    const Extent extent = ExtentOf(in.data() + run * runs.length, runs.length);
    const float step =
        std::max((extent.max - extent.min) / (kMax - kMin), std::numeric_limits<float>::epsilon());
    const float low = extent.min / step, high = extent.max / step;
    // From the end whose error is the smaller.
    const float zero = kMin + low + kMax + high > 0.0f ? kMin - low : kMax - high;
    steps.data()[run] = step;
    zeros.data()[run] = Convert<int64_t>(std::nearbyint(zero > kMin ? std::min(zero, kMax) : kMin));
  }
  XIR_RETURN_IF_ERROR(steps.Commit());
  return zeros.Commit();
}

#define XIR_NAME(name) "quantized_decomposed::" name

constexpr TypedKernel kQuantizedRows[] = {
    MakeKernel<ChooseParameters<false>>(XIR_NAME("choose_qparams.Tensor_out")),
    MakeKernel<ChoosePerToken>(XIR_NAME("choose_qparams_per_token_asymmetric.out")),
    MakeKernel<ChooseParameters<true>>(XIR_NAME("choose_qparams_symmetric.Tensor_out")),
    MakeKernel<DequantizePerChannel>(XIR_NAME("dequantize_per_channel.out")),
    MakeKernel<DequantizePerGroup>(XIR_NAME("dequantize_per_channel_group.out")),
    MakeKernel<DequantizePerTensorOf>(XIR_NAME("dequantize_per_tensor.Tensor_out")),
    MakeKernel<DequantizePerTensor>(XIR_NAME("dequantize_per_tensor.out")),
    MakeKernel<DequantizePerToken>(XIR_NAME("dequantize_per_token.out")),
    MakeKernel<QuantizePerChannel>(XIR_NAME("quantize_per_channel.out")),
    MakeKernel<QuantizePerGroup>(XIR_NAME("quantize_per_channel_group.out")),
    MakeKernel<QuantizePerTensorOf>(XIR_NAME("quantize_per_tensor.Tensor_out")),
    MakeKernel<QuantizePerTensor>(XIR_NAME("quantize_per_tensor.out")),
    MakeKernel<QuantizePerToken>(XIR_NAME("quantize_per_token.out")),
};

#undef XIR_NAME

}  // namespace

KernelTable QuantizedKernels() { return TableOf<kQuantizedRows>(); }

}  // namespace xir::kernels
