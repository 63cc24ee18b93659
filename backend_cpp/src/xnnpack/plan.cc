#include "xnnpack/plan.h"

#include <string>
#include <utility>

#include "xnnpack/api.h"
#include "xnnpack/datatype.h"

namespace xir {
namespace {

// Whether the file's dtype can hold what XNNPACK reads or writes as `datatype`. XNNPACK has no
// int64: an index output is written as int32 and widened in place.
bool Holds(DType dtype, xnn_datatype datatype, bool output) {
  switch (datatype) {
    case xnn_datatype_fp32:
      return dtype == DType::kFloat;
    case xnn_datatype_fp16:
      return dtype == DType::kHalf;
    case xnn_datatype_bf16:
      return dtype == DType::kBFloat16;
    case xnn_datatype_qint8:
      return dtype == DType::kChar || dtype == DType::kQInt8;
    case xnn_datatype_quint8:
      return dtype == DType::kByte || dtype == DType::kQUInt8;
    case xnn_datatype_int32:
      return dtype == DType::kInt || (output && dtype == DType::kLong);
    case xnn_datatype_qint32:
      return dtype == DType::kInt || dtype == DType::kQInt32;
    default:
      return false;
  }
}

// A tensor of rank 0 may be a vector of one element in the graph.
bool SamePhysicalShape(const Tensor& tensor, const graph::XNNTensorValue& external) {
  const size_t rank = external.dims() == nullptr ? 0 : external.dims()->size();
  if (tensor.rank() == 0 && rank == 1) return external.dims()->Get(0) == 1;
  if (tensor.rank() != rank) return false;
  for (size_t i = 0; i < rank; ++i) {
    const auto size = static_cast<uint64_t>(tensor.bound[tensor.dim_order[i]]);
    if (external.dims()->Get(static_cast<flatbuffers::uoffset_t>(i)) != size) return false;
  }
  return true;
}

Status CheckArgument(KernelArgs args, const graph::XNNTensorValue& external, bool output) {
  const uint32_t id = external.external_id();
  if (id >= args.size()) return Fail(Code::kInvalidProgram, "the call has no argument ", id);
  const auto* tensor = args[id]->get<Tensor>();
  if (tensor == nullptr) {
    return Fail(Code::kInvalidProgram, "argument ", id, " is a ", KindName(*args[id]),
                ", not a tensor");
  }
  if (!Holds(tensor->dtype, ToXnnDatatype(external.datatype()), output)) {
    return Fail(Code::kInvalidProgram, "argument ", id, " is a ", Name(tensor->dtype),
                " tensor, but the graph has it as ",
                graph::EnumNameXNNDatatype(external.datatype()));
  }
  if (SamePhysicalShape(*tensor, external)) return {};
  return Fail(Code::kInvalidProgram, "argument ", id, " has another shape in the graph");
}

}  // namespace

Result<std::vector<Value*>> XnnPlan::Bind(KernelArgs args) const {
  std::vector<Value*> written;
  for (const graph::XNNTensorValue* external : view_.externals) {
    const bool output = (external->flags() & XNN_VALUE_FLAG_EXTERNAL_OUTPUT) != 0;
    XIR_RETURN_IF_ERROR(CheckArgument(args, *external, output));
    if (output) written.push_back(args[external->external_id()]);
  }
  return written;
}

}  // namespace xir
