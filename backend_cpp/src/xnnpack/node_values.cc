#include "xnnpack/node_values.h"

#include <algorithm>

#include "xnnpack/api.h"

namespace xir {
namespace {

// Reads a field of a node's table, where the table has it.
#define XIR_FIELD(field)                                                      \
  template <typename Table>                                                   \
  auto Add_##field(const Table& table, std::vector<uint32_t>* ids, int)       \
      ->decltype(static_cast<void>(table.field())) {                          \
    if (table.field() != XNN_INVALID_VALUE_ID) ids->push_back(table.field()); \
  }                                                                           \
  template <typename Table>                                                   \
  void Add_##field(const Table&, std::vector<uint32_t>*, long) {}
XIR_FIELD(input_id)
XIR_FIELD(input1_id)
XIR_FIELD(input2_id)
XIR_FIELD(input3_id)
XIR_FIELD(input4_id)
XIR_FIELD(input5_id)
XIR_FIELD(filter_id)
XIR_FIELD(bias_id)
XIR_FIELD(output_id)
XIR_FIELD(output_value_id)
XIR_FIELD(output_index_id)
#undef XIR_FIELD

template <typename Table>
NodeValues Read(const Table& table) {
  NodeValues values;
  Add_input_id(table, &values.inputs, 0);
  Add_input1_id(table, &values.inputs, 0);
  Add_input2_id(table, &values.inputs, 0);
  Add_input3_id(table, &values.inputs, 0);
  Add_input4_id(table, &values.inputs, 0);
  Add_input5_id(table, &values.inputs, 0);
  Add_filter_id(table, &values.inputs, 0);
  Add_bias_id(table, &values.inputs, 0);
  Add_output_id(table, &values.outputs, 0);
  Add_output_value_id(table, &values.outputs, 0);
  Add_output_index_id(table, &values.outputs, 0);
  return values;
}

// One table serves concatenations of two to five operands.
size_t MaxInputs(graph::XNodeUnion node) {
  switch (node) {
    case graph::XNodeUnion::XNNConcatenate2:
      return 2;
    case graph::XNodeUnion::XNNConcatenate3:
      return 3;
    case graph::XNodeUnion::XNNConcatenate4:
      return 4;
    default:
      return SIZE_MAX;
  }
}

NodeValues ReadNode(const graph::XNode& node) {
  switch (node.xnode_union_type()) {
#define XIR_NODE(name)               \
  case graph::XNodeUnion::XNN##name: \
    return Read(*node.xnode_union_as_XNN##name());
#define XIR_UNARY(name, op) XIR_NODE(name)
#define XIR_BINARY(name, op) XIR_NODE(name)
#define XIR_REDUCE(name, op) XIR_NODE(name)
#include "xnnpack/node_dispatch.inc"
#undef XIR_UNARY
#undef XIR_BINARY
#undef XIR_REDUCE
#undef XIR_NODE
    default:
      return {};
  }
}

}  // namespace

NodeValues ValuesOf(const graph::XNode& node) {
  NodeValues values = ReadNode(node);
  values.inputs.resize(std::min(values.inputs.size(), MaxInputs(node.xnode_union_type())));
  return values;
}

}  // namespace xir
