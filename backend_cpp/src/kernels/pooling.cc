// Pooling over the last two dimensions (or the last, for 1d).
#include <algorithm>
#include <limits>

#include "kernels/families.h"
#include "kernels/limits.h"
#include "kernels/scratch.h"

namespace xir::kernels {
namespace {

// One spatial dimension of a window.
struct PoolAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
};

Result<PoolAxis> MakeAxis(int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                          int64_t dilation, bool ceil_mode) {
  PoolAxis axis{in, 0, kernel, stride, padding, dilation};
  if (kernel < 1 || stride < 1 || dilation < 1 || padding < 0 || padding > kernel / 2 ||
      std::max({in, kernel, stride, dilation}) > kMaxSize) {
    return Invalid("kernel ", kernel, ", stride ", stride, ", padding ", padding, ", dilation ",
                   dilation);
  }
  const int64_t room = in + 2 * padding - ((kernel - 1) * dilation + 1);
  if (room < 0) return Invalid("the window is larger than its padded operand");
  axis.out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  // The last window begins on the operand or its leading padding.
  if (ceil_mode && (axis.out - 1) * stride >= in + padding) --axis.out;
  return axis;
}

// A list of one counts for both; an absent stride is the kernel.
Result<std::array<PoolAxis, 2>> MakeWindow(const Tensor& self, size_t spatial, const Ints& kernel,
                                           const Ints& stride, const Ints& padding,
                                           const Ints& dilation, bool ceil_mode) {
  if (self.rank() != spatial + 1 && self.rank() != spatial + 2) {
    return Unsupported("pooling of a tensor of this rank");
  }
  const auto fits = [&](const Ints& list) { return list.size() == 1 || list.size() == spatial; };
  if (!fits(kernel) || !fits(padding) || !fits(dilation) || (!stride.empty() && !fits(stride))) {
    return Invalid("a window with too many parameters");
  }
  const auto at = [](const Ints& list, size_t i) { return list[list.size() == 1 ? 0 : i]; };
  std::array<PoolAxis, 2> window;
  for (size_t i = 0; i < spatial; ++i) {
    XIR_ASSIGN_OR_RETURN(window[2 - spatial + i],
                         MakeAxis(self.shape[self.rank() - spatial + i], at(kernel, i),
                                  at(stride.empty() ? kernel : stride, i), at(padding, i),
                                  at(dilation, i), ceil_mode));
  }
  return window;
}

Shape PooledShape(const Tensor& self, size_t spatial, int64_t rows, int64_t columns) {
  Shape shape = self.shape;
  shape[shape.rank - 1] = columns;
  if (spatial == 2) shape[shape.rank - 2] = rows;
  return shape;
}

// The largest element of a window and its position, at first the window's own. A NaN is larger
// than any number, and the last one counts.
template <typename T>
struct Largest {
  explicit Largest(int64_t first) : at(first) {}

  void See(const T* plane, int64_t index) {
    const T seen = plane[index];
    if (seen > value || seen != seen) {
      value = seen;
      at = index;
    }
  }

  T value = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                        : std::numeric_limits<T>::lowest();
  int64_t at;
};

Status MaxPool(const Tensor& self, const Ints& kernel, const Ints& stride, const Ints& padding,
               const Ints& dilation, bool ceil_mode, Tensor& out, Tensor& indices) {
  if (out.dtype != self.dtype || !IsNumeric(self.dtype) || indices.dtype != DType::kLong) {
    return Unsupported("a result of another dtype");
  }
  XIR_ASSIGN_OR_RETURN(const auto window,
                       MakeWindow(self, 2, kernel, stride, padding, dilation, ceil_mode));
  const PoolAxis &rows = window[0], &columns = window[1];
  const Shape shape = PooledShape(self, 2, rows.out, columns.out);
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  XIR_RETURN_IF_ERROR(ResizeResult(indices, shape));
  if (out.numel() == 0) return {};
  return DispatchNumeric(self.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> in;
    OutputArray<T> result;
    OutputArray<int64_t> positions;
    XIR_RETURN_IF_ERROR(in.Init(self));
    XIR_RETURN_IF_ERROR(result.Init(out));
    XIR_RETURN_IF_ERROR(positions.Init(indices));
    T* to = result.data();
    int64_t* position = positions.data();
    // The first element at or behind 0 of a window that begins at `start`.
    const auto begin = [](int64_t start, const PoolAxis& axis) {
      return start >= 0 ? start
                        : start + (-start + axis.dilation - 1) / axis.dilation * axis.dilation;
    };
    const auto end = [](int64_t start, const PoolAxis& axis) {
      return std::min(axis.in, start + (axis.kernel - 1) * axis.dilation + 1);
    };
    const int64_t planes = Count(self.shape, 0, self.rank() - 2);
    for (int64_t p = 0; p < planes; ++p) {
      const T* plane = in.data() + p * rows.in * columns.in;
      for (int64_t oy = 0; oy < rows.out; ++oy) {
        const int64_t top = oy * rows.stride - rows.padding;
        for (int64_t ox = 0; ox < columns.out; ++ox) {
          const int64_t left = ox * columns.stride - columns.padding;
          Largest<T> largest(begin(top, rows) * columns.in + begin(left, columns));
          for (int64_t y = begin(top, rows); y < end(top, rows); y += rows.dilation) {
            for (int64_t x = begin(left, columns); x < end(left, columns); x += columns.dilation) {
              largest.See(plane, y * columns.in + x);
            }
          }
          *to++ = largest.value;
          *position++ = largest.at;
        }
      }
    }
    XIR_RETURN_IF_ERROR(positions.Commit());
    return result.Commit();
  });
}

// Averages [top, bottom) × [left, right) of a plane.
template <typename T>
T SumOf(const T* plane, int64_t width, int64_t top, int64_t bottom, int64_t left, int64_t right) {
  T sum{0};
  for (int64_t y = top; y < bottom; ++y) {
    for (int64_t x = left; x < right; ++x) sum += plane[y * width + x];
  }
  return sum;
}

Status AveragePool(const Tensor& self, size_t spatial, const Ints& kernel, const Ints& stride,
                   const Ints& padding, bool ceil_mode, bool include_padding,
                   std::optional<int64_t> divisor, Tensor& out) {
  if (out.dtype != self.dtype || !IsFloating(self.dtype)) return Unsupported("other than floats");
  if (divisor && *divisor == 0) return Invalid("a divisor of 0");
  XIR_ASSIGN_OR_RETURN(const auto window,
                       MakeWindow(self, spatial, kernel, stride, padding, {1}, ceil_mode));
  const PoolAxis &rows = window[0], &columns = window[1];
  XIR_RETURN_IF_ERROR(ResizeResult(out, PooledShape(self, spatial, rows.out, columns.out)));
  if (out.numel() == 0) return {};
  const int64_t height = spatial == 2 ? rows.in : 1;
  return DispatchFloating(self.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> in;
    OutputArray<T> result;
    XIR_RETURN_IF_ERROR(in.Init(self));
    XIR_RETURN_IF_ERROR(result.Init(out));
    T* to = result.data();
    const int64_t planes = Count(self.shape, 0, self.rank() - spatial);
    for (int64_t p = 0; p < planes; ++p) {
      const T* plane = in.data() + p * height * columns.in;
      for (int64_t oy = 0; oy < rows.out; ++oy) {
        const int64_t y = oy * rows.stride - rows.padding;
        const int64_t top = std::max<int64_t>(y, 0), bottom = std::min(y + rows.kernel, rows.in);
        const int64_t full_height = std::min(y + rows.kernel, rows.in + rows.padding) - y;
        for (int64_t ox = 0; ox < columns.out; ++ox) {
          const int64_t x = ox * columns.stride - columns.padding;
          const int64_t left = std::max<int64_t>(x, 0);
          const int64_t right = std::min(x + columns.kernel, columns.in);
          const int64_t full =
              full_height * (std::min(x + columns.kernel, columns.in + columns.padding) - x);
          const int64_t count = divisor           ? *divisor
                                : include_padding ? full
                                                  : (bottom - top) * (right - left);
          // A window that is all padding averages nothing.
          *to++ = top < bottom && left < right
                      ? SumOf(plane, columns.in, top, bottom, left, right) / static_cast<T>(count)
                      : T{0};
        }
      }
    }
    return result.Commit();
  });
}

Status AvgPool2d(const Tensor& self, const Ints& kernel, const Ints& stride, const Ints& padding,
                 bool ceil_mode, bool include_padding, std::optional<int64_t> divisor,
                 Tensor& out) {
  return AveragePool(self, 2, kernel, stride, padding, ceil_mode, include_padding, divisor, out);
}

Status AvgPool1d(const Tensor& self, const Ints& kernel, const Ints& stride, const Ints& padding,
                 bool ceil_mode, bool include_padding, Tensor& out) {
  return AveragePool(self, 1, kernel, stride, padding, ceil_mode, include_padding, std::nullopt,
                     out);
}

// Result `i` of `out` looks at [begin, end) of `in`: torch's rule for adaptive windows.
struct Span1d {
  int64_t begin, end;
};
Span1d AdaptiveSpan(int64_t i, int64_t in, int64_t out) {
  return {i * in / out, ((i + 1) * in + out - 1) / out};
}

// Sizes of the operand and of an adaptive result.
struct Adaptive {
  int64_t in_rows = 1, in_columns = 1, out_rows = 1, out_columns = 1;
  int64_t planes = 1;
  Shape shape;
};

Result<Adaptive> MakeAdaptive(const Tensor& self, size_t spatial, const Ints& output_size) {
  if ((self.rank() != spatial + 1 && self.rank() != spatial + 2) || output_size.size() != spatial) {
    return Unsupported("pooling of a tensor of this rank");
  }
  Adaptive a;
  a.in_columns = self.shape[self.rank() - 1];
  a.out_columns = output_size[spatial - 1];
  if (spatial == 2) {
    a.in_rows = self.shape[self.rank() - 2];
    a.out_rows = output_size[0];
  }
  if (std::min(a.out_rows, a.out_columns) < 0 || std::max(a.out_rows, a.out_columns) > kMaxSize) {
    return Invalid("a result of ", a.out_rows, " by ", a.out_columns);
  }
  a.planes = Count(self.shape, 0, self.rank() - spatial);
  a.shape = PooledShape(self, spatial, a.out_rows, a.out_columns);
  if (a.shape.numel() > 0 && (a.in_rows == 0 || a.in_columns == 0))
    return Invalid("an empty operand");
  return a;
}

Status AdaptiveAverage(const Tensor& self, size_t spatial, const Ints& output_size, Tensor& out) {
  if (out.dtype != self.dtype || !IsFloating(self.dtype)) return Unsupported("other than floats");
  XIR_ASSIGN_OR_RETURN(const Adaptive a, MakeAdaptive(self, spatial, output_size));
  XIR_RETURN_IF_ERROR(ResizeResult(out, a.shape));
  if (out.numel() == 0) return {};
  return DispatchFloating(self.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> in;
    OutputArray<T> result;
    XIR_RETURN_IF_ERROR(in.Init(self));
    XIR_RETURN_IF_ERROR(result.Init(out));
    T* to = result.data();
    for (int64_t p = 0; p < a.planes; ++p) {
      const T* plane = in.data() + p * a.in_rows * a.in_columns;
      for (int64_t oy = 0; oy < a.out_rows; ++oy) {
        const Span1d y = AdaptiveSpan(oy, a.in_rows, a.out_rows);
        for (int64_t ox = 0; ox < a.out_columns; ++ox) {
          const Span1d x = AdaptiveSpan(ox, a.in_columns, a.out_columns);
          const auto count = static_cast<T>((y.end - y.begin) * (x.end - x.begin));
          *to++ = SumOf(plane, a.in_columns, y.begin, y.end, x.begin, x.end) / count;
        }
      }
    }
    return result.Commit();
  });
}

Status AdaptiveAvgPool2d(const Tensor& self, const Ints& output_size, Tensor& out) {
  return AdaptiveAverage(self, 2, output_size, out);
}

Status AdaptiveAvgPool1d(const Tensor& self, const Ints& output_size, Tensor& out) {
  return AdaptiveAverage(self, 1, output_size, out);
}

Status AdaptiveMaxPool2d(const Tensor& self, const Ints& output_size, Tensor& out,
                         Tensor& indices) {
  if (out.dtype != self.dtype || !IsFloating(self.dtype) || indices.dtype != DType::kLong) {
    return Unsupported("other than floats");
  }
  XIR_ASSIGN_OR_RETURN(const Adaptive a, MakeAdaptive(self, 2, output_size));
  XIR_RETURN_IF_ERROR(ResizeResult(out, a.shape));
  XIR_RETURN_IF_ERROR(ResizeResult(indices, a.shape));
  if (out.numel() == 0) return {};
  return DispatchFloating(self.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> in;
    OutputArray<T> result;
    OutputArray<int64_t> positions;
    XIR_RETURN_IF_ERROR(in.Init(self));
    XIR_RETURN_IF_ERROR(result.Init(out));
    XIR_RETURN_IF_ERROR(positions.Init(indices));
    T* to = result.data();
    int64_t* position = positions.data();
    for (int64_t p = 0; p < a.planes; ++p) {
      const T* plane = in.data() + p * a.in_rows * a.in_columns;
      for (int64_t oy = 0; oy < a.out_rows; ++oy) {
        const Span1d rows = AdaptiveSpan(oy, a.in_rows, a.out_rows);
        for (int64_t ox = 0; ox < a.out_columns; ++ox) {
          const Span1d columns = AdaptiveSpan(ox, a.in_columns, a.out_columns);
          Largest<T> largest(rows.begin * a.in_columns + columns.begin);
          for (int64_t y = rows.begin; y < rows.end; ++y) {
            for (int64_t x = columns.begin; x < columns.end; ++x) {
              largest.See(plane, y * a.in_columns + x);
            }
          }
          *to++ = largest.value;
          *position++ = largest.at;
        }
      }
    }
    XIR_RETURN_IF_ERROR(positions.Commit());
    return result.Commit();
  });
}

constexpr TypedKernel kPoolingRows[] = {
    MakeKernel<AdaptiveAvgPool2d>("aten::_adaptive_avg_pool2d.out"),
    MakeKernel<AdaptiveAvgPool1d>("aten::adaptive_avg_pool1d.out"),
    MakeKernel<AdaptiveAvgPool2d>("aten::adaptive_avg_pool2d.out"),
    MakeKernel<AdaptiveMaxPool2d>("aten::adaptive_max_pool2d.out"),
    MakeKernel<AvgPool1d>("aten::avg_pool1d.out"),
    MakeKernel<AvgPool2d>("aten::avg_pool2d.out"),
    MakeKernel<MaxPool>("aten::max_pool2d_with_indices.out"),
};

}  // namespace

KernelTable PoolingKernels() { return TableOf<kPoolingRows>(); }

}  // namespace xir::kernels
