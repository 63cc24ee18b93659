// One loaded method for Python, which several threads may call.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "conversion.h"
#include "state.h"
#include "xir/program.h"

namespace xir::python {

class PyMethod {
 public:
  PyMethod(std::unique_ptr<Method> method, double max_seconds)
      : default_seconds_(max_seconds), method_(std::move(method)) {}

  py::str name() const { return ToText(method_->name()); }

  // Each input is a number, a string, None, (C-contiguous array in memory order, logical shape), or
  // (address of such elements, logical shape, bytes, the object that keeps them alive).
  // The outputs, and the execution's profile or None.
  py::tuple Execute(const py::list& inputs, bool profile, std::optional<double> max_seconds);

  // Has output `index` left in `array`, contiguous and in memory order, or no longer for None.
  // Whether it is written there in place.
  bool BindOutput(size_t index, const py::object& array);

  void Cancel() { method_->Cancel(); }
  PyState state() const { return PyState(method_->state()); }

 private:
  class Busy;

  // With the interpreter's lock released; the profile or None.
  py::object Run(bool profile);
  // One that is bound is a view of the caller's memory, which it keeps alive.
  py::object Output(size_t index) const;
  void SetInput(size_t index, const py::handle& given);
  // What is no number and no tensor is as it was when the model was exported.
  void CheckFixed(size_t index, const py::handle& given) const;

  std::timed_mutex busy_;
  std::atomic<std::thread::id> running_{};  // the thread that has it
  double default_seconds_;
  std::unordered_map<size_t, py::array> bound_;
  std::unique_ptr<Method> method_;
};

void AddMethod(py::module_* module);

}  // namespace xir::python
