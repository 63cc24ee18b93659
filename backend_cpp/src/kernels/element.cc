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

// Whether each number of `from`, loaded as `compute`, is one of `to`.
bool HoldsAll(DType to, DType from, Compute compute) {
  if (from == to || from == DType::kBool) return true;
  if (from == DType::kByte) return to != DType::kChar;
  if (compute == Compute::kFloat) return to != DType::kHalf && to != DType::kBFloat16;
  return to != DType::kByte && ElementSize(from) <= ElementSize(to);
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
  return HoldsAll(to, from, compute) ? nullptr : FunctionsOf(to, compute).narrow;
}

}  // namespace xir::kernels
