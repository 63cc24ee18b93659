#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
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
    uint32_t value = 0;  // of the graph
    bool is_output = false;
    size_t rank = 0;
    PhysicalDims dims{};  // as XNNPACK last had them
  };

  // XNNPACK takes no empty tensors. So where some values are empty, another runtime computes the
  // others.
  struct Part {
    std::unordered_set<uint32_t> empty;  // the values that it is without
    XnnRuntime runtime;                  // null if nothing is left to compute
  };

  XnnDelegate(const GraphView& view, PackedGraph* weights, std::shared_ptr<xnn_workspace> workspace,
              pthreadpool_t threadpool)
      : view_(view), workspace_(std::move(workspace)), threadpool_(threadpool), weights_(weights) {}
  Result<std::vector<std::string>> OperatorNames() const;
  Status ReshapeInputs(KernelArgs args);
  Status CheckShapes();
  Status ReshapeRuntime(xnn_runtime_t runtime);
  // Has part_ be what computes at the shapes that were followed last, where values are empty.
  Status ReshapePart(std::unordered_set<uint32_t> empty);
  Status ReadOutputShapes();
  Status BindTensors(KernelArgs args);
  Status Run();

  const GraphView& view_;
  std::shared_ptr<xnn_workspace> workspace_;
  const pthreadpool_t threadpool_;
  std::unique_ptr<GraphVerifier> shapes_;  // of the inputs that came; null until others came
  std::vector<External> externals_;
  std::vector<xnn_external_value> pointers_;  // parallel to externals_
  bool reshape_needed_ = true;
  bool setup_needed_ = true;
  WeightsProvider weights_;
  XnnRuntime runtime_;  // reads weights_
  Part part_;
  bool is_part_ = false;  // whether part_ computes at the shapes that came last
};

}  // namespace xir
