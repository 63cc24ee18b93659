// What numbers of windows stay within, so that sums and products of them do not overflow.
#pragma once

#include <cstdint>

namespace xir::kernels {

// A size, stride, dilation or padding of a window.
inline constexpr int64_t kMaxSize = INT32_MAX;

}  // namespace xir::kernels
