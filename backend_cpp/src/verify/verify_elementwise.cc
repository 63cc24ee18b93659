#include <algorithm>

#include "verify/node_checks.h"

namespace xir {
namespace {

Status SameShapeAndType(uint32_t input_id, uint32_t output_id, GraphVerifier* g) {
  XIR_ASSIGN_OR_RETURN(const GraphValue* input, g->Input(input_id));
  return g->OutputLike(output_id, input->dims, *input);
}

}  // namespace

Status VerifyUnary(const graph::XNNNode1x1& node, GraphVerifier* g) {
  XIR_RETURN_IF_ERROR(CheckFlags(node.flags(), 0));
  return SameShapeAndType(node.input_id(), node.output_id(), g);
}

Status VerifyClamp(const graph::XNNNode1x1& node, GraphVerifier* g) { return VerifyUnary(node, g); }

Status VerifyCopy(const graph::XNNNode1x1& node, GraphVerifier* g) { return VerifyUnary(node, g); }

Status VerifySoftmax(const graph::XNNNode1x1& node, GraphVerifier* g) {
  XIR_ASSIGN_OR_RETURN(const GraphValue* input, g->Input(node.input_id()));
  if (input->dims.rank == 0) return Fail(Code::kInvalidProgram, "its operand has rank 0");
  return VerifyUnary(node, g);
}

Status VerifyELU(const graph::XNNELU& node, GraphVerifier* g) {
  XIR_RETURN_IF_ERROR(CheckFlags(node.flags(), 0));
  return SameShapeAndType(node.input_id(), node.output_id(), g);
}

Status VerifyLeakyReLU(const graph::XNNLeakyReLU& node, GraphVerifier* g) {
  XIR_RETURN_IF_ERROR(CheckFlags(node.flags(), 0));
  return SameShapeAndType(node.input_id(), node.output_id(), g);
}

Status VerifyConvert(const graph::XNNNode1x1& node, GraphVerifier* g) {
  XIR_RETURN_IF_ERROR(CheckFlags(node.flags(), 0));
  XIR_ASSIGN_OR_RETURN(const GraphValue* input, g->Input(node.input_id()));
  const GraphValue* output = g->Find(node.output_id());
  if (output == nullptr || output->datatype != xnn_datatype_qdint8) {
    return g->Output(node.output_id(), input->dims);
  }
  if (input->datatype != xnn_datatype_fp32 && input->datatype != xnn_datatype_fp16) {
    return Fail(Code::kInvalidProgram, "only floats are quantised at run time");
  }
  return g->DynamicOutput(node.output_id(), input->dims);
}

Status VerifyBinary(const graph::XNNNode2x1& node, xnn_binary_operator op, GraphVerifier* g) {
  XIR_RETURN_IF_ERROR(CheckFlags(node.flags(), 0));
  XIR_ASSIGN_OR_RETURN(const GraphValue* a, g->Input(node.input1_id()));
  XIR_ASSIGN_OR_RETURN(const GraphValue* b, g->Input(node.input2_id()));
  if (a->datatype != b->datatype) {
    return Fail(Code::kInvalidProgram, "its operands have different datatypes");
  }
  const bool divides = op == xnn_binary_divide || op == xnn_binary_modulus;
  if (divides && a->datatype == xnn_datatype_int32) {
    // The processor traps where the divisor is 0, or -1 below the least integer.
    return Fail(Code::kUnsupported, "integers are not divided");
  }
  Dims dims;
  dims.rank = std::max(a->dims.rank, b->dims.rank);
  for (size_t i = 0; i < dims.rank; ++i) {
    const uint64_t from_a = i < a->dims.rank ? a->dims[a->dims.rank - 1 - i] : 1;
    const uint64_t from_b = i < b->dims.rank ? b->dims[b->dims.rank - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return Fail(Code::kInvalidProgram, "shapes ", a->dims.ToString(), " and ", b->dims.ToString(),
                  " do not broadcast");
    }
    dims[dims.rank - 1 - i] = std::max(from_a, from_b);
  }
  return g->OutputLike(node.output_id(), dims, *a);
}

}  // namespace xir
