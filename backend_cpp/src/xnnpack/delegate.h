#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "verify/graph_verifier.h"
#include "verify/program_view.h"
#include "xir/kernel.h"
#include "xir/program.h"
#include "xir/status.h"
#include "xnnpack/handles.h"
#include "xnnpack/packed_weights.h"

namespace xir {

// Sizes in memory order; zeros behind the rank.
using PhysicalDims = std::array<size_t, XNN_MAX_TENSOR_DIMS>;

// One XNNPACK graph, ready to run. Its view, the file's constants and the thread pool must outlive
// it.
class XnnDelegate {
 public:
  // Packs the weights if nobody has, and plans memory for the largest shapes. Delegates that never
  // run at the same time may share `workspace`. `weights` are the graph's, and must
  // outlive the delegate. `profile` has XNNPACK look at the clock behind each of its operators.
  static Result<std::unique_ptr<XnnDelegate>> Create(const GraphView& view, PackedGraph* weights,
                                                     xnn_workspace_t workspace,
                                                     pthreadpool_t threadpool, bool profile);

  // Runs the graph on the tensors among `args` that its external ids name, and resizes its results
  // to the shapes that follow from its inputs'.
  Status Execute(KernelArgs args);

  // XNNPACK's operators in the order in which they run. They are what it made of the graph's nodes.
  Result<std::vector<std::string>> OperatorNames() const;
  // What each of them took in the last execution, in whole microseconds. Both need `profile`.
  Status ReadOperatorTimes(std::vector<uint64_t>* microseconds) const;

 private:
  struct External {
    uint32_t id = 0;
    bool is_output = false;
    size_t rank = 0;
    PhysicalDims dims{};  // as XNNPACK last had them
  };

  XnnDelegate(const GraphView& view, PackedGraph* weights) : view_(view), weights_(weights) {}
  Status ReshapeInputs(KernelArgs args);
  Status CheckShapes();
  Status ReadOutputShapes();
  Status BindTensors(KernelArgs args);

  const GraphView& view_;
  std::unique_ptr<GraphVerifier> shapes_;  // of the inputs that came; null until others came
  std::vector<External> externals_;
  std::vector<xnn_external_value> pointers_;  // parallel to externals_
  bool reshape_needed_ = true;
  bool setup_needed_ = true;
  WeightsProvider weights_;
  XnnRuntime runtime_;  // reads weights_
};

}  // namespace xir
