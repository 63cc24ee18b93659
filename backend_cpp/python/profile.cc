#include "profile.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "conversion.h"
#include "xir/profile.h"

namespace xir::python {
namespace {

// The events as dictionaries by the names of their fields, None for what is not known.
py::list Events(const Profile& profile) {
  constexpr const char* kKinds[] = {"kernel", "delegate", "operator"};
  const auto index = [](size_t value) -> py::object {
    if (value == ProfileEvent::kNone) return py::none();
    return py::int_(value);
  };
  py::list list;
  for (const ProfileEvent& event : profile.events) {
    py::list origins;
    for (const Origin& origin : event.origins) {
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

}  // namespace

void AddProfile(py::module_* module) {
  using Executions = std::vector<Profile>;
  py::class_<Profile>(*module, "Profile")
      .def_readonly("method", &Profile::method)
      .def_readonly("duration", &Profile::duration)
      .def_property_readonly("events", &Events);
  module->def(
      "profile_table",
      [](const Executions& executions, bool by_time, size_t width) {
        return ProfileTable(executions, {by_time, width});
      },
      py::arg("executions"), py::kw_only(), py::arg("by_time"), py::arg("width"));
  module->def("profile_trace",
              [](const Executions& executions) { return ProfileTrace(executions); });
  module->def("profile_etdump",
              [](const Executions& executions) { return py::bytes(ProfileEtdump(executions)); });
}

}  // namespace xir::python
