#include <algorithm>
#include <limits>

#include "kernels/arguments.h"
#include "kernels/kernels.h"
#include "kernels/loop_nest.h"

namespace xir::kernels {
namespace {

// One row of a binary operation; the three branches are loops that the compiler vectorises.
template <typename T, typename Op>
void BinaryRow(T* out, const T* a, const T* b, int64_t count, int64_t step_a, int64_t step_b,
               const Op& op) {
  if (step_a == 1 && step_b == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], b[i]);
  } else if (step_a == 1 && step_b == 0) {
    const T scalar = *b;
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], scalar);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i * step_a], b[i * step_b]);
  }
}

template <typename T, typename Op>
Status BinaryAs(const Tensor& a, const Tensor& b, Tensor& out, const Op& op) {
  Shape shape;
  if (!BroadcastShape(a.shape, b.shape, &shape)) return Mismatch(a, b);
  XIR_RETURN_IF_ERROR(out.Resize(shape));
  LoopNest::Strides strides_a, strides_b;
  if (!BroadcastStrides(a, shape, &strides_a) || !BroadcastStrides(b, shape, &strides_b)) {
    return Mismatch(a, b);
  }
  const LoopNest nest(out, {out.strides(), strides_a, strides_b});
  nest.ForEachRow([&](const auto& offset, int64_t count, const auto& step) {
    BinaryRow(out.as<T>() + offset[0], a.as<T>() + offset[1], b.as<T>() + offset[2], count, step[1],
              step[2], op);
  });
  return {};
}

// Runs `op(alpha-scaled)` on operands of one dtype; mixed dtypes are torch's to promote.
template <template <typename> class Op>
Status Binary(KernelArgs args, const Value* alpha) {
  const Tensor& a = TensorArg(args, 0);
  const Tensor& b = TensorArg(args, 1);
  Tensor& out = TensorArg(args, alpha == nullptr ? 2 : 3);
  if (a.dtype != b.dtype || a.dtype != out.dtype) return Unsupported("operands of mixed dtypes");
  switch (out.dtype) {
    case DType::kFloat:
      return BinaryAs<float>(a, b, out, Op<float>(alpha));
    case DType::kLong:
      return BinaryAs<int64_t>(a, b, out, Op<int64_t>(alpha));
    default:
      return Unsupported("a dtype other than float32 and int64");
  }
}

// Integers wrap around, as torch's do.
template <typename T>
struct Wrapping {
  using Type = T;
};
template <>
struct Wrapping<int64_t> {
  using Type = uint64_t;
};

template <typename T>
struct Scaled {
  using U = typename Wrapping<T>::Type;
  explicit Scaled(const Value* value) : alpha(value == nullptr ? T{1} : NumberArg<T>(*value)) {}
  T alpha;
};

template <typename T>
struct AddOp : Scaled<T> {
  using Scaled<T>::Scaled;
  using U = typename Scaled<T>::U;
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(this->alpha) * static_cast<U>(b));
  }
};

template <typename T>
struct SubOp : Scaled<T> {
  using Scaled<T>::Scaled;
  using U = typename Scaled<T>::U;
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(this->alpha) * static_cast<U>(b));
  }
};

template <typename T>
struct MulOp {
  explicit MulOp(const Value*) {}
  using U = typename Wrapping<T>::Type;
  T operator()(T a, T b) const { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }
};

// Elements limited to [lower, upper]; a NaN stays one.
Status ClampTo(const Tensor& in, Tensor& out, float lower, float upper) {
  if (in.dtype != DType::kFloat || out.dtype != DType::kFloat) {
    return Unsupported("a dtype other than float32");
  }
  XIR_RETURN_IF_ERROR(out.Resize(in.shape));
  const LoopNest nest(out, {out.strides(), in.strides(), {}});
  nest.ForEachRow([&](const auto& offset, int64_t count, const auto& step) {
    const float* from = in.as<float>() + offset[1];
    float* to = out.as<float>() + offset[0];
    const auto clamp = [=](float x) {
      const float raised = x < lower ? lower : x;
      return raised > upper ? upper : raised;
    };
    if (step[1] == 1) {
      for (int64_t i = 0; i < count; ++i) to[i] = clamp(from[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = clamp(from[i * step[1]]);
    }
  });
  return {};
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

Status Add(KernelArgs args) { return Binary<AddOp>(args, args[2]); }
Status Sub(KernelArgs args) { return Binary<SubOp>(args, args[2]); }
Status Mul(KernelArgs args) { return Binary<MulOp>(args, nullptr); }

Status Div(KernelArgs args) {
  const Tensor& a = TensorArg(args, 0);
  const Tensor& b = TensorArg(args, 1);
  Tensor& out = TensorArg(args, 2);
  if (a.dtype != DType::kFloat || b.dtype != DType::kFloat || out.dtype != DType::kFloat) {
    return Unsupported("a dtype other than float32");
  }
  return BinaryAs<float>(a, b, out, [](float x, float y) { return x / y; });
}

Status Relu(KernelArgs args) {
  return ClampTo(TensorArg(args, 0), TensorArg(args, 1), 0.0f, kInfinity);
}

Status Hardtanh(KernelArgs args) {
  return ClampTo(TensorArg(args, 0), TensorArg(args, 3), NumberArg<float>(*args[1]),
                 NumberArg<float>(*args[2]));
}

Status Clamp(KernelArgs args) {
  return ClampTo(TensorArg(args, 0), TensorArg(args, 3),
                 args[1]->is_none() ? -kInfinity : NumberArg<float>(*args[1]),
                 args[2]->is_none() ? kInfinity : NumberArg<float>(*args[2]));
}

}  // namespace xir::kernels
