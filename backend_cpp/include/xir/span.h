#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xir {

// A pointer and a length; std::span is C++20.
template <typename T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  Span(std::vector<std::remove_const_t<T>>& v) : Span(v.data(), v.size()) {}
  Span(const std::vector<std::remove_const_t<T>>& v) : Span(v.data(), v.size()) {}

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](size_t i) const { return data_[i]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr Span subspan(size_t offset, size_t count) const { return Span(data_ + offset, count); }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

using Bytes = Span<const uint8_t>;

}  // namespace xir
