// Profiles of the C interface.

#include <utility>

#include "capi/handles.h"
#include "xir/profile.h"

using namespace xir::capi;
using xir::Code;
using xir::Fail;
using xir::Profile;
using xir::ProfileEvent;

namespace {

xir_code Missing(const char* what, size_t index, size_t count) {
  return Report(Fail(Code::kInvalidArgument, what, " ", index, " of ", count, " does not exist"));
}

// visit(the execution of that index)
template <typename Visit>
xir_code WithExecution(const xir_profile* profile, size_t index, const Visit& visit) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(profile);
    const size_t count = profile->executions.size();
    return index < count ? visit(profile->executions[index]) : Missing("execution", index, count);
  });
}

// visit(the event of that index of that execution)
template <typename Visit>
xir_code WithEvent(const xir_profile* profile, size_t execution, size_t index, const Visit& visit) {
  return WithExecution(profile, execution, [&](const Profile& found) {
    const size_t count = found.events.size();
    return index < count ? visit(found.events[index]) : Missing("event", index, count);
  });
}

xir_event_kind KindOf(ProfileEvent::Kind kind) {
  switch (kind) {
    case ProfileEvent::Kind::kDelegate:
      return XIR_EVENT_DELEGATE;
    case ProfileEvent::Kind::kOperator:
      return XIR_EVENT_OPERATOR;
    default:
      return XIR_EVENT_KERNEL;
  }
}

}  // namespace

xir_code xir_profile_new(xir_profile** profile) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(profile);
    *profile = new xir_profile;
    return XIR_OK;
  });
}

void xir_profile_free(xir_profile* profile) { delete profile; }

xir_code xir_method_execute_profiled(xir_method* method, xir_profile* profile) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(method);
    XIR_REQUIRE(profile);
    std::vector<Profile>& executions = profile->executions;
    if (!executions.empty() && executions[0].method != method->method->name()) {
      return Report(Fail(Code::kInvalidArgument, "the profile is of method '", executions[0].method,
                         "', not of '", method->method->name(), "'"));
    }
    auto execution = method->method->ExecuteProfiled();
    if (!execution.ok()) return Report(std::move(execution).status());
    executions.push_back(std::move(execution).value());
    return XIR_OK;
  });
}

size_t xir_profile_num_executions(const xir_profile* profile) {
  return profile == nullptr ? 0 : profile->executions.size();
}

xir_code xir_profile_execution(const xir_profile* profile, size_t execution, double* microseconds,
                               size_t* num_events) {
  return WithExecution(profile, execution, [&](const Profile& found) {
    if (microseconds != nullptr) *microseconds = found.duration;
    if (num_events != nullptr) *num_events = found.events.size();
    return XIR_OK;
  });
}

xir_code xir_profile_event(const xir_profile* profile, size_t execution, size_t index,
                           xir_event* event) {
  return WithEvent(profile, execution, index, [&](const ProfileEvent& found) -> xir_code {
    XIR_REQUIRE(event);
    static_assert(ProfileEvent::kNone == XIR_NO_INDEX);
    *event = {KindOf(found.kind),   found.name.c_str(),  found.microkernel.c_str(),
              found.instruction,    found.delegate,      found.node,
              found.start,          found.duration,      found.result_bytes,
              found.constant_bytes, found.origins.size()};
    return XIR_OK;
  });
}

xir_code xir_profile_origin(const xir_profile* profile, size_t execution, size_t event,
                            size_t index, xir_origin* origin) {
  return WithEvent(profile, execution, event, [&](const ProfileEvent& found) -> xir_code {
    XIR_REQUIRE(origin);
    if (index >= found.origins.size()) return Missing("origin", index, found.origins.size());
    const xir::Origin& each = found.origins[index];
    *origin = {each.file.c_str(), each.line, each.module.c_str(), each.op.c_str(),
               each.name.c_str()};
    return XIR_OK;
  });
}

xir_code xir_profile_render(xir_profile* profile, xir_profile_format format, const char** bytes,
                            size_t* length) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(profile);
    XIR_REQUIRE(bytes);
    XIR_REQUIRE(length);
    switch (format) {
      case XIR_PROFILE_TABLE:
        profile->rendered = xir::ProfileTable(profile->executions, xir::ProfileTableOptions());
        break;
      case XIR_PROFILE_TRACE:
        profile->rendered = xir::ProfileTrace(profile->executions);
        break;
      case XIR_PROFILE_ETDUMP:
        profile->rendered = xir::ProfileEtdump(profile->executions);
        break;
      case XIR_PROFILE_FORMAT_MAX:
      default:
        return Report(
            Fail(Code::kInvalidArgument, "profiles have no format ", static_cast<int>(format)));
    }
    *bytes = profile->rendered.c_str();
    *length = profile->rendered.size();
    return XIR_OK;
  });
}
