#include "xir/kernel.h"

#include <algorithm>
#include <iterator>

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

namespace {

// The tensors that arguments are or hold, absent ones left out.
std::vector<Value*> TensorsAmong(KernelArgs args) {
  std::vector<Value*> tensors;
  for (Value* value : args) {
    if (value->get<Tensor>() != nullptr) tensors.push_back(value);
    if (const auto* list = value->get<TensorList>()) {
      for (Value* item : list->items) {
        if (item != nullptr && item->get<Tensor>() != nullptr) tensors.push_back(item);
      }
    }
  }
  return tensors;
}

}  // namespace

Result<std::vector<Value*>> WrittenValues(KernelArgs arguments, KernelArgs results,
                                          KernelArgs repeated) {
  std::vector<Value*> all = TensorsAmong(arguments);
  std::vector<Value*> written = TensorsAmong(results);
  std::sort(all.begin(), all.end());
  for (Value* result : written) {
    const auto [first, last] = std::equal_range(all.begin(), all.end(), result);
    if (last - first > 1) {
      return Fail(Code::kInvalidProgram, "a result is another argument as well");
    }
  }
  const bool numbers = repeated.size() == results.size() &&
                       std::equal(results.begin(), results.end(), repeated.begin());
  const std::vector<Value*> returned = TensorsAmong(repeated);
  const bool are_last = returned.size() <= written.size() && !returned.empty() &&
                        std::equal(returned.rbegin(), returned.rend(), written.rbegin());
  if (!repeated.empty() && !numbers && !are_last) {
    return Fail(Code::kInvalidProgram, "what follows its arguments does not repeat its results");
  }
  std::copy_if(results.begin(), results.end(), std::back_inserter(written),
               [](const Value* result) { return internal::IsNumber(*result); });
  return written;
}

}  // namespace xir::kernels
