// Owners for XNNPACK's handles.
#pragma once

#include <memory>
#include <string_view>

#include "xir/status.h"
#include "xnnpack/api.h"

namespace xir {

struct XnnDeleter {
  void operator()(xnn_subgraph_t handle) const { xnn_delete_subgraph(handle); }
  void operator()(xnn_runtime_t handle) const { xnn_delete_runtime(handle); }
  void operator()(xnn_workspace_t handle) const { xnn_release_workspace(handle); }
  void operator()(pthreadpool_t handle) const { pthreadpool_destroy(handle); }
};
using XnnSubgraph = std::unique_ptr<xnn_subgraph, XnnDeleter>;
using XnnRuntime = std::unique_ptr<xnn_runtime, XnnDeleter>;
using XnnWorkspace = std::unique_ptr<xnn_workspace, XnnDeleter>;
using OwnedPthreadpool = std::unique_ptr<pthreadpool, XnnDeleter>;

std::string_view XnnStatusName(xnn_status status);

// "XNNPACK: <what>: <status>"
Status CheckXnn(xnn_status status, std::string_view what);

}  // namespace xir
