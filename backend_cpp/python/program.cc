#include "program.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conversion.h"
#include "errors.h"
#include "fallback.h"
#include "method.h"
#include "state.h"
#include "xir/program.h"

namespace xir::python {
namespace {

class PyProgram {
 public:
  PyProgram(std::shared_ptr<const Program> program, double max_seconds)
      : program_(std::move(program)), max_seconds_(max_seconds) {}

  py::list method_names() const { return ToTexts(program_->method_names()); }
  size_t threads() const { return program_->threads(); }
  size_t packed_bytes() const { return program_->packed_bytes(); }
  // (read, written, remark)
  py::tuple PackedFile() const {
    const PackedFileState state = program_->packed_file();
    return py::make_tuple(state.read, state.written, ToText(state.remark));
  }
  py::dict Metadata(const py::str& name) const {
    const MethodMetadata metadata = Take(program_->method_metadata(ToName(name)));
    py::dict info;
    info["name"] = ToText(metadata.name);
    info["inputs"] = DescribeAll(metadata.inputs);
    info["outputs"] = DescribeAll(metadata.outputs);
    info["num_delegates"] = metadata.num_delegates;
    info["kernel_names"] = ToTexts(metadata.kernel_names);
    info["buffers"] = DescribeAll(metadata.buffers);
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
  std::shared_ptr<const Program> program_;
  double max_seconds_;
};

LoadOptions MakeOptions(size_t threads, uint64_t max_memory, double max_seconds,
                        std::vector<std::string> xnnpack_paths,
                        const std::vector<std::string>& libraries,
                        const std::vector<std::string>& data, std::string packed_weights,
                        uint64_t packed_weights_limit, const py::object& fallback) {
  LoadOptions options;
  auto registry = std::make_shared<KernelRegistry>();
  for (const std::string& library : libraries) Check(registry->LoadLibrary(library));
  options.kernels = std::move(registry);
  for (const std::string& path : data) options.data.push_back(Source::Path(path));
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

std::unique_ptr<PyProgram> Open(const std::string& path, LoadOptions options) {
  const double max_seconds = options.max_seconds;
  const py::gil_scoped_release released;
  return std::make_unique<PyProgram>(Take(Program::Open(path, std::move(options))), max_seconds);
}

std::unique_ptr<PyProgram> FromBytes(const py::buffer& buffer, LoadOptions options) {
  const double max_seconds = options.max_seconds;
  const py::buffer_info info = buffer.request();
  if (info.ndim != 1 || info.strides[0] != info.itemsize) {
    Raise(Fail(Code::kInvalidArgument, "a program is loaded from contiguous bytes"));
  }
  const Bytes bytes(static_cast<const uint8_t*>(info.ptr),
                    static_cast<size_t>(info.size * info.itemsize));
  const py::gil_scoped_release released;
  return std::make_unique<PyProgram>(Take(Program::FromBytes(bytes, std::move(options))),
                                     max_seconds);
}

}  // namespace

void AddProgram(py::module_* module) {
  py::class_<LoadOptions>(*module, "LoadOptions")
      .def(py::init(&MakeOptions), py::kw_only(), py::arg("threads"), py::arg("max_memory"),
           py::arg("max_seconds"), py::arg("xnnpack_paths"), py::arg("libraries"), py::arg("data"),
           py::arg("packed_weights"), py::arg("packed_weights_limit"), py::arg("fallback"));
  py::class_<PyProgram>(*module, "Program")
      .def_property_readonly("method_names", &PyProgram::method_names)
      .def_property_readonly("threads", &PyProgram::threads)
      .def_property_readonly("packed_bytes", &PyProgram::packed_bytes)
      .def_property_readonly("packed_file", &PyProgram::PackedFile)
      .def("metadata", &PyProgram::Metadata, py::arg("name"))
      .def("new_state", &PyProgram::NewState)
      .def("load_method", &PyProgram::LoadMethod, py::arg("name"), py::arg("state"));
  module->def("open", &Open, py::arg("path"), py::arg("options"));
  module->def("from_bytes", &FromBytes, py::arg("buffer"), py::arg("options"));
}

}  // namespace xir::python
