#include "xnnpack/handles.h"

namespace xir {

std::string_view XnnStatusName(xnn_status status) {
  switch (status) {
    case xnn_status_success:
      return "success";
    case xnn_status_uninitialized:
      return "not initialised";
    case xnn_status_invalid_parameter:
      return "invalid parameter";
    case xnn_status_invalid_state:
      return "invalid state";
    case xnn_status_unsupported_parameter:
      return "unsupported parameter";
    case xnn_status_unsupported_hardware:
      return "unsupported hardware";
    case xnn_status_out_of_memory:
      return "out of memory";
    case xnn_status_reallocation_required:
      return "reallocation required";
    case xnn_status_deprecated:
      return "deprecated";
  }
  return "unknown status";
}

Status CheckXnn(xnn_status status, std::string_view what) {
  if (status == xnn_status_success) return {};
  const Code code =
      status == xnn_status_out_of_memory ? Code::kResource
      : status == xnn_status_unsupported_parameter || status == xnn_status_unsupported_hardware
          ? Code::kUnsupported
          : Code::kInvalidProgram;
  return Fail(code, "XNNPACK refuses to ", what, ": ", XnnStatusName(status));
}

}  // namespace xir
