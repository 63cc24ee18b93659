#pragma once

#include <type_traits>

namespace xir {

// The least multiple that is not below `count`. The caller knows that there is room for it.
template <typename T>
constexpr T RoundUp(T count, std::common_type_t<T> multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

}  // namespace xir
