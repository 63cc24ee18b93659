#include "kernels/element.h"

namespace xir::kernels {
namespace {

template <typename Stored, typename T>
void Load(const void* from, int64_t step, int64_t count, void* to) {
  const auto* source = static_cast<const Stored*>(from);
  auto* target = static_cast<T*>(to);
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) target[i] = Convert<T>(source[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = Convert<T>(source[i * step]);
  }
}

template <typename Stored, typename T>
void Store(const void* from, int64_t count, void* to, int64_t step) {
  const auto* source = static_cast<const T*>(from);
  auto* target = static_cast<Stored*>(to);
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) target[i] = Convert<Stored>(source[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i * step] = Convert<Stored>(source[i]);
  }
}

template <typename Stored, typename T>
void Narrow(void* elements, int64_t count) {
  auto* values = static_cast<T*>(elements);
  for (int64_t i = 0; i < count; ++i) values[i] = Convert<T>(Convert<Stored>(values[i]));
}

struct Functions {
  LoadFunction load = nullptr;
  StoreFunction store = nullptr;
  NarrowFunction narrow = nullptr;
};

template <typename Stored>
Functions Of(Compute compute) {
  switch (compute) {
    case Compute::kFloat:
      return {Load<Stored, float>, Store<Stored, float>, Narrow<Stored, float>};
    case Compute::kDouble:
      return {Load<Stored, double>, Store<Stored, double>, Narrow<Stored, double>};
    case Compute::kInt:
      return {Load<Stored, int64_t>, Store<Stored, int64_t>, Narrow<Stored, int64_t>};
    case Compute::kBool:
      return {Load<Stored, Bool>, Store<Stored, Bool>, nullptr};
  }
  return {};
}

Functions FunctionsOf(DType dtype, Compute compute) {
  switch (dtype) {
    case DType::kByte:
      return Of<uint8_t>(compute);
    case DType::kChar:
      return Of<int8_t>(compute);
    case DType::kShort:
      return Of<int16_t>(compute);
    case DType::kInt:
      return Of<int32_t>(compute);
    case DType::kLong:
      return Of<int64_t>(compute);
    case DType::kHalf:
      return Of<Half>(compute);
    case DType::kFloat:
      return Of<float>(compute);
    case DType::kDouble:
      return Of<double>(compute);
    case DType::kBool:
      return Of<Bool>(compute);
    case DType::kBFloat16:
      return Of<BFloat16>(compute);
    default:
      return {};
  }
}

}  // namespace

bool IsNumeric(DType dtype) { return FunctionsOf(dtype, Compute::kFloat).load != nullptr; }

bool IsNative(DType dtype, Compute compute) {
  switch (compute) {
    case Compute::kFloat:
      return dtype == DType::kFloat;
    case Compute::kDouble:
      return dtype == DType::kDouble;
    case Compute::kInt:
      return dtype == DType::kLong;
    case Compute::kBool:
      return dtype == DType::kBool;
  }
  return false;
}

LoadFunction LoaderOf(DType dtype, Compute compute) { return FunctionsOf(dtype, compute).load; }
StoreFunction StorerOf(DType dtype, Compute compute) { return FunctionsOf(dtype, compute).store; }

NarrowFunction NarrowerOf(DType from, DType to, Compute compute) {
  const bool is_half = to == DType::kHalf || to == DType::kBFloat16;
  const bool is_exact =
      from == to || from == DType::kBool || from == DType::kByte ||
      (compute == Compute::kFloat ? !is_half : ElementSize(from) <= ElementSize(to));
  return is_exact ? nullptr : FunctionsOf(to, compute).narrow;
}

}  // namespace xir::kernels
