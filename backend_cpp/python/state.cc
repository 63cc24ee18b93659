#include "state.h"

#include <algorithm>

#include "errors.h"

namespace xir::python {
namespace {

// An execution that holds the state may wait for the interpreter's lock, for a kernel in Python.
template <typename Call>
Status WithoutLock(const Call& call) {
  const py::gil_scoped_release released;
  return call();
}

}  // namespace

py::array PyState::Read(const std::string& name) const {
  for (const BufferInfo& info : state_->buffers()) {
    if (info.name != name) continue;
    Tensor tensor;
    tensor.dtype = info.dtype;
    tensor.shape = info.shape;
    std::copy(info.dim_order.begin(), info.dim_order.end(), tensor.dim_order.begin());
    py::array array = ToArray(tensor, /*data=*/nullptr);
    void* data = array.mutable_data();
    Check(WithoutLock([&] { return state_->Read(name, data, info.nbytes); }));
    return array;
  }
  Raise(Fail(Code::kNotFound, "there is no buffer '", name, "'"));
}

void PyState::Write(const std::string& name, const py::array& array) {
  const void* data = array.data();
  const auto nbytes = static_cast<size_t>(array.nbytes());
  Check(WithoutLock([&] { return state_->Write(name, data, nbytes); }));
}

void PyState::Reset() {
  Check(WithoutLock([&] {
    state_->Reset();
    return Status();
  }));
}

void AddState(py::module_* module) {
  py::class_<PyState>(*module, "State")
      .def_property_readonly("buffers", &PyState::buffers)
      .def("read", &PyState::Read, py::arg("name"))
      .def("write", &PyState::Write, py::arg("name"), py::arg("array"))
      .def("reset", &PyState::Reset);
}

}  // namespace xir::python
