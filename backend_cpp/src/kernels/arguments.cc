#include "kernels/arguments.h"

#include <algorithm>

namespace xir::kernels {

Scalar::Scalar(const Value& value) : Scalar(int64_t{0}) {
  if (const auto* integer = value.get<int64_t>()) {
    *this = Scalar(*integer);
  } else if (const auto* flag = value.get<bool>()) {
    *this = Scalar(*flag);
  } else {
    *this = Scalar(*value.get<double>());
  }
}

double Argument<double>::Get(Value& value) {
  if (const auto* real = value.get<double>()) return *real;
  if (const auto* integer = value.get<int64_t>()) return static_cast<double>(*integer);
  return *value.get<bool>() ? 1.0 : 0.0;
}

Ints Argument<Ints>::Get(Value& value) {
  Ints ints;
  for (const Value* item : value.get<IntList>()->items) ints.push_back(*item->get<int64_t>());
  return ints;
}

bool internal::HoldsAllTensors(const Value& value) {
  const auto* list = value.get<TensorList>();
  return list != nullptr &&
         std::all_of(list->items.begin(), list->items.end(), [](const Value* item) {
           return item != nullptr && item->get<Tensor>() != nullptr;
         });
}

}  // namespace xir::kernels
