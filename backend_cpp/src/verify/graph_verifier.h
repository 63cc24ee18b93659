// The part of the verifier that walks one XNNPACK graph. Types, constants and flags of each node
// are those of a generated table (node_rules.h), so XNNPACK sees only what the compiler could have
// built; that shapes agree is up to a function a node (node_checks.h). Every value is written
// before it is read, constants are as large as their shapes, and memory stays within a limit.
//
// The declared shapes are the largest ones. When inputs of other shapes come, the same functions
// follow them through the nodes (Follow) before XNNPACK is asked to: what holds at load holds then.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "verify/graph_view.h"
#include "verify/node_rules.h"
#include "verify/work_budget.h"
#include "xir/status.h"
#include "xnnpack/api.h"

namespace xir {

// Sizes in physical order.
struct Dims {
  size_t rank = 0;
  std::array<uint64_t, XNN_MAX_TENSOR_DIMS> size{};

  uint64_t operator[](size_t i) const { return size[i]; }
  uint64_t& operator[](size_t i) { return size[i]; }
  uint64_t last() const { return size[rank - 1]; }
  bool operator==(const Dims& other) const;
  std::string ToString() const;
};

struct GraphValue {
  const graph::XValue* value = nullptr;
  const graph::XNNTensorValue* tensor = nullptr;
  xnn_datatype datatype = xnn_datatype_invalid;
  Dims dims;
  Dims largest;  // as declared
  uint64_t nbytes = 0;
  uint64_t scale_bytes = 0;  // of its channels' or groups' scales, which its readers look at
  bool constant = false;
  bool written = false;  // has content when the node at hand runs

  uint64_t numel() const;
};

class GraphVerifier {
 public:
  GraphVerifier(const GraphView& view, uint64_t max_memory)
      : view_(view), max_memory_(max_memory), external_used_(view.graph->num_externs()) {}

  // Checks the graph, at its declared shapes.
  Status Run(WorkBudget* budget);

  // Checks that the graph, for which Run has passed, runs on inputs of other shapes. `dims_of`
  // gives the sizes of an external input, which may be 0.
  Status Follow(const std::function<Dims(const graph::XNNTensorValue&)>& dims_of);
  // The values without an element, at the shapes that were followed last.
  std::unordered_set<uint32_t> Empty() const;

  // Called by the functions of the nodes.

  // An operand. It exists and has content.
  const GraphValue& Operand(uint32_t id) const { return values_.at(id); }
  // The node writes `id`, which exists, with shape `dims`.
  Status Output(uint32_t id, const Dims& dims);
  // Whether the shapes being followed differ from the declared ones.
  bool following() const { return following_; }

  // Memory that XNNPACK will allocate for a node in addition to its values: packed weights, tables
  // of pointers, partial sums. The product of `factors` is its bytes, which count towards the limit
  // together with the values'.
  Status Scratch(std::initializer_list<uint64_t> factors);

 private:
  Status AddValue(const graph::XValue& value);
  Status VerifyExternal(const graph::XNNTensorValue& tensor);
  Status VerifyConstant(const graph::XNNTensorValue& tensor, GraphValue* entry) const;
  Status VerifyQuantization(const graph::XValue& value, GraphValue* entry) const;
  Status VerifyScales(const flatbuffers::Vector<float>* scales, uint32_t buffer, uint64_t count,
                      uint64_t buffer_element_size, GraphValue* entry) const;
  Status VerifyNode(const graph::XNode& node);
  Status VerifyOperands(const NodeRules& rules, const NodeOperands& ids) const;
  // Checks that each result of a node with two of them is used, up to an output: XNNPACK removes
  // values that are not (xnn_subgraph_clean_up), and what writes them only where it is all of it.
  Status VerifyPairs() const;
  Status VerifyFilter(const NodeRules& rules, const NodeOperands& ids) const;

  const GraphView& view_;
  const uint64_t max_memory_;
  WorkBudget* budget_ = nullptr;  // while Run runs
  bool following_ = false;
  uint64_t total_ = 0;  // bytes of all values that are not constants, and of the nodes' scratch
  std::unordered_map<uint32_t, GraphValue> values_;
  std::vector<bool> external_used_;  // by external id
};

}  // namespace xir
