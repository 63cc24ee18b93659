#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "verify/graph_view.h"
#include "xir/status.h"
#include "xnnpack/handles.h"
#include "xnnpack/mirrors/long_chains.h"
#include "xnnpack/mirrors/turned_transposes.h"
#include "xnnpack/mirrors/widened_outputs.h"

namespace xir {

// Turns a verified graph into an XNNPACK subgraph. The subgraph points into the graph's constants,
// and the builder must live until a runtime has been created from it.
class SubgraphBuilder {
 public:
  // Where values are that the graph computes for itself: all in XNNPACK's workspace, or those that
  // are not quantised in memory of the caller, as outputs are. XNNPACK takes no memory for these,
  // but fuses less.
  enum class Inside { kInWorkspace, kAsOutputs };

  // `empty` are the values without an element at the shapes that the runtime is for: XNNPACK gets
  // neither these nor the nodes that compute nothing else.
  explicit SubgraphBuilder(const GraphView& view, Inside inside = Inside::kInWorkspace,
                           std::unordered_set<uint32_t> empty = {})
      : view_(view),
        inside_(inside),
        empty_(std::move(empty)),
        widened_outputs_(WidenedOutputs(view)),
        cuts_(CutsOfLongChains(view)) {
    cuts_.merge(TurnedTransposes(view));
  }

  Status Build();
  xnn_subgraph_t subgraph() const { return subgraph_.get(); }
  // Calls xnn_create_runtime_v4. If that fails, the subgraph must not be used again, and leaks:
  // XNNPACK has freed the constants that it rewrote, and would free them once more with the
  // subgraph (src/runtime.c, src/subgraph.c).
  xnn_status CreateRuntime(xnn_weights_cache_t weights, xnn_workspace_t workspace,
                           pthreadpool_t threadpool, uint32_t flags, xnn_runtime_t* runtime);
  // The index of the node that XNNPACK refused to define, where that is why Build failed.
  std::optional<size_t> refused_node() const { return refused_node_; }
  // Whether XNNPACK got any node.
  bool has_nodes() const { return has_nodes_; }

  // For the Define functions.

  // XNNPACK's id of the file's value `id`; an absent operand stays absent.
  uint32_t Id(uint32_t id) const {
    return id == XNN_INVALID_VALUE_ID ? XNN_INVALID_VALUE_ID : ids_.at(id);
  }
  bool IsEmpty(uint32_t id) const { return empty_.count(id) != 0; }
  xnn_datatype Datatype(uint32_t id) const;
  size_t Rank(uint32_t id) const;
  bool IsWidenedOutput(uint32_t id) const { return widened_outputs_.count(id) != 0; }
  // A value of the file's shape and quantisation of `like`, but internal and of `datatype`.
  xnn_status NewTemporary(uint32_t like, xnn_datatype datatype, uint32_t* id) const;

 private:
  Status DefineValue(const graph::XValue& value);
  xnn_status DefineTensor(const graph::XNNTensorValue& tensor, uint32_t* id);
  // Whether a node computes nothing. Fails where it makes elements of none, as a sum does.
  Result<bool> IsSkipped(const graph::XNode& node) const;
  // Whether the node is a copy inside of the graph, whose readers read what it copies. XNNPACK does
  // that too, but at one of a reader's operands alone (xnn_subgraph_fusion): where both operands
  // are the copy, the other one would have no memory.
  bool TakeAsAlias(const graph::XNode& node);
  // Copies the results of the node that a copy has to follow; the nodes behind read the copies.
  xnn_status CutBehind(const graph::XNode& node);
  xnn_status DefineQuantized(const graph::XNNQuantizedTensorValue& value, uint32_t* id);

  const GraphView& view_;
  const Inside inside_;
  const std::unordered_set<uint32_t> empty_;
  const std::unordered_set<uint32_t> widened_outputs_;
  std::unordered_set<uint32_t> cuts_;
  uint32_t outputs_ = 0;  // that the graph has not, with Inside::kAsOutputs
  XnnSubgraph subgraph_;
  std::optional<size_t> refused_node_;
  bool has_nodes_ = false;
  std::unordered_map<uint32_t, uint32_t> ids_;
  std::deque<std::vector<uint16_t>> bf16_scales_;
};

}  // namespace xir
