// What a program's methods keep from one execution to the next, for Python.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <utility>

#include "conversion.h"
#include "xir/program.h"

namespace xir::python {

class PyState {
 public:
  explicit PyState(std::shared_ptr<State> state) : state_(std::move(state)) {}

  const std::shared_ptr<State>& state() const { return state_; }
  py::list buffers() const { return DescribeAll(state_->buffers()); }
  // A copy of a buffer's elements, in memory order.
  py::array Read(const std::string& name) const;
  // Contiguous, in memory order.
  void Write(const std::string& name, const py::array& array);
  void Reset();

 private:
  std::shared_ptr<State> state_;
};

void AddState(py::module_* module);

}  // namespace xir::python
