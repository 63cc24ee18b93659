#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "verify/graph_verifier.h"
#include "xir/delegate.h"
#include "xir/status.h"
#include "xnnpack/handles.h"
#include "xnnpack/packed_weights.h"

namespace xir {

// Sizes in memory order; zeros behind the rank.
using PhysicalDims = std::array<size_t, XNN_MAX_TENSOR_DIMS>;

// One XNNPACK graph, ready to run. Its view, the file's constants and the thread pool must outlive
// it.
class XnnDelegate final : public Delegate {
 public:
  // Packs the weights if nobody has, and plans memory for the largest shapes. Delegates that never
  // run at the same time share `workspace`. `weights` are the graph's, and must outlive the
  // delegate. `profile` has XNNPACK look at the clock behind each of its operators.
  static Result<std::unique_ptr<XnnDelegate>> Create(const GraphView& view, PackedGraph* weights,
                                                     std::shared_ptr<xnn_workspace> workspace,
                                                     pthreadpool_t threadpool, bool profile);

  // Runs the graph on the tensors among `args` that its external ids name, and resizes its results
  // to the shapes that follow from its inputs'.
  Status Execute(KernelContext& context, KernelArgs args) override;

  // XNNPACK's operators. They are what it made of the graph's nodes, and count whole microseconds,
  // rounded down.
  Result<std::vector<DelegateOperator>> Operators() const override;
  Status ReadOperatorTimes(std::vector<uint64_t>* microseconds) const override;

 private:
  struct External {
    uint32_t id = 0;
    bool is_output = false;
    size_t rank = 0;
    PhysicalDims dims{};  // as XNNPACK last had them
  };

  XnnDelegate(const GraphView& view, PackedGraph* weights, std::shared_ptr<xnn_workspace> workspace)
      : view_(view), workspace_(std::move(workspace)), weights_(weights) {}
  Result<std::vector<std::string>> OperatorNames() const;
  Status ReshapeInputs(KernelArgs args);
  Status CheckShapes();
  Status ReadOutputShapes();
  Status BindTensors(KernelArgs args);

  const GraphView& view_;
  std::shared_ptr<xnn_workspace> workspace_;
  std::unique_ptr<GraphVerifier> shapes_;  // of the inputs that came; null until others came
  std::vector<External> externals_;
  std::vector<xnn_external_value> pointers_;  // parallel to externals_
  bool reshape_needed_ = true;
  bool setup_needed_ = true;
  WeightsProvider weights_;
  XnnRuntime runtime_;  // reads weights_
};

}  // namespace xir
