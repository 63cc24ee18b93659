#include "xir/machine.h"

#include <algorithm>
#include <cstdio>

#include "core/digest.h"
#include "platform/platform.h"
#include "xnnpack/api.h"
#include "xnnpack/loader.h"

namespace xir {
namespace {

// Build IDs have 16 or 20 bytes; what is longer is code.
constexpr size_t kLongestId = 64;

}  // namespace

Result<std::string> XnnpackBuild(Span<const std::string> paths) {
  XIR_RETURN_IF_ERROR(LoadXnnpack(paths));
  const Bytes build = platform::FindBuild(
      reinterpret_cast<const void*>(XIR_XNNPACK_ADDRESS(xnn_create_runtime_v4)));
  std::string text;
  char part[32];
  if (build.size() > kLongestId) {
    std::snprintf(part, sizeof(part), "%016llx", static_cast<unsigned long long>(Digest(build, 0)));
    return std::string(part);
  }
  for (const uint8_t byte : build) {
    std::snprintf(part, sizeof(part), "%02x", static_cast<unsigned>(byte));
    text += part;
  }
  return text;
}

Status PinToCore(size_t core) {
  if (platform::PinToCore(core)) return {};
  return Fail(Code::kUnsupported, "this thread cannot be kept on core ", core);
}

}  // namespace xir
