// Kernels whose results do not come from tensors' elements.
#include <cmath>

#include "kernels/families.h"
#include "kernels/scratch.h"
#include "kernels/view.h"

namespace xir::kernels {
namespace {

Status Full(const Ints& size, const Scalar& value, Tensor& out) {
  XIR_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(size));
  if (!IsNumeric(out.dtype)) return Unsupported("elements of this dtype");
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  FillWithNumber(out, value);
  return {};
}

Status FullLike(const Tensor& self, const Scalar& value, Unused, Tensor& out) {
  if (!IsNumeric(out.dtype)) return Unsupported("elements of this dtype");
  XIR_RETURN_IF_ERROR(ResizeResult(out, self.shape));
  FillWithNumber(out, value);
  return {};
}

Status Fill(const Tensor& self, const Scalar& value, Tensor& out) {
  return FullLike(self, value, {}, out);
}

Status FillTensor(const Tensor& self, const Tensor& value, Tensor& out) {
  if (value.numel() != 1 || !IsNumeric(value.dtype))
    return Invalid("a fill by other than one number");
  double real = 0.0;
  int64_t integer = 0;
  if (IsFloating(value.dtype)) {
    LoaderOf(value.dtype, Compute::kDouble)(value.data, 1, 1, &real);
    return FullLike(self, Scalar(real), {}, out);
  }
  LoaderOf(value.dtype, Compute::kInt)(value.data, 1, 1, &integer);
  return FullLike(self, Scalar(integer), {}, out);
}

Status Zeros(const Ints& size, Tensor& out) { return Full(size, Scalar(int64_t{0}), out); }
Status Ones(const Ints& size, Tensor& out) { return Full(size, Scalar(int64_t{1}), out); }

// Its elements may be anything; zeros do not depend on what ran before.
Status Empty(const Ints& size, Unused, Tensor& out) { return Zeros(size, out); }

Status ScalarTensor(const Scalar& value, Tensor& out) {
  if (!IsNumeric(out.dtype)) return Unsupported("elements of this dtype");
  XIR_RETURN_IF_ERROR(ResizeResult(out, Shape()));
  FillWithNumber(out, value);
  return {};
}

Status ArangeStart(const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  if (!IsNumeric(out.dtype) || out.dtype == DType::kBool)
    return Unsupported("elements of this dtype");
  const auto from = start.to<double>(), to = end.to<double>(), by = step.to<double>();
  const bool whole = !start.is_floating() && !end.is_floating() && !step.is_floating();
  const double length = std::ceil((to - from) / by);
  // Not a NaN, and what an int64 holds.
  if (!(length >= 0.0 && length < 0x1p62)) {
    return Invalid("numbers from ", from, " to ", to, " by ", by);
  }
  XIR_RETURN_IF_ERROR(ResizeResult(out, MakeShape({static_cast<int64_t>(length)})));
  const int64_t count = out.numel();
  if (whole) {
    Scratch<int64_t> numbers;
    XIR_RETURN_IF_ERROR(numbers.Allocate(count));
    for (int64_t i = 0; i < count; ++i) {
      numbers.data()[i] = Plus(start.to<int64_t>(), Times(i, step.to<int64_t>()));
    }
    StoreAll(numbers.data(), Compute::kInt, out);
  } else {
    Scratch<double> numbers;
    XIR_RETURN_IF_ERROR(numbers.Allocate(count));
    for (int64_t i = 0; i < count; ++i) numbers.data()[i] = from + static_cast<double>(i) * by;
    StoreAll(numbers.data(), Compute::kDouble, out);
  }
  return {};
}

Status Arange(const Scalar& end, Tensor& out) {
  return ArangeStart(Scalar(int64_t{0}), end, Scalar(int64_t{1}), out);
}

constexpr TypedKernel kCreationRows[] = {
    MakeKernel<Arange>("aten::arange.out"),
    MakeKernel<ArangeStart>("aten::arange.start_out"),
    MakeKernel<Empty>("aten::empty.out"),
    MakeKernel<Fill>("aten::fill.Scalar_out"),
    MakeKernel<FillTensor>("aten::fill.Tensor_out"),
    MakeKernel<Full>("aten::full.out"),
    MakeKernel<FullLike>("aten::full_like.out"),
    MakeKernel<Ones>("aten::ones.out"),
    MakeKernel<ScalarTensor>("aten::scalar_tensor.out"),
    MakeKernel<Zeros>("aten::zeros.out"),
    MakeKernel<Empty>("dim_order_ops::_empty_dim_order.out"),
};

}  // namespace

KernelTable CreationKernels() { return TableOf<kCreationRows>(); }

}  // namespace xir::kernels
