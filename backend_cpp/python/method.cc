#include "method.h"

#include <pybind11/stl.h>

#include <chrono>
#include <string>

#include "errors.h"

namespace xir::python {
namespace {

// The limit of one execution, where it has one of its own.
class Limit {
 public:
  Limit(Method* method, std::optional<double> seconds, double otherwise)
      : method_(*method), own_(seconds.has_value()), otherwise_(otherwise) {
    if (own_) Check(method_.LimitSeconds(*seconds));
  }
  Limit(const Limit&) = delete;
  ~Limit() {
    if (own_) static_cast<void>(method_.LimitSeconds(otherwise_).ok());
  }

 private:
  Method& method_;
  bool own_;
  double otherwise_;
};

}  // namespace

// A second thread waits for the first one's execution, which holds the method but not the
// interpreter's lock. A kernel that its own execution calls would wait for ever.
class PyMethod::Busy {
 public:
  explicit Busy(PyMethod* method) : method_(*method) {
    if (method_.running_.load() == std::this_thread::get_id()) {
      Raise(Fail(Code::kInvalidArgument, "a kernel runs the method that it is called by"));
    }
    const py::gil_scoped_release released;
    while (!method_.busy_.try_lock_for(std::chrono::milliseconds(40))) {
      if (IsInterrupted()) Raise(Fail(Code::kCancelled, "interrupted"));
    }
    method_.running_ = std::this_thread::get_id();
  }
  Busy(const Busy&) = delete;
  ~Busy() {
    method_.running_ = std::thread::id();
    method_.busy_.unlock();
  }

 private:
  PyMethod& method_;
};

py::tuple PyMethod::Execute(const py::list& inputs, bool profile,
                            std::optional<double> max_seconds) {
  if (inputs.size() != method_->num_inputs()) {
    Raise(Fail(Code::kInvalidArgument, "method '", method_->name(), "' takes ",
               method_->num_inputs(), " inputs, and ", inputs.size(), " were given"));
  }
  const Busy busy(this);
  for (size_t i = 0; i < inputs.size(); ++i) SetInput(i, inputs[i]);
  const Limit limit(method_.get(), max_seconds, default_seconds_);
  const py::object profiled = Run(profile);
  py::list outputs;
  for (size_t i = 0; i < method_->num_outputs(); ++i) outputs.append(Output(i));
  return py::make_tuple(outputs, profiled);
}

py::object PyMethod::Run(bool profile) {
  Status status;
  std::optional<Profile> profiled;
  {
    const py::gil_scoped_release released;
    if (profile) {
      auto result = method_->ExecuteProfiled();
      if (result.ok()) profiled = std::move(result).value();
      status = std::move(result).status();
    } else {
      status = method_->Execute();
    }
  }
  Check(status);
  return py::cast(std::move(profiled));
}

bool PyMethod::BindOutput(size_t index, const py::object& array) {
  const Busy busy(this);
  if (array.is_none()) {
    Take(method_->BindOutput(index, nullptr, 0));
    bound_.erase(index);
    return false;
  }
  auto memory = array.cast<py::array>();
  if ((memory.flags() & py::array::c_style) == 0 || !memory.writeable()) {
    Raise(Fail(Code::kInternal, "output ", index, " is not writable and contiguous"));
  }
  void* data = memory.mutable_data();
  const auto binding = Take(method_->BindOutput(index, data, static_cast<size_t>(memory.nbytes())));
  bound_[index] = std::move(memory);
  return binding == Method::Binding::kInPlace;
}

py::object PyMethod::Output(size_t index) const {
  const Value& value = method_->output(index);
  const auto found = bound_.find(index);
  if (found == bound_.end()) return ToPython(value);
  const auto& tensor = *value.get<Tensor>();
  return WithType(ToArray(tensor, found->second.data(), found->second), tensor);
}

void PyMethod::SetInput(size_t index, const py::handle& given) {
  if (given.is_none() || py::isinstance<py::str>(given)) return CheckFixed(index, given);
  if (py::isinstance<py::bool_>(given)) return Check(method_->SetInput(index, given.cast<bool>()));
  if (py::isinstance<py::int_>(given))
    return Check(method_->SetInput(index, given.cast<int64_t>()));
  if (py::isinstance<py::float_>(given))
    return Check(method_->SetInput(index, given.cast<double>()));
  const auto pair = given.cast<py::tuple>();
  if (py::isinstance<py::int_>(pair[0])) {
    auto* data = reinterpret_cast<void*>(pair[0].cast<uintptr_t>());
    return Check(method_->SetInput(index, data, pair[2].cast<size_t>(), ToShape(pair[1]), true));
  }
  const auto array = pair[0].cast<py::array>();
  if ((array.flags() & py::array::c_style) == 0) {
    Raise(Fail(Code::kInternal, "input ", index, " is not contiguous"));
  }
  const auto nbytes = static_cast<size_t>(array.nbytes());
  Check(method_->SetInput(index, const_cast<void*>(array.data()), nbytes, ToShape(pair[1]),
                          array.writeable()));
}

void PyMethod::CheckFixed(size_t index, const py::handle& given) const {
  const Value& value = method_->input(index);
  if (given.is_none() && value.is_none()) return;
  const auto* text = value.get<std::string>();
  if (text != nullptr && !given.is_none()) {
    if (given.equal(ToText(*text))) return;
    const auto shown = py::repr(given).cast<std::string>();  // without lone surrogates
    Raise(Fail(Code::kInvalidArgument, "input ", index, " was fixed at '", *text,
               "' when the model was exported, and ", shown, " was given"));
  }
  Raise(Fail(Code::kInvalidArgument, "input ", index, " is a ", KindName(value), ", and a ",
             given.is_none() ? "none" : "string", " was given"));
}

void AddMethod(py::module_* module) {
  py::class_<PyMethod>(*module, "Method")
      .def_property_readonly("name", &PyMethod::name)
      .def("execute", &PyMethod::Execute, py::arg("inputs"), py::kw_only(), py::arg("profile"),
           py::arg("max_seconds"))
      .def("bind_output", &PyMethod::BindOutput, py::arg("index"), py::arg("array"))
      .def("cancel", &PyMethod::Cancel)
      .def_property_readonly("state", &PyMethod::state);
}

}  // namespace xir::python
