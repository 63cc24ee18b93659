#include "xnnpack/backend.h"

#include <string>
#include <utility>

#include "verify/verify_graph.h"
#include "xnnpack/delegate.h"
#include "xnnpack/handles.h"
#include "xnnpack/loader.h"
#include "xnnpack/plan.h"

namespace xir {

Result<std::unique_ptr<const DelegatePlan>> XnnBackend::Prepare(const DelegateData& data) {
  XIR_ASSIGN_OR_RETURN(GraphView view,
                       VerifyGraph(data.bytes, *data.named, {options_.max_memory}, data.budget));
  XIR_RETURN_IF_ERROR(LoadXnnpack(options_.xnnpack_paths));
  auto plan = std::make_unique<XnnPlan>(std::move(view), options_.release, &shared_);
  packed_.Add(&plan->view());
  return std::unique_ptr<const DelegatePlan>(std::move(plan));
}

Result<std::vector<std::unique_ptr<Delegate>>> XnnBackend::Instantiate(
    Span<const PlannedDelegate> planned, bool profile) {
  XIR_ASSIGN_OR_RETURN(pthreadpool_t pool, options_.thread_pool->handle());
  xnn_workspace_t created = nullptr;
  XIR_RETURN_IF_ERROR(CheckXnn(xnn_create_workspace(&created), "create a workspace"));
  const std::shared_ptr<xnn_workspace> workspace(created, XnnDeleter());
  std::vector<std::unique_ptr<Delegate>> delegates;
  std::vector<PackedGraph*> graphs;
  for (const PlannedDelegate& each : planned) {
    const auto& plan = *static_cast<const XnnPlan*>(each.plan);
    graphs.push_back(plan.weights());
    packed_.Load(plan.weights());
    auto delegate = XnnDelegate::Create(plan.view(), plan.weights(), workspace, pool, profile);
    if (!delegate.ok()) {
      return std::move(delegate).status().In("delegate " + std::to_string(each.index));
    }
    delegates.push_back(std::move(delegate).value());
  }
  packed_.Save(graphs);
  return delegates;
}

}  // namespace xir
