// Reading a kernel's arguments, whose kinds its signature has settled.
#pragma once

#include <vector>

#include "xir/kernel.h"

namespace xir::kernels {

inline Tensor& TensorArg(KernelArgs args, size_t index) { return *args[index]->get<Tensor>(); }

// An int, bool or double as T.
template <typename T>
T NumberArg(const Value& value) {
  if (const auto* integer = value.get<int64_t>()) return static_cast<T>(*integer);
  if (const auto* flag = value.get<bool>()) return static_cast<T>(*flag);
  return static_cast<T>(*value.get<double>());
}

inline std::vector<int64_t> IntsArg(const Value& value) {
  std::vector<int64_t> ints;
  for (const Value* item : value.get<IntList>()->items) ints.push_back(*item->get<int64_t>());
  return ints;
}

inline Status Unsupported(const char* what) { return Fail(Code::kUnsupported, what); }

inline Status Mismatch(const Tensor& a, const Tensor& b) {
  return Fail(Code::kInvalidArgument, "shapes ", a.shape.ToString(), " and ", b.shape.ToString(),
              " do not fit");
}

}  // namespace xir::kernels
