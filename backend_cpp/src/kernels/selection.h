// Which of the portable kernels this build has, as CMake's XIR_KERNELS says.
#pragma once

#include <string_view>

#include "selected_kernels.h"  // written by cmake/kernels.cmake

namespace xir::kernels {

constexpr bool IsSelected(std::string_view name) {
  if (kAllKernels) return true;
  for (const std::string_view selected : kSelectedKernels) {
    if (selected == name) return true;
  }
  return false;
}

}  // namespace xir::kernels
