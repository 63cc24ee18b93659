// Images at another size.
#include <algorithm>
#include <cmath>

#include "kernels/families.h"
#include "kernels/scratch.h"

namespace xir::kernels {
namespace {

// One dimension of an image and of its result. `scale` is torch's: operand elements by result
// element (ATen/native/UpSample.h).
struct ResampledAxis {
  int64_t in = 0, out = 0;
  double given_scale = 0.0;  // result by operand; 0 where the sizes say it

  double scale() const {
    return given_scale > 0.0 ? 1.0 / given_scale
                             : static_cast<double>(in) / static_cast<double>(out);
  }
};

struct Resize {
  ResampledAxis rows, columns;
  int64_t planes = 0;
};

// Sizes `out` for an operand [n, c, h, w] and returns the geometry.
Result<Resize> Prepare(const Tensor& input, int64_t rows, int64_t columns, double row_scale,
                       double column_scale, Tensor& out) {
  if (input.rank() != 4) return Invalid("an image of rank ", input.rank());
  if (!IsFloating(input.dtype) || out.dtype != input.dtype) return Unsupported("other than floats");
  if (rows < 1 || columns < 1 || input.shape[2] < 1 || input.shape[3] < 1) {
    return Invalid("shape ", input.shape.ToString(), " as ", rows, " by ", columns);
  }
  Resize resize{{input.shape[2], rows, row_scale}, {input.shape[3], columns, column_scale}};
  resize.planes = input.shape[0] * input.shape[1];
  XIR_RETURN_IF_ERROR(
      ResizeResult(out, MakeShape({input.shape[0], input.shape[1], rows, columns})));
  return resize;
}

// Either the size or the scales are given.
Result<Resize> PrepareEither(const Tensor& input, const std::optional<Ints>& size,
                             const std::optional<Doubles>& scales, Tensor& out) {
  if (input.rank() != 4) return Invalid("an image of rank ", input.rank());
  if (size && !scales && size->size() == 2) {
    return Prepare(input, (*size)[0], (*size)[1], 0.0, 0.0, out);
  }
  if (!scales || size || scales->size() != 2) return Invalid("a size or two scales are needed");
  std::array<int64_t, 2> sizes{};
  for (size_t i = 0; i < 2; ++i) {
    const double wanted = static_cast<double>(input.shape[2 + i]) * (*scales)[i];
    if (!(wanted >= 1.0 && wanted < 0x1p31)) return Invalid("a scale of ", (*scales)[i]);
    sizes[i] = static_cast<int64_t>(wanted);
  }
  return Prepare(input, sizes[0], sizes[1], (*scales)[0], (*scales)[1], out);
}

// A result element is between two of the operand.
template <typename T>
struct Neighbors {
  int64_t low, high;
  T low_weight, high_weight;
};

template <typename T>
Status FindNeighbors(const ResampledAxis& axis, bool align_corners, Scratch<Neighbors<T>>* table) {
  XIR_RETURN_IF_ERROR(table->Allocate(axis.out));
  const T scale =
      align_corners
          ? (axis.out > 1 ? static_cast<T>(axis.in - 1) / static_cast<T>(axis.out - 1) : T{0})
          : static_cast<T>(axis.scale());
  for (int64_t i = 0; i < axis.out; ++i) {
    const T at = align_corners ? scale * static_cast<T>(i)
                               : std::max(T{0}, scale * (static_cast<T>(i) + T{0.5}) - T{0.5});
    const int64_t low = std::clamp(Convert<int64_t>(at), int64_t{0}, axis.in - 1);
    const T part = std::clamp(at - static_cast<T>(low), T{0}, T{1});
    table->data()[i] = {low, std::min(low + 1, axis.in - 1), T{1} - part, part};
  }
  return {};
}

Status Bilinear(const Tensor& input, const Resize& resize, bool align_corners, const Tensor& out) {
  if (out.numel() == 0) return {};
  return DispatchFloating(input.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> in;
    OutputArray<T> result;
    Scratch<Neighbors<T>> rows, columns;
    XIR_RETURN_IF_ERROR(in.Init(input));
    XIR_RETURN_IF_ERROR(result.Init(out));
    XIR_RETURN_IF_ERROR(FindNeighbors(resize.rows, align_corners, &rows));
    XIR_RETURN_IF_ERROR(FindNeighbors(resize.columns, align_corners, &columns));
    T* to = result.data();
    for (int64_t p = 0; p < resize.planes; ++p) {
      const T* plane = in.data() + p * resize.rows.in * resize.columns.in;
      for (int64_t y = 0; y < resize.rows.out; ++y) {
        const Neighbors<T>& row = rows.data()[y];
        const T* upper = plane + row.low * resize.columns.in;
        const T* lower = plane + row.high * resize.columns.in;
        for (int64_t x = 0; x < resize.columns.out; ++x) {
          const Neighbors<T>& column = columns.data()[x];
          *to++ = row.low_weight * (column.low_weight * upper[column.low] +
                                    column.high_weight * upper[column.high]) +
                  row.high_weight * (column.low_weight * lower[column.low] +
                                     column.high_weight * lower[column.high]);
        }
      }
    }
    return result.Commit();
  });
}

Status FindNearest(const ResampledAxis& axis, Scratch<int64_t>* table) {
  XIR_RETURN_IF_ERROR(table->Allocate(axis.out));
  const auto scale = static_cast<float>(axis.scale());
  for (int64_t i = 0; i < axis.out; ++i) {
    const float at = std::floor(static_cast<float>(i) * scale);
    table->data()[i] = std::clamp(Convert<int64_t>(at), int64_t{0}, axis.in - 1);
  }
  return {};
}

Status Nearest(const Tensor& input, const Resize& resize, const Tensor& out) {
  if (out.numel() == 0) return {};
  return DispatchFloating(input.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> in;
    OutputArray<T> result;
    Scratch<int64_t> rows, columns;
    XIR_RETURN_IF_ERROR(in.Init(input));
    XIR_RETURN_IF_ERROR(result.Init(out));
    XIR_RETURN_IF_ERROR(FindNearest(resize.rows, &rows));
    XIR_RETURN_IF_ERROR(FindNearest(resize.columns, &columns));
    T* to = result.data();
    for (int64_t p = 0; p < resize.planes; ++p) {
      const T* plane = in.data() + p * resize.rows.in * resize.columns.in;
      for (int64_t y = 0; y < resize.rows.out; ++y) {
        const T* row = plane + rows.data()[y] * resize.columns.in;
        for (int64_t x = 0; x < resize.columns.out; ++x) *to++ = row[columns.data()[x]];
      }
    }
    return result.Commit();
  });
}

Status BilinearVec(const Tensor& input, const std::optional<Ints>& size, bool align_corners,
                   const std::optional<Doubles>& scales, Tensor& out) {
  XIR_ASSIGN_OR_RETURN(const Resize resize, PrepareEither(input, size, scales, out));
  return Bilinear(input, resize, align_corners, out);
}

Status BilinearSize(const Tensor& self, const Ints& size, bool align_corners,
                    std::optional<double> row_scale, std::optional<double> column_scale,
                    Tensor& out) {
  if (size.size() != 2) return Invalid("a size of ", size.size(), " dimensions");
  XIR_ASSIGN_OR_RETURN(const Resize resize, Prepare(self, size[0], size[1], row_scale.value_or(0.0),
                                                    column_scale.value_or(0.0), out));
  return Bilinear(self, resize, align_corners, out);
}

Status NearestVec(const Tensor& input, const std::optional<Ints>& size,
                  const std::optional<Doubles>& scales, Tensor& out) {
  XIR_ASSIGN_OR_RETURN(const Resize resize, PrepareEither(input, size, scales, out));
  return Nearest(input, resize, out);
}

Status NearestSize(const Tensor& self, const Ints& size, std::optional<double> row_scale,
                   std::optional<double> column_scale, Tensor& out) {
  if (size.size() != 2) return Invalid("a size of ", size.size(), " dimensions");
  XIR_ASSIGN_OR_RETURN(const Resize resize, Prepare(self, size[0], size[1], row_scale.value_or(0.0),
                                                    column_scale.value_or(0.0), out));
  return Nearest(self, resize, out);
}

constexpr TypedKernel kResamplingRows[] = {
    MakeKernel<BilinearSize>("aten::upsample_bilinear2d.out"),
    MakeKernel<BilinearVec>("aten::upsample_bilinear2d.vec_out"),
    MakeKernel<NearestSize>("aten::upsample_nearest2d.out"),
    MakeKernel<NearestVec>("aten::upsample_nearest2d.vec_out"),
};

}  // namespace

KernelTable ResamplingKernels() { return TableOf<kResamplingRows>(); }

}  // namespace xir::kernels
