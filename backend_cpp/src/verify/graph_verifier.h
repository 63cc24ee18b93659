// The part of the verifier that walks one XNNPACK graph. XNNPACK checks ids and datatypes itself
// when a node is defined; what it takes on trust is checked here: that constants are as large as
// their shapes, that a node's attributes agree with its operands, that every value is written
// before it is read, and that shapes stay small.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <unordered_map>

#include "verify/program_view.h"
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
  uint64_t nbytes = 0;
  bool constant = false;
  bool written = false;  // has content when the node at hand runs

  uint64_t numel() const;
};

class GraphVerifier {
 public:
  GraphVerifier(const GraphView& view, uint64_t max_memory, WorkBudget* budget)
      : view_(view), max_memory_(max_memory), budget_(budget) {}

  Status Run();

  // What nodes ask; each failure names the operand.

  // A value that is neither packed nor quantised by channel, row or block, and has content.
  Result<const GraphValue*> Input(uint32_t id) const;
  // As Input, or a value quantised by row at run time, which only matrix nodes read: each of its
  // rows of `row_rank` trailing dimensions has its own scale.
  Result<const GraphValue*> MatrixInput(uint32_t id, int32_t row_rank) const;
  // A weight of a matrix node, in any datatype.
  Result<const GraphValue*> Filter(uint32_t id, bool must_be_constant) const;
  // Passes where the bias is absent, or has one element for each of `channels`.
  Status Bias(uint32_t id, uint64_t channels, bool must_be_constant) const;
  // The node writes `id` with shape `dims`.
  Status Output(uint32_t id, const Dims& dims);
  // As Output, with the datatype of `like`.
  Status OutputLike(uint32_t id, const Dims& dims, const GraphValue& like);
  // As Output, for a value quantised at run time.
  Status DynamicOutput(uint32_t id, const Dims& dims);

  // Memory that XNNPACK will take for a node beside its values: packed weights, tables of pointers,
  // partial sums. The product of `factors` is its bytes, which count towards the limit together
  // with the values'.
  Status Scratch(std::initializer_list<uint64_t> factors);

  const GraphValue* Find(uint32_t id) const;

 private:
  Status AddValue(const graph::XValue& value);
  Status VerifyExternal(const graph::XNNTensorValue& tensor);
  Status VerifyConstant(const graph::XNNTensorValue& tensor, GraphValue* entry) const;
  Status VerifyQuantization(const graph::XValue& value, const GraphValue& entry) const;
  Status VerifyScales(const flatbuffers::Vector<float>* scales, uint32_t buffer, uint64_t count,
                      uint64_t buffer_element_size) const;
  Status Write(uint32_t id, const Dims& dims, xnn_datatype datatype);
  Status VerifyNode(const graph::XNode& node);

  const GraphView& view_;
  const uint64_t max_memory_;
  WorkBudget* const budget_;
  uint64_t total_ = 0;  // bytes of all values that are not constants, and of the nodes' scratch
  std::unordered_map<uint32_t, GraphValue> values_;
  std::array<bool, 4096> external_used_{};
};

}  // namespace xir
