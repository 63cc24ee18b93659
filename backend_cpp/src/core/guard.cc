#include "core/guard.h"

#include <exception>
#include <new>

namespace xir {

Status StatusOfException() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return Status::OutOfMemory();
    } catch (const std::exception& error) {
      return Fail(Code::kInternal, "an exception was thrown: ", error.what());
    } catch (...) {
      return Fail(Code::kInternal, "an exception was thrown that is no std::exception");
    }
  } catch (...) {
    return Status::OutOfMemory();  // there is none to say what it was
  }
}

}  // namespace xir
