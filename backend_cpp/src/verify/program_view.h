// What a verified file looks like to the rest of the runtime. Everything reachable from here is in
// bounds, of the expected type and present where it is needed; readers trust it.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "data_generated.h"
#include "program_generated.h"
#include "verify/flatbuffer.h"
#include "xir/delegate.h"
#include "xir/span.h"

namespace xir {

// What a file holds of one delegate, which its backend verifies.
struct DelegateView {
  std::string_view id;
  Bytes bytes;
  std::vector<CompileSpec> specs;
};

struct PlanView {
  const program::ExecutionPlan* plan = nullptr;
  std::vector<DelegateView> delegates;  // by index in plan->delegates()
};

// Data that other parts refer to by name, in the program or in a .ptd file.
struct NamedBytes {
  Bytes bytes;
  const data::TensorLayout* layout = nullptr;  // where a .ptd file says that it is a tensor
};

struct ProgramView : NamedData {
  const Bytes* Find(std::string_view name) const override {
    const auto found = named_data.find(name);
    return found == named_data.end() ? nullptr : &found->second.bytes;
  }

  const program::Program* program = nullptr;
  uint64_t file_size = 0;  // the .pte file's
  std::vector<Bytes>
      constants;  // by Tensor.data_buffer_idx, each to the end of its segment; 0 is empty
  std::vector<Bytes> mutable_data;  // likewise, by ExtraTensorInfo.mutable_data_segments_idx 0
  std::unordered_map<std::string_view, NamedBytes> named_data;
  std::vector<PlanView> plans;
};

// Whether a tensor's content is named data, of a .ptd file.
inline bool IsExternal(const program::Tensor& tensor) {
  return tensor.extra_tensor_info() != nullptr &&
         tensor.extra_tensor_info()->location() == program::TensorDataLocation::External;
}

inline bool HasContent(const program::Tensor& tensor) {
  return tensor.data_buffer_idx() != 0 || IsExternal(tensor);
}

// The name of a tensor in an arena, if it has one: it is a mutable buffer, then.
inline std::string_view BufferName(const program::Tensor& tensor) {
  if (tensor.extra_tensor_info() == nullptr) return {};
  return View(tensor.extra_tensor_info()->fully_qualified_name());
}

// Whether a tensor in an arena keeps what it holds from one execution to the next.
inline bool IsBuffer(const program::Tensor& tensor) {
  return HasContent(tensor) || !BufferName(tensor).empty();
}

// What a tensor of a verified program holds at first: a constant, or what the arena's part begins
// with. Null where it holds nothing.
inline const Bytes* ContentOf(const ProgramView& view, const program::Tensor& tensor) {
  if (IsExternal(tensor)) {
    const auto name = View(tensor.extra_tensor_info()->fully_qualified_name());
    return view.Find(name);
  }
  if (!HasContent(tensor)) return nullptr;
  const uint32_t index = tensor.data_buffer_idx();
  return tensor.allocation_info() != nullptr ? &view.mutable_data[index] : &view.constants[index];
}

}  // namespace xir
