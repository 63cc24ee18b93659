// Convolutions over one and two dimensions, as products of matrices.
#include <algorithm>

#include "kernels/families.h"
#include "kernels/gemm.h"

namespace xir::kernels {
namespace {

constexpr int64_t kLimit = INT32_MAX;

// One spatial dimension.
struct Axis {
  int64_t in = 0, out = 0, kernel = 0, stride = 1, padding = 0, dilation = 1;
  bool transposed = false;

  // The results [first, last) for which kernel element `k` lies on the operand, and every which of
  // them: with a stride, a transposed convolution's kernel element meets only some.
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
  Axis rows, columns;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 0;

  int64_t in_plane() const { return rows.in * columns.in; }
  int64_t out_plane() const { return rows.out * columns.out; }
  int64_t kernel() const { return rows.kernel * columns.kernel; }
  int64_t group_in() const { return in_channels / groups; }
  int64_t group_out() const { return out_channels / groups; }
  // Whether a result's plane is as the operand's, element for element.
  bool pointwise() const {
    const auto plain = [](const Axis& axis) {
      return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0 && axis.out == axis.in;
    };
    return plain(rows) && plain(columns);
  }
};

// The operand of a convolution as matrix [group_in · kernel, out_plane], which never exists as a
// whole: row (channel, ky, kx) holds what that kernel element meets.
template <typename T>
struct PackPatches {
  const Geometry& g;
  const T* in;  // the group's first plane
  T* line;      // as many elements as a block has columns

  void operator()(int64_t first, int64_t count, int64_t first_k, int64_t depth, int64_t width,
                  T* to) const {
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t k = first_k + d, element = k % g.kernel();
      FillLine(in + k / g.kernel() * g.in_plane(), g.rows.range(element / g.columns.kernel),
               g.columns.range(element % g.columns.kernel), first, count);
      for (int64_t p = 0; p < count; p += width) {
        T* row = to + p * depth + d * width;
        const int64_t n = std::min(width, count - p);
        std::copy_n(line + p, n, row);
        std::fill(row + n, row + width, T{0});
      }
    }
  }

 private:
  // What lies under the results [first, first + count) of a plane.
  void FillLine(const T* plane, const Axis::Range& ys, const Axis::Range& xs, int64_t first,
                int64_t count) const {
    const int64_t row_length = g.columns.out;
    for (int64_t done = 0; done < count;) {
      const int64_t y = (first + done) / row_length, x = (first + done) % row_length;
      const int64_t n = std::min(row_length - x, count - done);
      FillRow(plane, ys, xs, y, x, n, line + done);
      done += n;
    }
  }

  void FillRow(const T* plane, const Axis::Range& ys, const Axis::Range& xs, int64_t y, int64_t x,
               int64_t n, T* to) const {
    if (y < ys.first || y >= ys.last || (y - ys.first) % ys.step != 0) {
      std::fill_n(to, n, T{0});
      return;
    }
    const int64_t in_row = ys.in_first + (y - ys.first) / ys.step * ys.in_step;
    // The first result of this row that the kernel element meets, from x on.
    const int64_t skipped = std::max<int64_t>(0, (x - xs.first + xs.step - 1) / xs.step);
    const int64_t begin = std::min(xs.first + skipped * xs.step, x + n);
    const int64_t end = std::clamp(xs.last, begin, x + n);
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
        const Axis::Range xs = g.columns.range(kx);
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

template <typename T>
Status Convolve(const Geometry& g, const Tensor& input, const Tensor& weight, const Tensor* bias,
                Tensor& out) {
  InputArray<T> in, weights, biases;
  OutputArray<T> result;
  XIR_RETURN_IF_ERROR(in.Init(input));
  XIR_RETURN_IF_ERROR(weights.Init(weight));
  if (bias != nullptr) XIR_RETURN_IF_ERROR(biases.Init(*bias));
  XIR_RETURN_IF_ERROR(result.Init(out));
  const T* matrix = weights.data();
  Scratch<T> swapped, line;
  if (g.rows.transposed) {
    XIR_RETURN_IF_ERROR(swapped.Allocate(weight.numel()));
    SwapChannels(g, matrix, swapped.data());
    matrix = swapped.data();
  }
  XIR_RETURN_IF_ERROR(line.Allocate(g.out_plane()));
  const int64_t inner = g.group_in() * g.kernel();
  const bool depthwise = g.group_in() == 1 && g.group_out() <= 4 && !g.rows.transposed;
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t group = 0; group < g.groups; ++group) {
      const int64_t first_out = group * g.group_out();
      const T* from = in.data() + (n * g.in_channels + group * g.group_in()) * g.in_plane();
      const T* factors = matrix + first_out * inner;
      T* to = result.data() + (n * g.out_channels + first_out) * g.out_plane();
      for (int64_t o = 0; o < g.group_out(); ++o) {
        const T start = bias == nullptr ? T{0} : biases.data()[first_out + o];
        std::fill_n(to + o * g.out_plane(), g.out_plane(), start);
        if (depthwise) {
          ConvolveDepthwise(g, from, factors + o * inner, to + o * g.out_plane());
        }
      }
      if (depthwise) continue;
      const MatrixView<T> left{factors, inner, 1};
      if (g.pointwise()) {
        XIR_RETURN_IF_ERROR(MultiplyAdd(g.group_out(), g.out_plane(), inner, left,
                                        MatrixView<T>{from, g.in_plane(), 1}, to, g.out_plane()));
      } else {
        XIR_RETURN_IF_ERROR(MultiplyAdd(g.group_out(), g.out_plane(), inner, left,
                                        PackPatches<T>{g, from, line.data()}, to, g.out_plane()));
      }
    }
  }
  return result.Commit();
}

struct Parameters {
  Ints stride, padding, dilation, output_padding;
};

Result<Axis> MakeAxis(const Parameters& p, size_t i, bool transposed, int64_t in, int64_t kernel) {
  // A list of one counts for all dimensions.
  const auto at = [i](const Ints& list) { return list[list.size() == 1 ? 0 : i]; };
  Axis axis{in, 0, kernel, at(p.stride), at(p.padding), at(p.dilation), transposed};
  const int64_t extra = at(p.output_padding);
  if (axis.stride < 1 || axis.dilation < 1 || axis.padding < 0 || kernel < 1 || extra < 0 ||
      std::max({axis.stride, axis.dilation, axis.padding, kernel, extra}) > kLimit) {
    return Invalid("kernel ", kernel, ", stride ", axis.stride, ", padding ", axis.padding,
                   ", dilation ", axis.dilation);
  }
  const int64_t reach = (kernel - 1) * axis.dilation + 1;
  if (transposed) {
    if (extra >= std::max(axis.stride, axis.dilation)) {
      return Invalid("an output padding of ", extra, " with stride ", axis.stride);
    }
    axis.out = in < 1 ? 0 : (in - 1) * axis.stride - 2 * axis.padding + reach + extra;
    if (in < 1 || in > kLimit || axis.out < 1) return Invalid("the result would be empty");
    return axis;
  }
  const int64_t room = in + 2 * axis.padding - reach;
  if (room < 0) return Invalid("the kernel is larger than its padded operand");
  axis.out = room / axis.stride + 1;
  return axis;
}

Status Convolution(const Tensor& input, const Tensor& weight, const Tensor* bias,
                   const Ints& stride, const Ints& padding, const Ints& dilation, bool transposed,
                   const Ints& output_padding, int64_t groups, Tensor& out) {
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
  Geometry g;
  g.batch = input.shape[0];
  g.in_channels = input.shape[1];
  g.groups = groups;
  const int64_t first = weight.shape[0], second = weight.shape[1];
  if (groups < 1 || groups > kLimit || g.in_channels % groups != 0 || first % groups != 0 ||
      g.in_channels != (transposed ? first : second * groups)) {
    return Mismatch(input.shape, weight.shape);
  }
  g.out_channels = transposed ? second * groups : first;
  if (bias != nullptr && (bias->rank() != 1 || bias->shape[0] != g.out_channels)) {
    return Mismatch(bias->shape, weight.shape);
  }
  const Parameters p{stride, padding, dilation, output_padding};
  Shape shape = MakeShape({g.batch, g.out_channels});
  // One dimension is the columns of a plane of one row.
  g.rows = Axis{1, 1, 1, 1, 0, 1, transposed};
  if (spatial == 2) {
    XIR_ASSIGN_OR_RETURN(g.rows, MakeAxis(p, 0, transposed, input.shape[2], weight.shape[2]));
    shape[shape.rank++] = g.rows.out;
  }
  XIR_ASSIGN_OR_RETURN(g.columns, MakeAxis(p, spatial - 1, transposed, input.shape[spatial + 1],
                                           weight.shape[spatial + 1]));
  shape[shape.rank++] = g.columns.out;
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  if (out.numel() == 0) return {};
  return DispatchFloating(
      out.dtype, [&](auto zero) { return Convolve<decltype(zero)>(g, input, weight, bias, out); });
}

constexpr TypedKernel kRows[] = {MakeKernel<Convolution>("aten::convolution.out")};

}  // namespace

KernelTable ConvolutionKernels() { return TableOf(kRows); }

}  // namespace xir::kernels
