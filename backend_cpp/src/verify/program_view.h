// What a verified file looks like to the rest of the runtime. Everything reachable from here is in
// bounds, of the expected type and present where it is needed; readers trust it.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "data_generated.h"
#include "program_generated.h"
#include "xir/span.h"
#include "xnnpack_generated.h"

namespace xir {

// One XNNPACK graph. `constants[i]` is the data of constant_data[i] (or of the deprecated
// constant_buffer[i]); 0 is no data. `values` finds a value by the id that nodes use.
struct GraphView {
  const graph::XNNGraph* graph = nullptr;
  Bytes flatbuffer;  // that `graph` is in
  std::vector<Bytes> constants;
  std::unordered_map<uint32_t, const graph::XValue*> values;
  std::vector<const graph::XNNTensorValue*> externals;  // the values that have an external id
  uint32_t num_args = 0;                                // one more than the largest external id
};

struct PlanView {
  const program::ExecutionPlan* plan = nullptr;
  std::vector<GraphView> delegates;  // by index in plan->delegates()
};

// A piece of data that other parts name: of the program, or of a .ptd file.
struct NamedBytes {
  Bytes bytes;
  const data::TensorLayout* layout = nullptr;  // where a .ptd file says that it is a tensor
};

struct ProgramView {
  const program::Program* program = nullptr;
  std::vector<Bytes>
      constants;  // by Tensor.data_buffer_idx, each to the end of its segment; 0 is empty
  std::vector<Bytes> mutable_data;  // likewise, by ExtraTensorInfo.mutable_data_segments_idx 0
  std::unordered_map<std::string_view, NamedBytes> named_data;
  std::vector<PlanView> plans;
};

inline std::string_view View(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

// Elements of 8 bytes may be misaligned: flatbuffers' own verifier looks only at where a vector
// begins. An empty one lies anywhere: flatbuffers' builder aligns none.
template <typename T>
bool IsAligned(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % sizeof(T) == 0;
}

// Whether a tensor's content is named data, of a .ptd file.
inline bool IsExternal(const program::Tensor& tensor) {
  return tensor.extra_tensor_info() != nullptr &&
         tensor.extra_tensor_info()->location() == program::TensorDataLocation::External;
}

inline bool HasContent(const program::Tensor& tensor) {
  return tensor.data_buffer_idx() != 0 || IsExternal(tensor);
}

// What a tensor of a verified program holds at first: a constant, or what the arena's part begins
// with. Null where it holds nothing.
inline const Bytes* ContentOf(const ProgramView& view, const program::Tensor& tensor) {
  if (IsExternal(tensor)) {
    const auto name = View(tensor.extra_tensor_info()->fully_qualified_name());
    return &view.named_data.find(name)->second.bytes;
  }
  if (!HasContent(tensor)) return nullptr;
  const uint32_t index = tensor.data_buffer_idx();
  return tensor.allocation_info() != nullptr ? &view.mutable_data[index] : &view.constants[index];
}

// The value's tensor, whichever of the two kinds it is.
inline const graph::XNNTensorValue* TensorOf(const graph::XValue& value) {
  if (const auto* quantized = value.xvalue_union_as_XNNQuantizedTensorValue()) {
    return quantized->tensor_value();
  }
  return value.xvalue_union_as_XNNTensorValue();
}

}  // namespace xir
