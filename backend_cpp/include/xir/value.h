#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "xir/tensor.h"

namespace xir {

struct Value;

struct None {};
// Lists of integers and tensors refer to other values of the method, which may change while it
// runs.
struct IntList {
  std::vector<const Value*> items;
};
struct TensorList {
  std::vector<Value*> items;  // null where an optional tensor is absent
};

// One slot of a method. What it holds is fixed when the method loads; only its content changes.
struct Value {
  std::variant<None, int64_t, bool, double, Tensor, std::string, IntList, std::vector<double>,
               std::vector<bool>, TensorList>
      content;

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&content);
  }
  template <typename T>
  T* get() {
    return std::get_if<T>(&content);
  }
  bool is_none() const { return get<None>() != nullptr; }
};

// "tensor", "int", … for messages.
std::string_view KindName(const Value& value);

}  // namespace xir
