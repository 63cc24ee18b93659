#include "errors.h"

#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace xir::python {
namespace {

struct StatusError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CancelledError : StatusError {
  using StatusError::StatusError;
};

struct MissingDataError : StatusError {
  using StatusError::StatusError;
};

// What a kernel in Python raised and is no failure of the program, such as KeyboardInterrupt: the
// call of `execute` that runs the kernel raises it in its turn. By thread, as kernels run on the
// caller's.
thread_local std::optional<py::error_already_set> g_interruption;

// What an exception says, in one line; its class where it cannot say anything.
std::string TextOf(const py::error_already_set& error) {
  std::string text;
  PyObject* said = PyObject_Str(error.value().ptr());
  if (said != nullptr) {
    const auto owned = py::reinterpret_steal<py::str>(said);
    Py_ssize_t size = 0;
    const char* utf8 = PyUnicode_AsUTF8AndSize(said, &size);
    if (utf8 != nullptr) text.assign(utf8, static_cast<size_t>(size));
  }
  PyErr_Clear();
  for (char& each : text) {
    if (each == '\n' || each == '\t') each = ' ';
  }
  const auto* type = reinterpret_cast<const PyTypeObject*>(error.type().ptr());
  return text.empty() ? std::string("a ") + type->tp_name : text;
}

// What Python raised, as a status. Ctrl-C and its like are kept for the caller of `execute`.
Status StatusOf(const py::error_already_set& error) {
  if (!error.matches(PyExc_Exception)) {
    g_interruption = error;
    return Fail(Code::kCancelled, "interrupted");
  }
  if (error.matches(PyExc_MemoryError)) return Status::OutOfMemory();
  return Fail(Code::kInvalidArgument, TextOf(error));
}

}  // namespace

void Raise(const Status& status) {
  if (auto interruption = std::exchange(g_interruption, std::nullopt)) throw *interruption;
  if (status.code() == Code::kCancelled) throw CancelledError(status.message());
  if (status.code() == Code::kMissingData) throw MissingDataError(status.message());
  throw StatusError(status.message());
}

void Check(const Status& status) {
  if (!status.ok()) Raise(status);
}

Status GuardedPython(const std::function<Status()>& call) {
  const py::gil_scoped_acquire gil;
  try {
    return call();
  } catch (const py::error_already_set& error) {
    return StatusOf(error);
  } catch (const std::exception& error) {
    return Fail(Code::kInvalidArgument, error.what());
  }
}

bool IsInterrupted() {
  if (gettid() != getpid()) return false;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  g_interruption.emplace();
  return true;
}

void AddErrors(py::module_* module) {
  auto& error = py::register_exception<StatusError>(*module, "XirRuntimeError", PyExc_RuntimeError);
  auto& cancelled = py::register_exception<CancelledError>(*module, "XirCancelledError", error);
  auto& missing = py::register_exception<MissingDataError>(*module, "XirMissingDataError", error);
  for (py::object each : {py::object(error), py::object(cancelled), py::object(missing)}) {
    each.attr("__module__") = "xir.runtime";
  }
}

}  // namespace xir::python
