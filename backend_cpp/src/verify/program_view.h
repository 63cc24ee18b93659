// What a verified file looks like to the rest of the runtime. Everything reachable from here is in
// bounds, of the expected type and present where it is needed; readers trust it.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "program_generated.h"
#include "xir/span.h"
#include "xnnpack_generated.h"

namespace xir {

// One XNNPACK graph. `constants[i]` is the data of constant_data[i] (or of the deprecated
// constant_buffer[i]); 0 is no data. `values` finds a value by the id that nodes use.
struct GraphView {
  const graph::XNNGraph* graph = nullptr;
  std::vector<Bytes> constants;
  std::unordered_map<uint32_t, const graph::XValue*> values;
  std::vector<const graph::XNNTensorValue*> externals;  // the values that have an external id
  uint32_t num_args = 0;                                // one more than the largest external id
};

struct PlanView {
  const program::ExecutionPlan* plan = nullptr;
  std::vector<GraphView> delegates;  // by index in plan->delegates()
};

struct ProgramView {
  const program::Program* program = nullptr;
  std::vector<Bytes>
      constants;  // by Tensor.data_buffer_idx, each to the end of its segment; 0 is empty
  std::vector<Bytes> mutable_data;  // likewise, by ExtraTensorInfo.mutable_data_segments_idx 0
  std::unordered_map<std::string_view, Bytes> named_data;
  std::vector<PlanView> plans;
};

inline std::string_view View(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

// Elements of 8 bytes may be misaligned: flatbuffers' own verifier looks only at where a vector
// begins.
template <typename T>
bool IsAligned(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr || reinterpret_cast<uintptr_t>(vector->Data()) % sizeof(T) == 0;
}

// The value's tensor, whichever of the two kinds it is.
inline const graph::XNNTensorValue* TensorOf(const graph::XValue& value) {
  if (const auto* quantized = value.xvalue_union_as_XNNQuantizedTensorValue()) {
    return quantized->tensor_value();
  }
  return value.xvalue_union_as_XNNTensorValue();
}

}  // namespace xir
