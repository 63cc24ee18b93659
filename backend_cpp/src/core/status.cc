#include "xir/status.h"

namespace xir {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kInvalidProgram:
      return "invalid program";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kNotFound:
      return "not found";
    case Code::kResource:
      return "resource limit";
    case Code::kInternal:
      return "internal error";
    case Code::kCancelled:
      return "cancelled";
    case Code::kMissingData:
      return "missing data";
  }
  return "error";
}

}  // namespace xir
