// The types of a kernel's parameters, and how each is read from a method's value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "xir/status.h"
#include "xir/value.h"

namespace xir::kernels {

// An int, bool or double: ATen's Scalar.
class Scalar {
 public:
  explicit Scalar(int64_t value) : dtype_(DType::kLong) { content_.integer = value; }
  explicit Scalar(bool value) : dtype_(DType::kBool) { content_.integer = value ? 1 : 0; }
  explicit Scalar(double value) : dtype_(DType::kDouble) { content_.real = value; }
  explicit Scalar(const Value& value);  // of one of these kinds

  DType dtype() const { return dtype_; }
  bool is_floating() const { return dtype_ == DType::kDouble; }
  // One element of dtype() (little-endian: a bool is the first byte of its integer).
  const void* data() const { return &content_; }
  // As an integer or float type. Integers wrap around; a float beyond int64, or a NaN, becomes
  // int64's least value first. As a bool, whether it is other than 0.
  template <typename T>
  T to() const {
    static_assert(std::is_arithmetic_v<T>);
    if (!is_floating()) return static_cast<T>(content_.integer);
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, bool>) {
      return static_cast<T>(content_.real);
    } else {
      const bool fits = content_.real >= -0x1p63 && content_.real < 0x1p63;
      return static_cast<T>(fits ? static_cast<int64_t>(content_.real) : INT64_MIN);
    }
  }

 private:
  union {
    int64_t integer;
    double real;
  } content_;
  DType dtype_;
};

using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

// An argument that the kernel does not look at.
struct Unused {};

// Tensor[] and Tensor?[]; an item is null where it is absent.
class Tensors {
 public:
  explicit Tensors(const TensorList& list) : list_(&list) {}
  size_t size() const { return list_->items.size(); }
  const Tensor* get(size_t i) const {
    return list_->items[i] == nullptr ? nullptr : list_->items[i]->get<Tensor>();
  }

 private:
  const TensorList* list_;
};
class PresentTensors : private Tensors {
 public:
  using Tensors::size;
  using Tensors::Tensors;
  const Tensor& operator[](size_t i) const { return *get(i); }
};
// A list of results.
class OutTensors {
 public:
  explicit OutTensors(TensorList& list) : list_(&list) {}
  size_t size() const { return list_->items.size(); }
  Tensor& operator[](size_t i) const { return *list_->items[i]->get<Tensor>(); }

 private:
  TensorList* list_;
};

// Argument<P> reads a parameter of type P. Accepts: whether a value may be passed for it. kWritten:
// whether the kernel writes it.
template <typename P>
struct Argument;

template <typename T>
struct Argument<const T&> : Argument<T> {};

namespace internal {

inline bool IsNumber(const Value& value) {
  return value.get<int64_t>() != nullptr || value.get<bool>() != nullptr ||
         value.get<double>() != nullptr;
}

bool HoldsAllTensors(const Value& value);

struct Input {
  static constexpr bool kWritten = false;
};

}  // namespace internal

template <>
struct Argument<const Tensor&> : internal::Input {
  static constexpr std::string_view kName = "a tensor";
  static bool Accepts(const Value& value) { return value.get<Tensor>() != nullptr; }
  static const Tensor& Get(Value& value) { return *value.get<Tensor>(); }
};

template <>
struct Argument<Tensor&> {
  static constexpr bool kWritten = true;
  static constexpr std::string_view kName = "a tensor to write";
  static bool Accepts(const Value& value) { return value.get<Tensor>() != nullptr; }
  static Tensor& Get(Value& value) { return *value.get<Tensor>(); }
};

// A tensor that may be absent.
template <>
struct Argument<const Tensor*> : internal::Input {
  static constexpr std::string_view kName = "a tensor or none";
  static bool Accepts(const Value& value) {
    return value.get<Tensor>() != nullptr || value.is_none();
  }
  static const Tensor* Get(Value& value) { return value.get<Tensor>(); }
};

template <>
struct Argument<Tensors> : internal::Input {
  static constexpr std::string_view kName = "a list of tensors";
  static bool Accepts(const Value& value) { return value.get<TensorList>() != nullptr; }
  static Tensors Get(Value& value) { return Tensors(*value.get<TensorList>()); }
};

template <>
struct Argument<PresentTensors> : internal::Input {
  static constexpr std::string_view kName = "a list of tensors, none of them absent";
  static bool Accepts(const Value& value) { return internal::HoldsAllTensors(value); }
  static PresentTensors Get(Value& value) { return PresentTensors(*value.get<TensorList>()); }
};

template <>
struct Argument<OutTensors> {
  static constexpr bool kWritten = true;
  static constexpr std::string_view kName = "a list of tensors to write";
  static bool Accepts(const Value& value) { return internal::HoldsAllTensors(value); }
  static OutTensors Get(Value& value) { return OutTensors(*value.get<TensorList>()); }
};

template <>
struct Argument<int64_t> : internal::Input {
  static constexpr std::string_view kName = "an int";
  static bool Accepts(const Value& value) { return value.get<int64_t>() != nullptr; }
  static int64_t Get(Value& value) { return *value.get<int64_t>(); }
};

template <>
struct Argument<bool> : internal::Input {
  static constexpr std::string_view kName = "a bool";
  static bool Accepts(const Value& value) { return value.get<bool>() != nullptr; }
  static bool Get(Value& value) { return *value.get<bool>(); }
};

template <>
struct Argument<Scalar> : internal::Input {
  static constexpr std::string_view kName = "a number";
  static bool Accepts(const Value& value) { return internal::IsNumber(value); }
  static Scalar Get(Value& value) { return Scalar(value); }
};

// A float; writers may state a whole one as an int.
template <>
struct Argument<double> : internal::Input {
  static constexpr std::string_view kName = "a number";
  static bool Accepts(const Value& value) { return internal::IsNumber(value); }
  static double Get(Value& value);
};

// A number that the kernel computes. Its kind is fixed; the kernel sets its content.
template <>
struct Argument<Value&> {
  static constexpr bool kWritten = true;
  static constexpr std::string_view kName = "a number";
  static bool Accepts(const Value& value) { return internal::IsNumber(value); }
  static Value& Get(Value& value) { return value; }
};

template <>
struct Argument<std::string_view> : internal::Input {
  static constexpr std::string_view kName = "a string";
  static bool Accepts(const Value& value) { return value.get<std::string>() != nullptr; }
  static std::string_view Get(Value& value) { return *value.get<std::string>(); }
};

template <>
struct Argument<Ints> : internal::Input {
  static constexpr std::string_view kName = "a list of ints";
  static bool Accepts(const Value& value) { return value.get<IntList>() != nullptr; }
  static Ints Get(Value& value);
};

template <>
struct Argument<Doubles> : internal::Input {
  static constexpr std::string_view kName = "a list of floats";
  static bool Accepts(const Value& value) { return value.get<Doubles>() != nullptr; }
  static const Doubles& Get(Value& value) { return *value.get<Doubles>(); }
};

template <typename T>
struct Argument<std::optional<T>> : internal::Input {
  static constexpr std::string_view kName = Argument<T>::kName;  // or none
  static bool Accepts(const Value& value) { return value.is_none() || Argument<T>::Accepts(value); }
  static std::optional<T> Get(Value& value) {
    if (value.is_none()) return std::nullopt;
    return Argument<T>::Get(value);
  }
};

template <>
struct Argument<Unused> : internal::Input {
  static constexpr std::string_view kName = "anything";
  static bool Accepts(const Value&) { return true; }
  static Unused Get(Value&) { return {}; }
};

}  // namespace xir::kernels
