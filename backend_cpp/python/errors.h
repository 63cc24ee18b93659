// Failures between the two languages: a status becomes an exception of Python, and what Python
// raises a status, as nothing may be thrown into the runtime.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <utility>

#include "xir/status.h"

namespace xir::python {

namespace py = pybind11;

[[noreturn]] void Raise(const Status& status);
void Check(const Status& status);

template <typename T>
T Take(Result<T> result) {
  if (!result.ok()) Raise(std::move(result).status());
  return std::move(result).value();
}

// call(), with the interpreter's lock; what Python raises there becomes a status.
Status GuardedPython(const std::function<Status()>& call);

// Whether the user wants an execution to end, by Ctrl-C or another signal whose handler raises.
// Python runs handlers on its main thread, which is the process's first; others need not ask.
bool IsInterrupted();

// XirRuntimeError, XirCancelledError, XirMissingDataError.
void AddErrors(py::module_* module);

}  // namespace xir::python
