// The shared library that XNNPACK comes in.
#pragma once

#include <filesystem>
#include <system_error>

namespace xir {

inline constexpr char kLibraryName[] = "libexecutorch_backend_xnnpack.so";

inline bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace xir
