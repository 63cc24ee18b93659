// xir.runtime._native: the C++ API for Python, on NumPy arrays. The exception is the only thing
// that Python adds; the runtime below does not throw.

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "xir/check_graph.h"
#include "xir/program.h"
#include "xir/random.h"

namespace py = pybind11;

namespace {

using xir::Bytes;
using xir::Code;
using xir::DType;
using xir::Fail;
using xir::Shape;
using xir::Status;
using xir::Tensor;
using xir::Value;

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

[[noreturn]] void Raise(const Status& status) {
  if (auto interruption = std::exchange(g_interruption, std::nullopt)) throw *interruption;
  if (status.code() == Code::kCancelled) throw CancelledError(status.message());
  if (status.code() == Code::kMissingData) throw MissingDataError(status.message());
  throw StatusError(status.message());
}

void Check(Status status) {
  if (!status.ok()) Raise(status);
}

template <typename T>
T Take(xir::Result<T> result) {
  if (!result.ok()) Raise(std::move(result).status());
  return std::move(result).value();
}

// Text of a file or of an operating system, which need not be UTF-8.
py::str ToText(std::string_view text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

// A name that a caller gives as the bytes of its text, lone surrogates too: no file has such a
// name, which is for the runtime to say.
std::string ToName(const py::str& name) {
  return py::reinterpret_steal<py::bytes>(
      PyUnicode_AsEncodedString(name.ptr(), "utf-8", "surrogatepass"));
}

// NumPy's type of the same size; types that NumPy lacks travel as bits.
const char* NumpyFormat(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return "f4";
    case DType::kDouble:
      return "f8";
    case DType::kHalf:
      return "f2";
    case DType::kChar:
    case DType::kQInt8:
      return "i1";
    case DType::kShort:
      return "i2";
    case DType::kInt:
    case DType::kQInt32:
      return "i4";
    case DType::kLong:
      return "i8";
    case DType::kBool:
      return "?";
    case DType::kUInt32:
      return "u4";
    case DType::kUInt64:
      return "u8";
    default:
      return xir::ElementSize(dtype) == 2 ? "u2" : "u1";
  }
}

py::tuple ToTuple(const Shape& shape) {
  py::tuple tuple(shape.rank);
  for (size_t i = 0; i < shape.rank; ++i) tuple[i] = shape[i];
  return tuple;
}

py::tuple DimOrder(const Tensor& tensor) {
  py::tuple tuple(tensor.rank());
  for (size_t i = 0; i < tensor.rank(); ++i) tuple[i] = static_cast<int>(tensor.dim_order[i]);
  return tuple;
}

std::vector<py::ssize_t> PhysicalSizes(const Tensor& tensor) {
  const Shape physical = tensor.physical_shape();
  return std::vector<py::ssize_t>(physical.dims.begin(), physical.dims.begin() + physical.rank);
}

// What a caller needs to know of a value: kind, and for a tensor dtype, largest shape and dimension
// order.
py::dict Describe(const xir::ValueInfo& value) {
  py::dict info;
  info["kind"] = std::string(value.kind);
  if (value.kind == "tensor") {
    info["dtype"] = static_cast<int>(value.dtype);
    info["dtype_name"] = std::string(Name(value.dtype));
    info["shape"] = ToTuple(value.shape);
    info["least"] = ToTuple(value.least);
    info["dynamic"] = value.dynamic;
    info["dim_order"] =
        py::tuple(py::cast(std::vector<int>(value.dim_order.begin(), value.dim_order.end())));
  }
  return info;
}

std::vector<py::dict> Describe(const std::vector<xir::ValueInfo>& values) {
  std::vector<py::dict> infos;
  for (const xir::ValueInfo& value : values) infos.push_back(Describe(value));
  return infos;
}

// A copy of a tensor's elements, in memory order.
py::array CopyOut(const Tensor& tensor) {
  return py::array(py::dtype(NumpyFormat(tensor.dtype)), PhysicalSizes(tensor), tensor.data);
}

// (kind, payload) of an output: tensors as (array in memory order, dtype, dim order).
py::object ToPython(const Value& value) {
  if (const auto* tensor = value.get<Tensor>()) {
    if (tensor->data == nullptr && tensor->numel() > 0) {
      Raise(Fail(Code::kInvalidProgram, "an output has no memory"));
    }
    return py::make_tuple(CopyOut(*tensor), static_cast<int>(tensor->dtype), DimOrder(*tensor));
  }
  if (const auto* integer = value.get<int64_t>()) return py::int_(*integer);
  if (const auto* flag = value.get<bool>()) return py::bool_(*flag);
  if (const auto* real = value.get<double>()) return py::float_(*real);
  if (const auto* text = value.get<std::string>()) return ToText(*text);
  if (value.is_none()) return py::none();
  Raise(Fail(Code::kUnsupported, "an output is a ", KindName(value)));
}

// A kernel argument as Python sees it. Tensors are (array over the same memory, dtype, dim order,
// writable, bytes that the memory has).
py::object Borrow(const Value& value);

py::object BorrowTensor(const Tensor& tensor) {
  // The capsule keeps pybind from copying; the memory is the method's and outlives the call.
  py::array array(
      py::dtype(NumpyFormat(tensor.dtype)), PhysicalSizes(tensor), tensor.data,
      py::capsule(tensor.data == nullptr ? static_cast<const void*>(&tensor) : tensor.data,
                  [](void*) {}));
  return py::make_tuple(array, static_cast<int>(tensor.dtype), DimOrder(tensor), tensor.writable,
                        tensor.capacity);
}

py::object Borrow(const Value& value) {
  if (const auto* tensor = value.get<Tensor>()) return BorrowTensor(*tensor);
  if (const auto* list = value.get<xir::TensorList>()) {
    py::list items;
    for (const Value* item : list->items)
      items.append(item == nullptr ? py::none() : Borrow(*item));
    return items;
  }
  if (const auto* list = value.get<xir::IntList>()) {
    py::list items;
    for (const Value* item : list->items) items.append(*item->get<int64_t>());
    return items;
  }
  if (const auto* list = value.get<std::vector<double>>()) return py::cast(*list);
  if (const auto* list = value.get<std::vector<bool>>()) return py::cast(*list);
  return ToPython(value);
}

Shape ToShape(const py::tuple& sizes) {
  if (sizes.size() > xir::kMaxRank) {
    Raise(Fail(Code::kInvalidArgument, "rank ", sizes.size(), " exceeds ", xir::kMaxRank));
  }
  Shape shape;
  shape.rank = sizes.size();
  for (size_t i = 0; i < shape.rank; ++i) shape[i] = sizes[i].cast<int64_t>();
  return shape;
}

// Takes over a tensor that Python computed: (shape, array in memory order).
void StoreTensor(Tensor* tensor, const py::tuple& result) {
  if (!tensor->writable) Raise(Fail(Code::kInvalidArgument, "it writes to read-only memory"));
  const auto array = result[1].cast<py::array>();
  Check(tensor->Resize(ToShape(result[0])));
  if ((array.flags() & py::array::c_style) == 0 ||
      static_cast<size_t>(array.nbytes()) != tensor->nbytes()) {
    Raise(Fail(Code::kInternal, "the fallback's result has ", array.nbytes(), " bytes, not ",
               tensor->nbytes(), " in one piece"));
  }
  if (tensor->nbytes() > 0 && tensor->data == nullptr) {
    Raise(Fail(Code::kInvalidProgram, "a tensor has no memory"));
  }
  // The result may be a view of an operand, whose memory may be the result's.
  if (tensor->nbytes() > 0) std::memmove(tensor->data, array.data(), tensor->nbytes());
}

// Takes over what Python computed for one argument: a tensor, a list of them, or a number.
void StoreResult(Value* value, const py::handle& result) {
  if (auto* tensor = value->get<Tensor>()) {
    StoreTensor(tensor, result.cast<py::tuple>());
  } else if (const auto* list = value->get<xir::TensorList>()) {
    const auto results = result.cast<py::list>();
    if (results.size() != list->items.size()) {
      Raise(Fail(Code::kInternal, "the fallback has ", results.size(), " results, not ",
                 list->items.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (list->items[i] != nullptr) StoreResult(list->items[i], results[i]);
    }
  } else if (auto* flag = value->get<bool>()) {
    *flag = result.cast<bool>();
  } else if (auto* integer = value->get<int64_t>()) {
    *integer = result.cast<int64_t>();
  } else if (auto* real = value->get<double>()) {
    *real = result.cast<double>();
  } else {
    Raise(Fail(Code::kInternal, "the fallback answers for a ", KindName(*value)));
  }
}

// A Python object that may be dropped where the interpreter's lock is not held.
std::shared_ptr<py::object> Share(py::object object) {
  return std::shared_ptr<py::object>(new py::object(std::move(object)), [](py::object* owned) {
    const py::gil_scoped_acquire gil;
    delete owned;
  });
}

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

// call(), with the interpreter's lock. Nothing may be thrown into the runtime, so what Python
// raises becomes a status.
template <typename Call>
auto GuardedPython(const Call& call) -> decltype(call()) {
  const py::gil_scoped_acquire gil;
  try {
    return call();
  } catch (const py::error_already_set& error) {
    return StatusOf(error);
  } catch (const std::exception& error) {
    return Fail(Code::kInvalidArgument, error.what());
  }
}

// `find(name)` returns None or a function of the arguments that returns the results.
xir::KernelProvider MakeProvider(const py::object& find) {
  const auto shared_find = Share(find);
  return [shared_find](std::string_view op) -> xir::Kernel {
    std::shared_ptr<py::object> kernel;
    const Status found = GuardedPython([&]() -> Status {
      py::object found = (*shared_find)(ToText(op));
      if (!found.is_none()) kernel = Share(std::move(found));
      return {};
    });
    if (!found.ok())
      return [message = found.message()](xir::KernelContext&, xir::KernelArgs) {
        return Status(Code::kUnsupported, message);
      };
    if (kernel == nullptr) return {};
    return [kernel](xir::KernelContext&, xir::KernelArgs args) -> Status {
      return GuardedPython([&]() -> Status {
        py::list list;
        for (const Value* value : args) list.append(Borrow(*value));
        for (const py::handle result : py::list((*kernel)(list))) {
          const auto [index, what] = result.cast<std::pair<size_t, py::object>>();
          if (index >= args.size()) {
            return Fail(Code::kInternal, "the fallback answers for argument ", index);
          }
          StoreResult(args[index], what);
        }
        return {};
      });
    };
  };
}

// Whether the user wants an execution to end, by Ctrl-C or another signal whose handler raises.
// Python runs handlers on its main thread, which is the process's first; others need not ask.
bool IsInterrupted() {
  if (gettid() != getpid()) return false;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  g_interruption.emplace();
  return true;
}

// The events as dictionaries by the names of their fields, None for what is not known.
py::list Events(const xir::Profile& profile) {
  constexpr const char* kKinds[] = {"kernel", "delegate", "operator"};
  const auto index = [](size_t value) -> py::object {
    if (value == xir::ProfileEvent::kNone) return py::none();
    return py::int_(value);
  };
  py::list list;
  for (const xir::ProfileEvent& event : profile.events) {
    py::list origins;
    for (const xir::Origin& origin : event.origins) {
      origins.append(py::make_tuple(ToText(origin.file), origin.line, ToText(origin.module),
                                    ToText(origin.op), ToText(origin.name)));
    }
    py::dict fields;
    fields["kind"] = kKinds[static_cast<size_t>(event.kind)];
    fields["name"] = ToText(event.name);
    fields["microkernel"] = ToText(event.microkernel);
    fields["instruction"] = event.instruction;
    fields["delegate"] = index(event.delegate);
    fields["node"] = index(event.node);
    fields["start"] = event.start;
    fields["duration"] = event.duration;
    fields["result_bytes"] = event.result_bytes;
    fields["constant_bytes"] = event.constant_bytes;
    fields["origins"] = std::move(origins);
    list.append(std::move(fields));
  }
  return list;
}

std::string ProfileTable(const std::vector<xir::Profile>& executions, bool by_time, size_t width) {
  return xir::ProfileTable(executions, {by_time, width});
}

// What a buffer is declared as, by the names of an input's fields.
py::dict Describe(const xir::BufferInfo& buffer) {
  py::dict info = Describe(
      xir::ValueInfo{"tensor", buffer.dtype, buffer.shape, buffer.shape, false, buffer.dim_order});
  info["name"] = ToText(buffer.name);
  return info;
}

class PyState {
 public:
  explicit PyState(std::shared_ptr<xir::State> state) : state_(std::move(state)) {}

  const std::shared_ptr<xir::State>& state() const { return state_; }
  py::list buffers() const {
    py::list list;
    for (const xir::BufferInfo& each : state_->buffers()) list.append(Describe(each));
    return list;
  }
  // A copy of a buffer's elements, in memory order.
  py::array Read(const std::string& name) const {
    for (const xir::BufferInfo& info : state_->buffers()) {
      if (info.name != name) continue;
      Tensor tensor;
      tensor.dtype = info.dtype;
      tensor.shape = info.shape;
      std::copy(info.dim_order.begin(), info.dim_order.end(), tensor.dim_order.begin());
      py::array array(py::dtype(NumpyFormat(info.dtype)), PhysicalSizes(tensor));
      void* data = array.mutable_data();
      Check(WithoutLock([&] { return state_->Read(name, data, info.nbytes); }));
      return array;
    }
    Raise(Fail(Code::kNotFound, "there is no buffer '", name, "'"));
  }
  // Contiguous, in memory order.
  void Write(const std::string& name, const py::array& array) {
    const void* data = array.data();
    const auto nbytes = static_cast<size_t>(array.nbytes());
    Check(WithoutLock([&] { return state_->Write(name, data, nbytes); }));
  }
  void Reset() {
    Check(WithoutLock([&] {
      state_->Reset();
      return Status();
    }));
  }

 private:
  // An execution that holds the state may wait for the interpreter's lock, for a kernel in Python.
  template <typename Call>
  static Status WithoutLock(const Call& call) {
    const py::gil_scoped_release released;
    return call();
  }

  std::shared_ptr<xir::State> state_;
};

class PyMethod {
 public:
  PyMethod(std::unique_ptr<xir::Method> method, double max_seconds)
      : default_seconds_(max_seconds), method_(std::move(method)) {}

  py::str name() const { return ToText(method_->name()); }

  // Each input is a number, a string, None, (C-contiguous array in memory order, logical shape), or
  // (address of such elements, logical shape, bytes, the object that keeps them alive).
  // The outputs, and the execution's profile or None.
  py::tuple Execute(const py::list& inputs, bool profile, std::optional<double> max_seconds) {
    if (inputs.size() != method_->num_inputs()) {
      Raise(Fail(Code::kInvalidArgument, "method '", method_->name(), "' takes ",
                 method_->num_inputs(), " inputs, and ", inputs.size(), " were given"));
    }
    const Busy busy(this);
    for (size_t i = 0; i < inputs.size(); ++i) SetInput(i, inputs[i]);
    const Limit limit(method_.get(), max_seconds, default_seconds_);
    Status status;
    py::object profiled = py::none();
    {
      const py::gil_scoped_release released;
      if (profile) {
        auto result = method_->ExecuteProfiled();
        if (result.ok()) {
          const py::gil_scoped_acquire gil;
          profiled = py::cast(std::move(result).value());
        }
        status = std::move(result).status();
      } else {
        status = method_->Execute();
      }
    }
    Check(std::move(status));
    py::list outputs;
    for (size_t i = 0; i < method_->num_outputs(); ++i) outputs.append(Output(i));
    return py::make_tuple(outputs, profiled);
  }

  // Has output `index` left in `array`, contiguous and in memory order, or no longer for None.
  // Whether it is written there in place.
  bool BindOutput(size_t index, const py::object& array) {
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
    const auto binding =
        Take(method_->BindOutput(index, data, static_cast<size_t>(memory.nbytes())));
    bound_[index] = std::move(memory);
    return binding == xir::Method::Binding::kInPlace;
  }

  void Cancel() { method_->Cancel(); }
  PyState state() const { return PyState(method_->state()); }

 private:
  // A second thread waits for the first one's execution, which holds the method but not the
  // interpreter's lock. A kernel that its own execution calls would wait for ever.
  class Busy {
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

  // The limit of one execution, where it has one of its own.
  class Limit {
   public:
    Limit(xir::Method* method, std::optional<double> seconds, double otherwise)
        : method_(*method), own_(seconds.has_value()), otherwise_(otherwise) {
      if (own_) Check(method_.LimitSeconds(*seconds));
    }
    Limit(const Limit&) = delete;
    ~Limit() {
      if (own_) static_cast<void>(method_.LimitSeconds(otherwise_).ok());
    }

   private:
    xir::Method& method_;
    bool own_;
    double otherwise_;
  };

  // One that is bound is a view of the caller's memory, which it keeps alive.
  py::object Output(size_t index) const {
    const Value& value = method_->output(index);
    const auto found = bound_.find(index);
    if (found == bound_.end()) return ToPython(value);
    const auto& tensor = *value.get<Tensor>();
    const py::array view(py::dtype(NumpyFormat(tensor.dtype)), PhysicalSizes(tensor),
                         found->second.data(), found->second);
    return py::make_tuple(view, static_cast<int>(tensor.dtype), DimOrder(tensor));
  }

  void SetInput(size_t index, const py::handle& given) {
    if (given.is_none() || py::isinstance<py::str>(given)) return CheckFixed(index, given);
    if (py::isinstance<py::bool_>(given))
      return Check(method_->SetInput(index, given.cast<bool>()));
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

  // What is no number and no tensor is as it was when the model was exported.
  void CheckFixed(size_t index, const py::handle& given) const {
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

  std::timed_mutex busy_;
  std::atomic<std::thread::id> running_{};  // the thread that has it
  double default_seconds_;
  std::unordered_map<size_t, py::array> bound_;
  std::unique_ptr<xir::Method> method_;
};

class PyProgram {
 public:
  PyProgram(std::shared_ptr<const xir::Program> program, double max_seconds)
      : program_(std::move(program)), max_seconds_(max_seconds) {}

  std::vector<py::str> method_names() const { return ToTexts(program_->method_names()); }
  size_t threads() const { return program_->threads(); }
  size_t packed_bytes() const { return program_->packed_bytes(); }
  // (read, written, remark)
  py::tuple PackedFile() const {
    const xir::PackedFileState state = program_->packed_file();
    return py::make_tuple(state.read, state.written, ToText(state.remark));
  }
  py::dict Metadata(const py::str& name) const {
    const xir::MethodMetadata metadata = Take(program_->method_metadata(ToName(name)));
    py::dict info;
    info["name"] = ToText(metadata.name);
    info["inputs"] = Describe(metadata.inputs);
    info["outputs"] = Describe(metadata.outputs);
    info["num_delegates"] = metadata.num_delegates;
    info["kernel_names"] = ToTexts(metadata.kernel_names);
    py::list buffers;
    for (const xir::BufferInfo& each : metadata.buffers) buffers.append(Describe(each));
    info["buffers"] = buffers;
    return info;
  }
  PyState NewState() const { return PyState(Take(program_->NewState())); }
  std::unique_ptr<PyMethod> LoadMethod(const py::str& text,
                                       const std::optional<PyState>& state) const {
    const std::string name = ToName(text);
    const py::gil_scoped_release released;
    auto method = Take(state.has_value() ? program_->LoadMethod(name, state->state())
                                         : program_->LoadMethod(name));
    return std::make_unique<PyMethod>(std::move(method), max_seconds_);
  }

 private:
  static std::vector<py::str> ToTexts(const std::vector<std::string>& from) {
    std::vector<py::str> texts;
    for (const std::string& each : from) texts.push_back(ToText(each));
    return texts;
  }

  std::shared_ptr<const xir::Program> program_;
  double max_seconds_;
};

xir::LoadOptions MakeOptions(size_t threads, uint64_t max_memory, double max_seconds,
                             std::vector<std::string> xnnpack_paths,
                             const std::vector<std::string>& libraries,
                             const std::vector<std::string>& data, std::string packed_weights,
                             uint64_t packed_weights_limit, const py::object& fallback) {
  xir::LoadOptions options;
  auto registry = std::make_shared<xir::KernelRegistry>();
  for (const std::string& library : libraries) Check(registry->LoadLibrary(library));
  options.kernels = std::move(registry);
  for (const std::string& path : data) options.data.push_back(xir::Source::Path(path));
  options.threads = threads;
  options.max_memory = max_memory;
  options.max_seconds = max_seconds;
  options.interrupted = IsInterrupted;
  options.xnnpack_paths = std::move(xnnpack_paths);
  options.packed_weights = std::move(packed_weights);
  options.packed_weights_limit = packed_weights_limit;
  if (!fallback.is_none()) options.fallback = MakeProvider(fallback);
  return options;
}

std::unique_ptr<PyProgram> Open(const std::string& path, size_t threads, uint64_t max_memory,
                                double max_seconds, std::vector<std::string> xnnpack_paths,
                                const std::vector<std::string>& libraries,
                                const std::vector<std::string>& data, std::string packed_weights,
                                uint64_t packed_weights_limit, const py::object& fallback) {
  auto options = MakeOptions(threads, max_memory, max_seconds, std::move(xnnpack_paths), libraries,
                             data, std::move(packed_weights), packed_weights_limit, fallback);
  const py::gil_scoped_release released;
  return std::make_unique<PyProgram>(Take(xir::Program::Open(path, std::move(options))),
                                     max_seconds);
}

std::unique_ptr<PyProgram> FromBytes(const py::buffer& buffer, size_t threads, uint64_t max_memory,
                                     double max_seconds, std::vector<std::string> xnnpack_paths,
                                     const std::vector<std::string>& libraries,
                                     const std::vector<std::string>& data,
                                     std::string packed_weights, uint64_t packed_weights_limit,
                                     const py::object& fallback) {
  auto options = MakeOptions(threads, max_memory, max_seconds, std::move(xnnpack_paths), libraries,
                             data, std::move(packed_weights), packed_weights_limit, fallback);
  const py::buffer_info info = buffer.request();
  if (info.ndim != 1 || info.strides[0] != info.itemsize) {
    Raise(Fail(Code::kInvalidArgument, "a program is loaded from contiguous bytes"));
  }
  const Bytes bytes(static_cast<const uint8_t*>(info.ptr),
                    static_cast<size_t>(info.size * info.itemsize));
  const py::gil_scoped_release released;
  return std::make_unique<PyProgram>(Take(xir::Program::FromBytes(bytes, std::move(options))),
                                     max_seconds);
}

Bytes ToBytes(const py::bytes& bytes) {
  const std::string_view view = bytes;
  return Bytes(reinterpret_cast<const uint8_t*>(view.data()), view.size());
}

// None, or (index of the node or None, reason).
py::object CheckGraph(const py::bytes& flatbuffer, size_t constant_bytes,
                      const std::unordered_map<std::string, py::bytes>& named_data,
                      const std::vector<std::string>& xnnpack_paths) {
  xir::UnweightedGraph graph{ToBytes(flatbuffer), constant_bytes, {}};
  for (const auto& [name, data] : named_data) graph.named_data.emplace(name, ToBytes(data));
  std::optional<xir::GraphRefusal> refusal;
  {
    const py::gil_scoped_release released;
    refusal = Take(xir::CheckGraph(graph, xnnpack_paths));
  }
  if (!refusal.has_value()) return py::none();
  return py::make_tuple(refusal->node, refusal->reason);
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "The C++ runtime; use xir.runtime.";
  auto& error = py::register_exception<StatusError>(m, "XirRuntimeError", PyExc_RuntimeError);
  error.attr("__module__") = "xir.runtime";
  py::register_exception<CancelledError>(m, "XirCancelledError", error).attr("__module__") =
      "xir.runtime";
  py::register_exception<MissingDataError>(m, "XirMissingDataError", error).attr("__module__") =
      "xir.runtime";
  py::class_<PyState>(m, "State")
      .def_property_readonly("buffers", &PyState::buffers)
      .def("read", &PyState::Read, py::arg("name"))
      .def("write", &PyState::Write, py::arg("name"), py::arg("array"))
      .def("reset", &PyState::Reset);
  py::class_<PyMethod>(m, "Method")
      .def_property_readonly("name", &PyMethod::name)
      .def("execute", &PyMethod::Execute, py::arg("inputs"), py::kw_only(), py::arg("profile"),
           py::arg("max_seconds"))
      .def("bind_output", &PyMethod::BindOutput, py::arg("index"), py::arg("array"))
      .def("cancel", &PyMethod::Cancel)
      .def_property_readonly("state", &PyMethod::state);
  py::class_<xir::Profile>(m, "Profile")
      .def_readonly("method", &xir::Profile::method)
      .def_readonly("duration", &xir::Profile::duration)
      .def_property_readonly("events", &Events);
  m.def("profile_table", &ProfileTable, py::arg("executions"), py::kw_only(), py::arg("by_time"),
        py::arg("width"));
  m.def("profile_trace",
        [](const std::vector<xir::Profile>& executions) { return xir::ProfileTrace(executions); });
  m.def("profile_etdump", [](const std::vector<xir::Profile>& executions) {
    return py::bytes(xir::ProfileEtdump(executions));
  });
  py::class_<PyProgram>(m, "Program")
      .def_property_readonly("method_names", &PyProgram::method_names)
      .def_property_readonly("threads", &PyProgram::threads)
      .def_property_readonly("packed_bytes", &PyProgram::packed_bytes)
      .def_property_readonly("packed_file", &PyProgram::PackedFile)
      .def("metadata", &PyProgram::Metadata, py::arg("name"))
      .def("new_state", &PyProgram::NewState)
      .def("load_method", &PyProgram::LoadMethod, py::arg("name"), py::arg("state"));
  m.def("portable_kernels", &xir::PortableKernelNames);
  m.def("manual_seed", &xir::SeedRandom, py::arg("seed"));
  m.def("open", &Open, py::arg("path"), py::kw_only(), py::arg("threads"), py::arg("max_memory"),
        py::arg("max_seconds"), py::arg("xnnpack_paths"), py::arg("libraries"), py::arg("data"),
        py::arg("packed_weights"), py::arg("packed_weights_limit"), py::arg("fallback"));
  m.def("from_bytes", &FromBytes, py::arg("buffer"), py::kw_only(), py::arg("threads"),
        py::arg("max_memory"), py::arg("max_seconds"), py::arg("xnnpack_paths"),
        py::arg("libraries"), py::arg("data"), py::arg("packed_weights"),
        py::arg("packed_weights_limit"), py::arg("fallback"));
  m.def("check_graph", &CheckGraph, py::arg("flatbuffer"), py::kw_only(), py::arg("constant_bytes"),
        py::arg("named_data"), py::arg("xnnpack_paths"));
}
