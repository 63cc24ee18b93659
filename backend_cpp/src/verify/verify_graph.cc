#include "verify/verify_graph.h"

#include <algorithm>

#include "core/checked.h"
#include "verify/container.h"
#include "verify/flatbuffer.h"
#include "verify/graph_verifier.h"

namespace xir {
namespace {

// XNNPACK reserves a value for each external id, so ExecuTorch bounds them.
constexpr uint32_t kMaxExternals = 4096;
constexpr size_t kFlatbufferAlignment = 16;

Result<Bytes> ConstantBytes(const graph::ConstantDataOffset& entry, Bytes region,
                            const NamedData& named, WorkBudget* budget) {
  if (entry.named_key() != nullptr) {
    XIR_RETURN_IF_ERROR(budget->Charge(entry.named_key()));
    const Bytes* found = named.Find(View(entry.named_key()));
    if (found == nullptr) {
      return Fail(Code::kMissingData, "its data '", View(entry.named_key()), "' is missing");
    }
    return *found;
  }
  if (!Fits(entry.offset(), entry.size(), region.size())) {
    return Fail(Code::kInvalidProgram, "[", entry.offset(), ", +", entry.size(), ") leaves the ",
                region.size(), " bytes of the blob's constants");
  }
  return region.subspan(entry.offset(), entry.size());
}

// Entry 0 means "no data" and is not checked. Constants may overlap, and files of packed weights
// are found by a digest of all of them.
Result<std::vector<Bytes>> ReadConstants(const graph::XNNGraph& graph, Bytes region,
                                         const NamedData& named, WorkBudget* budget) {
  std::vector<Bytes> constants;
  if (const auto* entries = graph.constant_data(); entries != nullptr && entries->size() > 0) {
    constants.resize(entries->size());
    for (flatbuffers::uoffset_t i = 1; i < entries->size(); ++i) {
      auto bytes = ConstantBytes(*entries->Get(i), region, named, budget);
      if (!bytes.ok()) return std::move(bytes).status().In("constant " + std::to_string(i));
      XIR_RETURN_IF_ERROR(budget->Charge(bytes.value().size()));
      constants[i] = bytes.value();
    }
    return constants;
  }
  if (const auto* buffers = graph.constant_buffer(); buffers != nullptr) {
    constants.resize(buffers->size());
    for (flatbuffers::uoffset_t i = 1; i < buffers->size(); ++i) {
      if (const auto* storage = buffers->Get(i)->storage()) {
        XIR_RETURN_IF_ERROR(budget->Charge(storage));
        constants[i] = Bytes(storage->data(), storage->size());
      }
    }
  }
  return constants;
}

}  // namespace

Result<GraphView> VerifyGraph(Bytes blob, const NamedData& named, const VerifyLimits& limits,
                              WorkBudget* budget) {
  XIR_ASSIGN_OR_RETURN(const DelegateBlob parts, ReadDelegateBlob(blob));
  return VerifyGraph(parts, named, limits, budget);
}

Result<GraphView> VerifyGraph(const DelegateBlob& parts, const NamedData& named,
                              const VerifyLimits& limits, WorkBudget* budget) {
  XIR_RETURN_IF_ERROR(budget->Charge(parts.graph.size()));
  if (reinterpret_cast<uintptr_t>(parts.graph.data()) % kFlatbufferAlignment != 0) {
    return Fail(Code::kInvalidProgram, "the graph is not 16-byte aligned in the file");
  }
  flatbuffers::Verifier verifier(parts.graph.data(), parts.graph.size(), kMaxFlatbufferDepth,
                                 static_cast<flatbuffers::uoffset_t>(parts.graph.size() / 4));
  const bool known =
      parts.graph.size() >= 8 && (flatbuffers::BufferHasIdentifier(parts.graph.data(), "XN00") ||
                                  flatbuffers::BufferHasIdentifier(parts.graph.data(), "XN01"));
  if (!known) {
    return Fail(Code::kUnsupported, "its data is no XNNPACK graph of version XN00 or XN01");
  }
  if (parts.graph.size() >= FLATBUFFERS_MAX_BUFFER_SIZE ||
      !verifier.VerifyBuffer<graph::XNNGraph>(nullptr)) {
    return Fail(Code::kInvalidProgram, "the graph's flatbuffer is damaged or truncated");
  }
  GraphView result;
  result.graph = graph::GetXNNGraph(parts.graph.data());
  result.flatbuffer = parts.graph;
  if (result.graph->xvalues() == nullptr || result.graph->xnodes() == nullptr) {
    return Fail(Code::kInvalidProgram, "the graph has no values or no nodes");
  }
  if (result.graph->num_externs() > kMaxExternals) {
    return Fail(Code::kInvalidProgram, "the graph claims ", result.graph->num_externs(),
                " external values");
  }
  // XNNPACK has a value for each.
  XIR_RETURN_IF_ERROR(budget->Charge(result.graph->num_externs(), WorkBudget::kGraphValue));
  XIR_ASSIGN_OR_RETURN(result.constants,
                       ReadConstants(*result.graph, parts.constant_data, named, budget));
  XIR_RETURN_IF_ERROR(GraphVerifier(result, limits.max_memory).Run(budget));
  for (const graph::XValue* value : *result.graph->xvalues()) {
    result.values.emplace(TensorOf(*value)->id_out(), value);
    const uint32_t external = TensorOf(*value)->external_id();
    if (external != XNN_INVALID_VALUE_ID) {
      result.externals.push_back(TensorOf(*value));
      result.num_args = std::max(result.num_args, external + 1);
    }
  }
  return result;
}

}  // namespace xir
