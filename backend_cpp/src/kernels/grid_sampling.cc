// Samples of images at the points of a grid, whose coordinates go from -1 to 1 over an image
// (ATen/native/GridSamplerUtils.h says how).
#include <algorithm>
#include <cmath>

#include "kernels/families.h"
#include "kernels/scratch.h"

namespace xir::kernels {
namespace {

// The codes that programs have for what lies between elements, and beyond the border.
enum class Interpolation : int64_t { kBilinear, kNearest, kBicubic };
enum class Border : int64_t { kZeros, kClamped, kReflected };

// One dimension of the image.
template <typename T>
struct GridAxis {
  int64_t size;
  Border border;
  bool align_corners;

  // A grid's coordinate as a place among the elements, by products that overflow where eager's do.
  T Place(T coordinate) const {
    const auto n = static_cast<T>(size);
    return align_corners ? (coordinate + 1) * ((n - 1) / 2) : (coordinate + 1) * (n / 2) - T{0.5};
  }

  // A place as the border has it.
  T Within(T place) const {
    const auto last = static_cast<T>(size - 1);
    switch (border) {
      case Border::kZeros:
        return place;
      case Border::kReflected:
        place = align_corners ? Reflect(place, T{0}, last) : Reflect(place, T{-0.5}, last + 1);
        [[fallthrough]];
      default:
        return place > 0 ? std::min(place, last) : T{0};  // NaN is the first element, as in eager
    }
  }

  bool Has(int64_t index) const { return index >= 0 && index < size; }

 private:
  // Mirrored at `low` and at `low + span` until it lies between.
  static T Reflect(T place, T low, T span) {
    if (span == 0) return 0;
    // As eager's vectors compute it (ATen/native/cpu/GridSamplerKernel.cpp): places beyond 2^24
    // spans are other ones than those of the exact remainder.
    const T distance = std::abs(place - low), turn = 2 * span;
    const T rest = distance - std::trunc(distance / turn) * turn;
    return std::min(rest, turn - rest) + low;
  }
};

// The weights of the four elements around a place `t` behind the second: cubic convolution with
// a = -0.75.
template <typename T>
std::array<T, 4> CubicWeights(T t) {
  constexpr T a{-0.75};
  const auto near = [](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

template <typename T>
struct Sampler {
  GridAxis<T> rows, columns;
  Interpolation interpolation;

  // The image at a point; 0 for elements beyond the border.
  T At(const T* plane, T x, T y) const {
    switch (interpolation) {
      case Interpolation::kNearest:
        return Element(plane, std::nearbyint(columns.Within(columns.Place(x))),
                       std::nearbyint(rows.Within(rows.Place(y))));
      case Interpolation::kBilinear:
        return Bilinear(plane, columns.Within(columns.Place(x)), rows.Within(rows.Place(y)));
      default:
        return Bicubic(plane, columns.Place(x), rows.Place(y));
    }
  }

 private:
  T Element(const T* plane, T x, T y) const {
    const auto column = Convert<int64_t>(x), row = Convert<int64_t>(y);
    return columns.Has(column) && rows.Has(row) ? plane[row * columns.size + column] : T{0};
  }

  T Bilinear(const T* plane, T x, T y) const {
    const T left = std::floor(x), top = std::floor(y), right = left + 1, bottom = top + 1;
    return (right - x) * (bottom - y) * Element(plane, left, top) +
           (x - left) * (bottom - y) * Element(plane, right, top) +
           (right - x) * (y - top) * Element(plane, left, bottom) +
           (x - left) * (y - top) * Element(plane, right, bottom);
  }

  T Bicubic(const T* plane, T x, T y) const {
    const T left = std::floor(x), top = std::floor(y);
    const auto across = CubicWeights(x - left), down = CubicWeights(y - top);
    T sum{0};
    for (int i = 0; i < 4; ++i) {
      T line{0};
      for (int k = 0; k < 4; ++k) {
        line += across[k] * Element(plane, columns.Within(left + static_cast<T>(k - 1)),
                                    rows.Within(top + static_cast<T>(i - 1)));
      }
      sum += down[i] * line;
    }
    return sum;
  }
};

Status GridSampler2d(const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t border,
                     bool align_corners, Tensor& out) {
  if (!IsFloating(out.dtype) || !SameType(out, input, grid))
    return Unsupported("other than floats");
  if (input.rank() != 4 || grid.rank() != 4 || grid.shape[0] != input.shape[0] ||
      grid.shape[3] != 2 || input.shape[2] < 1 || input.shape[3] < 1) {
    return Mismatch(input.shape, grid.shape);
  }
  if (interpolation < 0 || interpolation > 2 || border < 0 || border > 2) {
    return Invalid("interpolation ", interpolation, " and padding ", border);
  }
  const int64_t channels = input.shape[1], plane = input.shape[2] * input.shape[3];
  const int64_t points = grid.shape[1] * grid.shape[2];
  XIR_RETURN_IF_ERROR(
      ResizeResult(out, MakeShape({input.shape[0], channels, grid.shape[1], grid.shape[2]})));
  if (out.numel() == 0) return {};
  return DispatchFloating(out.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> in, places;
    OutputArray<T> result;
    XIR_RETURN_IF_ERROR(in.Init(input));
    XIR_RETURN_IF_ERROR(places.Init(grid));
    XIR_RETURN_IF_ERROR(result.Init(out));
    const auto at_border = static_cast<Border>(border);
    const Sampler<T> sampler{{input.shape[2], at_border, align_corners},
                             {input.shape[3], at_border, align_corners},
                             static_cast<Interpolation>(interpolation)};
    T* to = result.data();
    for (int64_t n = 0; n < input.shape[0]; ++n) {
      const T* point = places.data() + n * points * 2;
      for (int64_t c = 0; c < channels; ++c) {
        const T* from = in.data() + (n * channels + c) * plane;
        for (int64_t p = 0; p < points; ++p) {
          *to++ = sampler.At(from, point[2 * p], point[2 * p + 1]);
        }
      }
    }
    return result.Commit();
  });
}

constexpr TypedKernel kGridSamplingRows[] = {
    MakeKernel<GridSampler2d>("aten::grid_sampler_2d.out")};

}  // namespace

KernelTable GridSamplingKernels() { return TableOf<kGridSamplingRows>(); }

}  // namespace xir::kernels
