// Copies that may change dtype and memory order: the result says to which.
#include "kernels/elementwise.h"
#include "kernels/families.h"

namespace xir::kernels {
namespace {

struct Same {
  template <typename T>
  T operator()(T x) const {
    return x;
  }
};

// Broadcasts to the result.
Status CopyConverted(const Tensor& from, Tensor& out) {
  if (!IsNumeric(from.dtype) || !IsNumeric(out.dtype)) return Unsupported("elements of this dtype");
  if (out.dtype == DType::kBool) return Map<Bool>(Same(), {from}, out);
  // A float16 is a float, an int8 an int64, and so on, before they are what they become.
  return DispatchNumeric(from.dtype,
                         [&](auto zero) { return Map<decltype(zero)>(Same(), {from}, out); });
}

Status ToCopy(const Tensor& self, Unused, Unused, Tensor& out) { return CopyConverted(self, out); }

Status CopyTo(const Tensor& self, const Tensor& src, Tensor& out) {
  Shape shape = src.shape;
  if (!Broadcast(self.shape, &shape) || shape != self.shape) return Mismatch(src.shape, self.shape);
  if (shape == src.shape) return CopyConverted(src, out);
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  Operand from(src);
  if (!BroadcastStrides(src.shape, src.strides(), shape, &from.strides)) {
    return Mismatch(src.shape, shape);
  }
  from.shape = shape;
  return DispatchNumeric(src.dtype,
                         [&](auto zero) { return Map<decltype(zero)>(Same(), {from}, out); });
}

Status Copy(const Tensor& self, const Tensor& src, Unused, Tensor& out) {
  return CopyTo(self, src, out);
}

// In place: what a program does to a buffer that it keeps.
Status CopyInPlace(Tensor& self, const Tensor& src, Unused) {
  const Tensor shape = self;
  return CopyTo(shape, src, self);
}

constexpr TypedKernel kConversionRows[] = {
    MakeKernel<ToCopy>("aten::_to_copy.out"),
    MakeKernel<Copy>("aten::copy.out"),
    MakeKernel<CopyInPlace>("aten::copy_"),
    MakeKernel<ToCopy>("dim_order_ops::_clone_dim_order.out"),
    MakeKernel<ToCopy>("dim_order_ops::_to_dim_order_copy.out"),
};

}  // namespace

KernelTable ConversionKernels() { return TableOf<kConversionRows>(); }

}  // namespace xir::kernels
