// Kernels whose results are as long as the operand's lines: running sums and products, and
// lines in order.
#include <algorithm>

#include "kernels/families.h"
#include "kernels/lines.h"

namespace xir::kernels {
namespace {

// What has been combined so far, for each element of a line.
struct Sums {
  static constexpr int kStart = 0;
  template <typename T>
  static T Join(T a, T b) {
    return Plus(a, b);
  }
};

struct Products {
  static constexpr int kStart = 1;
  template <typename T>
  static T Join(T a, T b) {
    return Times(a, b);
  }
};

template <typename Operation>
Status Scan(const Tensor& self, int64_t dim, Unused, Tensor& out) {
  if (!IsNumeric(self.dtype) || !IsNumeric(out.dtype)) return Unsupported("elements of this dtype");
  if (IsFloating(self.dtype) && !IsFloating(out.dtype)) return Unsupported("a result in integers");
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  XIR_RETURN_IF_ERROR(ResizeResult(out, self.shape));
  if (out.numel() == 0) return {};  // of lines there may be any number
  const Lines lines(self.shape, at);
  return DispatchNumeric(out.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    using Wide = std::conditional_t<std::is_integral_v<T>, T, double>;
    InputArray<T> in;
    OutputArray<T> result;
    XIR_RETURN_IF_ERROR(in.Init(self));
    XIR_RETURN_IF_ERROR(result.Init(out));
    lines.ForEach([&](int64_t offset, int64_t) {
      Wide joined{Operation::kStart};
      for (int64_t i = 0; i < lines.size; ++i) {
        const auto next = static_cast<Wide>(in.data()[offset + i * lines.inner]);
        joined = Operation::Join(joined, next);
        result.data()[offset + i * lines.inner] = static_cast<T>(joined);
      }
    });
    return result.Commit();
  });
}

template <typename T>
struct Ranked {
  T value;
  int64_t position;
};

// NaNs are the largest, as in torch; equal ones keep their order.
template <typename T>
struct Before {
  bool descending;
  bool operator()(const Ranked<T>& a, const Ranked<T>& b) const {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return descending ? a_nan : b_nan;
    if (a_nan || a.value == b.value) return a.position < b.position;
    return descending ? a.value > b.value : a.value < b.value;
  }
};

// The first `count` elements of each line in order, and where they were.
Status Order(const Tensor& self, size_t dim, int64_t count, bool descending, Tensor& values,
             Tensor& indices) {
  if (!IsNumeric(self.dtype) || values.dtype != self.dtype || indices.dtype != DType::kLong) {
    return Unsupported("another dtype");
  }
  Shape shape = self.shape;
  const Lines from(self.shape, dim);
  if (shape.rank > 0) shape[dim] = count;
  XIR_RETURN_IF_ERROR(ResizeResult(values, shape));
  XIR_RETURN_IF_ERROR(ResizeResult(indices, shape));
  if (values.numel() == 0) return {};
  const Lines to(shape, dim);
  return DispatchNumeric(self.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    InputArray<T> in;
    OutputArray<T> ordered;
    OutputArray<int64_t> positions;
    Scratch<Ranked<T>> line;
    XIR_RETURN_IF_ERROR(in.Init(self));
    XIR_RETURN_IF_ERROR(ordered.Init(values));
    XIR_RETURN_IF_ERROR(positions.Init(indices));
    XIR_RETURN_IF_ERROR(line.Allocate(from.size));
    for (int64_t o = 0; o < from.outer; ++o) {
      for (int64_t n = 0; n < from.inner; ++n) {
        const T* source = in.data() + o * from.size * from.inner + n;
        for (int64_t i = 0; i < from.size; ++i) line.data()[i] = {source[i * from.inner], i};
        std::partial_sort(line.data(), line.data() + count, line.data() + from.size,
                          Before<T>{descending});
        const int64_t first = o * to.size * to.inner + n;
        for (int64_t i = 0; i < count; ++i) {
          ordered.data()[first + i * to.inner] = line.data()[i].value;
          positions.data()[first + i * to.inner] = line.data()[i].position;
        }
      }
    }
    XIR_RETURN_IF_ERROR(positions.Commit());
    return ordered.Commit();
  });
}

Status TopK(const Tensor& self, int64_t k, int64_t dim, bool largest, Unused, Tensor& values,
            Tensor& indices) {
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  const int64_t size = self.rank() == 0 ? 1 : self.shape[at];
  if (k < 0 || k > size || (self.rank() == 0 && k != 1)) return Invalid(k, " elements of ", size);
  return Order(self, at, k, largest, values, indices);
}

Status Sort(const Tensor& self, int64_t dim, bool descending, Tensor& values, Tensor& indices) {
  XIR_ASSIGN_OR_RETURN(const size_t at, WrapDim(dim, self.rank()));
  return Order(self, at, self.rank() == 0 ? 1 : self.shape[at], descending, values, indices);
}

constexpr TypedKernel kScanRows[] = {
    MakeKernel<Scan<Products>>("aten::cumprod.out"),
    MakeKernel<Scan<Sums>>("aten::cumsum.out"),
    MakeKernel<Sort>("aten::sort.values"),
    MakeKernel<TopK>("aten::topk.values"),
};

}  // namespace

KernelTable ScanKernels() { return TableOf<kScanRows>(); }

}  // namespace xir::kernels
