#include "xir/check_graph.h"

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "check_graph.h"
#include "errors.h"

namespace xir::python {
namespace {

Bytes ToBytes(const py::bytes& bytes) {
  const std::string_view view = bytes;
  return Bytes(reinterpret_cast<const uint8_t*>(view.data()), view.size());
}

// None, or (index of the node or None, reason).
py::object CheckGraph(const py::bytes& flatbuffer, size_t constant_bytes,
                      const std::unordered_map<std::string, py::bytes>& named_data,
                      const std::vector<std::string>& xnnpack_paths) {
  UnweightedGraph graph{ToBytes(flatbuffer), constant_bytes, {}};
  for (const auto& [name, data] : named_data) graph.named_data.emplace(name, ToBytes(data));
  std::optional<GraphRefusal> refusal;
  {
    const py::gil_scoped_release released;
    refusal = Take(xir::CheckGraph(graph, xnnpack_paths));
  }
  if (!refusal.has_value()) return py::none();
  return py::make_tuple(refusal->node, refusal->reason);
}

}  // namespace

void AddCheckGraph(py::module_* module) {
  module->def("check_graph", &CheckGraph, py::arg("flatbuffer"), py::kw_only(),
              py::arg("constant_bytes"), py::arg("named_data"), py::arg("xnnpack_paths"));
}

}  // namespace xir::python
