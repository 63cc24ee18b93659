// Kernels that surround a tensor with more elements.
#include <algorithm>

#include "kernels/families.h"
#include "kernels/limits.h"
#include "kernels/scratch.h"
#include "kernels/view.h"

namespace xir::kernels {
namespace {

// Elements before and behind each dimension; the list is in pairs from the last dimension on.
struct Pads {
  std::array<int64_t, kMaxRank> before{}, behind{};
};

Result<Pads> ReadPads(const Ints& pad, size_t rank) {
  if (pad.size() % 2 != 0 || pad.size() / 2 > rank) {
    return Invalid(pad.size(), " pads for rank ", rank);
  }
  Pads pads;
  for (size_t i = 0; i < pad.size(); ++i) {
    if (pad[i] > kMaxSize || pad[i] < -kMaxSize) return Invalid("a pad of ", pad[i]);
    const size_t dim = rank - 1 - i / 2;
    (i % 2 == 0 ? pads.before : pads.behind)[dim] = pad[i];
  }
  return pads;
}

Result<Shape> PaddedShape(const Tensor& self, const Pads& pads) {
  Shape shape = self.shape;
  for (size_t i = 0; i < shape.rank; ++i) {
    shape[i] += pads.before[i] + pads.behind[i];
    if (shape[i] < 0) return Invalid("pads that take more than there is");
  }
  return shape;
}

// Negative pads cut off.
Status ConstantPad(const Tensor& self, const Ints& pad, const Scalar& value, Tensor& out) {
  if (!SameType(out, self) || !IsNumeric(out.dtype))
    return Unsupported("a copy that changes the dtype");
  XIR_ASSIGN_OR_RETURN(const Pads pads, ReadPads(pad, self.rank()));
  XIR_ASSIGN_OR_RETURN(const Shape shape, PaddedShape(self, pads));
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  FillWithNumber(out, value);
  View from(self), to(out);
  for (size_t i = 0; i < shape.rank; ++i) {
    const int64_t first = std::max<int64_t>(-pads.before[i], 0);
    const int64_t last = self.shape[i] - std::max<int64_t>(-pads.behind[i], 0);
    // Both pads may reach over the same elements.
    const int64_t count = std::max<int64_t>(last - first, 0);
    from.Slice(i, count == 0 ? 0 : first, count, 1);
    to.Slice(i, count == 0 ? 0 : std::max<int64_t>(pads.before[i], 0), count, 1);
  }
  CopyBetween(self, from, out, to);
  return {};
}

// The element of a dimension of `size` that stands for position `at`, which lies beyond its ends.
struct Reflect {
  static int64_t Source(int64_t at, int64_t size) {
    return at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
  }
  // The edge itself is not repeated.
  static bool Fits(int64_t pad, int64_t size) { return pad < size; }
};

struct Replicate {
  static int64_t Source(int64_t at, int64_t size) { return std::clamp<int64_t>(at, 0, size - 1); }
  static bool Fits(int64_t, int64_t size) { return size > 0; }
};

template <typename Rule, size_t kSpatial>
Status PadByRule(const Tensor& self, const Ints& pad, Tensor& out) {
  if (!SameType(out, self)) return Unsupported("a copy that changes the dtype");
  const size_t rank = self.rank();
  if ((rank != kSpatial + 1 && rank != kSpatial + 2) || pad.size() != 2 * kSpatial) {
    return Invalid(pad.size(), " pads for rank ", rank);
  }
  XIR_ASSIGN_OR_RETURN(const Pads pads, ReadPads(pad, rank));
  XIR_ASSIGN_OR_RETURN(const Shape shape, PaddedShape(self, pads));
  for (size_t i = rank - kSpatial; i < rank; ++i) {
    if (pads.before[i] < 0 || pads.behind[i] < 0) return Unsupported("negative pads");
    if (!Rule::Fits(std::max(pads.before[i], pads.behind[i]), self.shape[i])) {
      return Invalid("a pad of ", std::max(pads.before[i], pads.behind[i]), " for ", self.shape[i],
                     " elements");
    }
  }
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  if (out.numel() == 0) return {};
  // The rows of the last dimension one by one: offsets of the others, a table of its elements.
  Scratch<int64_t> columns;
  const int64_t width = shape[rank - 1];
  XIR_RETURN_IF_ERROR(columns.Allocate(width));
  const Strides from = self.strides(), to = out.strides();
  for (int64_t x = 0; x < width; ++x) {
    columns.data()[x] =
        Rule::Source(x - pads.before[rank - 1], self.shape[rank - 1]) * from[rank - 1];
  }
  const int64_t rows = out.numel() / width;
  DispatchSize(out.dtype, [&](auto zero) {
    using Element = decltype(zero);
    for (int64_t r = 0; r < rows; ++r) {
      int64_t rest = r, source = 0, target = 0;
      for (size_t i = rank - 1; i-- > 0;) {
        const int64_t at = rest % shape[i];
        rest /= shape[i];
        source += Rule::Source(at - pads.before[i], self.shape[i]) * from[i];
        target += at * to[i];
      }
      for (int64_t x = 0; x < width; ++x) {
        out.as<Element>()[target + x * to[rank - 1]] =
            self.as<Element>()[source + columns.data()[x]];
      }
    }
  });
  return {};
}

constexpr TypedKernel kPaddingRows[] = {
    MakeKernel<ConstantPad>("aten::constant_pad_nd.out"),
    MakeKernel<PadByRule<Reflect, 1>>("aten::reflection_pad1d.out"),
    MakeKernel<PadByRule<Reflect, 2>>("aten::reflection_pad2d.out"),
    MakeKernel<PadByRule<Reflect, 3>>("aten::reflection_pad3d.out"),
    MakeKernel<PadByRule<Replicate, 1>>("aten::replication_pad1d.out"),
    MakeKernel<PadByRule<Replicate, 2>>("aten::replication_pad2d.out"),
    MakeKernel<PadByRule<Replicate, 3>>("aten::replication_pad3d.out"),
};

}  // namespace

KernelTable PaddingKernels() { return TableOf<kPaddingRows>(); }

}  // namespace xir::kernels
