// Convolutions over one and two dimensions, as products of matrices.
#include <algorithm>
#include <optional>

#include "kernels/families.h"
#include "kernels/gemm.h"
#include "kernels/limits.h"

namespace xir::kernels {
namespace {

// One spatial dimension.
struct ConvolutionAxis {
  int64_t in = 0, out = 0, kernel = 0, stride = 1, padding = 0, dilation = 1;
  bool transposed = false;

  // The results [first, last) for which kernel element `k` lies on the operand, and the step from
  // one to the next: with a stride, a transposed convolution's kernel element meets only some.
  struct Range {
    int64_t first = 0, last = 0, step = 1;
    int64_t in_first = 0, in_step = 1;  // where on the operand
  };
  Range range(int64_t k) const {
    // A convolution reads in[out · stride + shift], a transposed one in[(out + shift) / stride].
    const int64_t shift = transposed ? padding - k * dilation : k * dilation - padding;
    Range r;
    if (transposed) {
      r.step = stride;
      // The least out >= 0 with out + shift >= 0 a multiple of the stride.
      r.first = shift >= 0 ? (stride - shift % stride) % stride : -shift;
      r.in_first = (r.first + shift) / stride;
      const int64_t count = std::max<int64_t>(0, in - r.in_first);
      r.last = std::min(out, r.first + count * stride);
    } else {
      r.in_step = stride;
      r.first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
      const int64_t room = in - shift;
      r.last = room <= 0 ? 0 : std::min(out, (room + stride - 1) / stride);
      r.in_first = r.first * stride + shift;
    }
    r.last = std::max(r.last, r.first);
    return r;
  }
};

struct Geometry {
  ConvolutionAxis rows, columns;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 0;

  int64_t in_plane() const { return rows.in * columns.in; }
  int64_t out_plane() const { return rows.out * columns.out; }
  int64_t kernel() const { return rows.kernel * columns.kernel; }
  int64_t group_in() const { return in_channels / groups; }
  int64_t group_out() const { return out_channels / groups; }
  // Elements of the operand that make one of the result.
  int64_t inner() const { return group_in() * kernel(); }
  // One input channel to a few of the result's.
  bool depthwise() const { return group_in() == 1 && group_out() <= 4 && !rows.transposed; }
  // Whether a result's plane is as the operand's, element for element.
  bool pointwise() const {
    const auto plain = [](const ConvolutionAxis& axis) {
      return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0 && axis.out == axis.in;
    };
    return plain(rows) && plain(columns);
  }
};

// The operand of a convolution as matrix [group_in · kernel, out_plane], which never exists as a
// whole: row (channel, ky, kx) holds what that kernel element meets.
template <typename T>
struct PatchColumns {
  static constexpr bool kPacked = false;
  const Geometry& g;
  const T* in;  // the group's first plane

  const T* operator()(int64_t first, int64_t count, int64_t first_k, int64_t depth, int64_t width,
                      T* to) const {
    T* line = to + depth * RoundUp(count, width);
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t k = first_k + d, element = k % g.kernel();
      FillLine(in + k / g.kernel() * g.in_plane(), g.rows.range(element / g.columns.kernel),
               g.columns.range(element % g.columns.kernel), first, count, line);
      for (int64_t p = 0; p < count; p += width) {
        T* row = to + p * depth + d * width;
        const int64_t n = std::min(width, count - p);
        std::copy_n(line + p, n, row);
        std::fill(row + n, row + width, T{0});
      }
    }
    return to;
  }

 private:
  // What lies under the results [first, first + count) of a plane.
  void FillLine(const T* plane, const ConvolutionAxis::Range& ys, const ConvolutionAxis::Range& xs,
                int64_t first, int64_t count, T* line) const {
    const int64_t row_length = g.columns.out;
    for (int64_t done = 0; done < count;) {
      const int64_t y = (first + done) / row_length, x = (first + done) % row_length;
      const int64_t n = std::min(row_length - x, count - done);
      FillRow(plane, ys, xs, y, x, n, line + done);
      done += n;
    }
  }

  void FillRow(const T* plane, const ConvolutionAxis::Range& ys, const ConvolutionAxis::Range& xs,
               int64_t y, int64_t x, int64_t n, T* to) const {
    if (y < ys.first || y >= ys.last || (y - ys.first) % ys.step != 0) {
      std::fill_n(to, n, T{0});
      return;
    }
    const int64_t in_row = ys.in_first + (y - ys.first) / ys.step * ys.in_step;
    // The first result of this row that the kernel element meets, from x on.
    const int64_t skipped = std::max<int64_t>(0, (x - xs.first + xs.step - 1) / xs.step);
    const int64_t begin = std::min(xs.first + skipped * xs.step, x + n);
    const int64_t end = std::clamp(xs.last, begin, x + n);
    if (begin >= end) {
      std::fill_n(to, n, T{0});
      return;
    }
    const T* from = plane + in_row * g.columns.in + xs.in_first + skipped * xs.in_step;
    if (xs.step != 1) {
      std::fill_n(to, n, T{0});
      for (int64_t i = begin; i < end; i += xs.step) to[i - x] = *from++;
      return;
    }
    std::fill_n(to, begin - x, T{0});
    if (xs.in_step == 1) {
      std::copy_n(from, end - begin, to + (begin - x));
    } else {
      for (int64_t i = 0; i < end - begin; ++i) to[begin - x + i] = from[i * xs.in_step];
    }
    std::fill(to + (end - x), to + n, T{0});
  }
};

// One input channel to each result's: too little for a product. Adds up a result's row in place.
template <typename T>
void ConvolveDepthwise(const Geometry& g, const T* in, const T* weight, T* out) {
  const auto add_scaled = BestMicroKernel<T>().add_scaled;
  for (int64_t y = 0; y < g.rows.out; ++y) {
    T* to = out + y * g.columns.out;
    for (int64_t ky = 0; ky < g.rows.kernel; ++ky) {
      const int64_t in_row = y * g.rows.stride + ky * g.rows.dilation - g.rows.padding;
      if (in_row < 0 || in_row >= g.rows.in) continue;
      for (int64_t kx = 0; kx < g.columns.kernel; ++kx) {
        const ConvolutionAxis::Range xs = g.columns.range(kx);
        if (xs.first >= xs.last) continue;
        add_scaled(to + xs.first, in + in_row * g.columns.in + xs.in_first, xs.in_step,
                   weight[ky * g.columns.kernel + kx], xs.last - xs.first);
      }
    }
  }
}

// A transposed convolution's weight [in, out / groups, kernel] as [out, in / groups, kernel].
template <typename T>
void SwapChannels(const Geometry& g, const T* from, T* to) {
  const int64_t kernel = g.kernel();
  for (int64_t group = 0; group < g.groups; ++group) {
    for (int64_t o = 0; o < g.group_out(); ++o) {
      for (int64_t i = 0; i < g.group_in(); ++i) {
        to = std::copy_n(from + ((group * g.group_in() + i) * g.group_out() + o) * kernel, kernel,
                         to);
      }
    }
  }
}

// The weight of a convolution that is a product of matrices: [out, in / groups · kernel].
template <typename T>
class WeightMatrix {
 public:
  Status Init(const Geometry& g, const Tensor& weight) {
    XIR_RETURN_IF_ERROR(array_.Init(weight));
    data_ = array_.data();
    if (!g.rows.transposed) return {};
    XIR_RETURN_IF_ERROR(swapped_.Allocate(weight.numel()));
    SwapChannels(g, data_, swapped_.data());
    data_ = swapped_.data();
    return {};
  }
  const T* data() const { return data_; }

 private:
  InputArray<T> array_;
  Scratch<T> swapped_;
  const T* data_ = nullptr;
};

template <typename T>
Status Convolve(const KernelContext& context, const Geometry& g, const Tensor& input,
                const Tensor& weight, const Tensor* bias, Tensor& out) {
  const PackedOperand<T>* packed = PackedOperand<T>::Of(context, weight);
  InputArray<T> in, biases;
  WeightMatrix<T> weights;
  OutputArray<T> result;
  XIR_RETURN_IF_ERROR(in.Init(input));
  if (packed == nullptr) XIR_RETURN_IF_ERROR(weights.Init(g, weight));
  if (bias != nullptr) XIR_RETURN_IF_ERROR(biases.Init(*bias));
  XIR_RETURN_IF_ERROR(result.Init(out));
  const int64_t inner = g.inner();
  const auto operand = [&](int64_t n, int64_t group) {
    return in.data() + (n * g.in_channels + group * g.group_in()) * g.in_plane();
  };
  // The plane of a channel, which begins as its bias.
  const auto start = [&](int64_t n, int64_t channel) {
    T* to = result.data() + (n * g.out_channels + channel) * g.out_plane();
    std::fill_n(to, g.out_plane(), bias == nullptr ? T{0} : biases.data()[channel]);
    return to;
  };
  const double operations = static_cast<double>(out.numel()) * static_cast<double>(inner);
  if (g.depthwise()) {
    const auto run = [&](int64_t first, int64_t last) -> Status {
      for (int64_t i = first; i < last; ++i) {
        const int64_t n = i / g.out_channels, channel = i % g.out_channels;
        ConvolveDepthwise(g, operand(n, channel / g.group_out()), weights.data() + channel * inner,
                          start(n, channel));
      }
      return {};
    };
    XIR_RETURN_IF_ERROR(ParallelRanges(context, g.batch * g.out_channels, operations, run));
    return result.Commit();
  }
  const auto multiply = [&](const KernelContext& threads, int64_t n, int64_t group) -> Status {
    const int64_t first_out = group * g.group_out();
    T* to = start(n, first_out);
    for (int64_t o = 1; o < g.group_out(); ++o) start(n, first_out + o);
    const auto run = [&](const auto& left) -> Status {
      const T* from = operand(n, group);
      if (g.pointwise()) {
        return MultiplyAdd(threads, g.group_out(), g.out_plane(), inner, left,
                           LinesOf<T>{from, 1, g.in_plane()}, to, g.out_plane());
      }
      return MultiplyAdd(threads, g.group_out(), g.out_plane(), inner, left,
                         PatchColumns<T>{g, from}, to, g.out_plane());
    };
    if (packed != nullptr) return run(packed->matrix(group));
    return run(LinesOf<T>{weights.data() + first_out * inner, inner, 1});
  };
  // Few products share the threads one after the other, many are shared out.
  const int64_t products = g.batch * g.groups;
  if (products < static_cast<int64_t>(context.num_threads())) {
    for (int64_t i = 0; i < products; ++i) {
      XIR_RETURN_IF_ERROR(multiply(context, i / g.groups, i % g.groups));
    }
    return result.Commit();
  }
  const auto run = [&](int64_t first, int64_t last) -> Status {
    for (int64_t i = first; i < last; ++i) {
      XIR_RETURN_IF_ERROR(multiply(KernelContext(), i / g.groups, i % g.groups));
    }
    return {};
  };
  XIR_RETURN_IF_ERROR(ParallelRanges(context, products, operations, run));
  return result.Commit();
}

struct ConvolutionParameters {
  Ints stride, padding, dilation, output_padding;
};

Result<ConvolutionAxis> MakeAxis(const ConvolutionParameters& p, size_t i, bool transposed,
                                 int64_t in, int64_t kernel) {
  // A list of one counts for all dimensions.
  const auto at = [i](const Ints& list) { return list[list.size() == 1 ? 0 : i]; };
  ConvolutionAxis axis{in, 0, kernel, at(p.stride), at(p.padding), at(p.dilation), transposed};
  const int64_t extra = at(p.output_padding);
  if (axis.stride < 1 || axis.dilation < 1 || axis.padding < 0 || kernel < 1 || extra < 0 ||
      std::max({axis.stride, axis.dilation, axis.padding, kernel, extra}) > kMaxSize) {
    return Invalid("kernel ", kernel, ", stride ", axis.stride, ", padding ", axis.padding,
                   ", dilation ", axis.dilation);
  }
  const int64_t reach = (kernel - 1) * axis.dilation + 1;
  if (transposed) {
    if (extra >= std::max(axis.stride, axis.dilation)) {
      return Invalid("an output padding of ", extra, " with stride ", axis.stride);
    }
    axis.out = in < 1 ? 0 : (in - 1) * axis.stride - 2 * axis.padding + reach + extra;
    if (in < 1 || in > kMaxSize || axis.out < 1) return Invalid("the result would be empty");
    return axis;
  }
  const int64_t room = in + 2 * axis.padding - reach;
  if (room < 0) return Invalid("the kernel is larger than its padded operand");
  axis.out = room / axis.stride + 1;
  return axis;
}

// The geometry as far as a convolution's weight has it; none where the two do not fit.
std::optional<Geometry> WeightGeometry(const Tensor& weight, bool transposed, int64_t groups) {
  if ((weight.rank() != 3 && weight.rank() != 4) || groups < 1 || groups > kMaxSize) return {};
  const int64_t first = weight.shape[0], second = weight.shape[1];
  int64_t product;
  if (first % groups != 0 || __builtin_mul_overflow(second, groups, &product)) return {};
  Geometry g;
  g.groups = groups;
  g.in_channels = transposed ? first : product;
  g.out_channels = transposed ? product : first;
  g.rows.kernel = weight.rank() == 4 ? weight.shape[2] : 1;
  g.columns.kernel = weight.shape[weight.rank() - 1];
  g.rows.transposed = g.columns.transposed = transposed;
  return g;
}

// Packs the weight, which is the left operand of the products, where it is a constant.
PreparedState PrepareConvolution(const Tensor&, const Tensor& weight, const Tensor*, const Ints&,
                                 const Ints&, const Ints&, bool transposed, const Ints&,
                                 int64_t groups, Tensor&) {
  const std::optional<Geometry> g = WeightGeometry(weight, transposed, groups);
  if (!g.has_value() || !IsConstant(weight) || !IsFloating(weight.dtype) || g->depthwise()) {
    return PreparedState(nullptr);
  }
  return DispatchFloating(weight.dtype, [&](auto zero) -> PreparedState {
    using T = decltype(zero);
    WeightMatrix<T> matrix;
    XIR_RETURN_IF_ERROR(matrix.Init(*g, weight));
    return PackedOperand<T>::Make(weight.data, LinesOf<T>{matrix.data(), g->inner(), 1}, g->groups,
                                  g->group_out() * g->inner(), g->group_out(), g->inner(),
                                  BestMicroKernel<T>().mr);
  });
}

Status Convolution(KernelContext& context, const Tensor& input, const Tensor& weight,
                   const Tensor* bias, const Ints& stride, const Ints& padding,
                   const Ints& dilation, bool transposed, const Ints& output_padding,
                   int64_t groups, Tensor& out) {
  if (weight.rank() != 3 && weight.rank() != 4) {
    return Unsupported("a convolution over other than one or two dimensions");
  }
  const size_t spatial = weight.rank() - 2;
  if (input.rank() != weight.rank()) return Mismatch(input.shape, weight.shape);
  for (const Ints* list : {&stride, &padding, &dilation, &output_padding}) {
    if (list->size() != 1 && list->size() != spatial) {
      return Invalid(list->size(), " parameters for ", spatial, " dimensions");
    }
  }
  if (!IsFloating(out.dtype) || !SameType(out, input, weight) ||
      (bias != nullptr && bias->dtype != out.dtype)) {
    return Unsupported("a convolution of other elements than floats of one dtype");
  }
  const std::optional<Geometry> known = WeightGeometry(weight, transposed, groups);
  if (!known.has_value() || input.shape[1] != known->in_channels) {
    return Mismatch(input.shape, weight.shape);
  }
  Geometry g = *known;
  g.batch = input.shape[0];
  if (bias != nullptr && (bias->rank() != 1 || bias->shape[0] != g.out_channels)) {
    return Mismatch(bias->shape, weight.shape);
  }
  const ConvolutionParameters p{stride, padding, dilation, output_padding};
  Shape shape = MakeShape({g.batch, g.out_channels});
  // One dimension is the columns of a plane of one row.
  g.rows = ConvolutionAxis{1, 1, 1, 1, 0, 1, transposed};
  if (spatial == 2) {
    XIR_ASSIGN_OR_RETURN(g.rows, MakeAxis(p, 0, transposed, input.shape[2], weight.shape[2]));
    shape[shape.rank++] = g.rows.out;
  }
  XIR_ASSIGN_OR_RETURN(g.columns, MakeAxis(p, spatial - 1, transposed, input.shape[spatial + 1],
                                           weight.shape[spatial + 1]));
  shape[shape.rank++] = g.columns.out;
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  if (out.numel() == 0) return {};
  return DispatchFloating(out.dtype, [&](auto zero) {
    return Convolve<decltype(zero)>(context, g, input, weight, bias, out);
  });
}

constexpr TypedKernel kConvolutionRows[] = {
    MakeKernel<Convolution, PrepareConvolution>("aten::convolution.out")};

}  // namespace

KernelTable ConvolutionKernels() { return TableOf<kConvolutionRows>(); }

}  // namespace xir::kernels
