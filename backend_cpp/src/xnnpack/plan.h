#pragma once

#include "verify/graph_view.h"
#include "xir/delegate.h"
#include "xnnpack/packed_weights.h"

namespace xir {

// A verified graph, and its packed weights once the first delegate has been created.
class XnnPlan final : public DelegatePlan {
 public:
  XnnPlan(GraphView view, std::function<void(Bytes)> release, SharedWeights* shared)
      : view_(std::move(view)), weights_(view_, std::move(release), shared) {}

  // Each external value of the graph is the argument of its id: a tensor of that type and shape.
  Result<std::vector<Value*>> Bind(KernelArgs args) const override;

  const GraphView& view() const { return view_; }
  PackedGraph* weights() const { return &weights_; }

 private:
  GraphView view_;
  mutable PackedGraph weights_;
};

}  // namespace xir
