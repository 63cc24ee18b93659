// What a verified XNNPACK graph looks like to the rest of the runtime.
#pragma once

#include <unordered_map>
#include <vector>

#include "verify/flatbuffer.h"
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

// The value's tensor, whichever of the two kinds it is.
inline const graph::XNNTensorValue* TensorOf(const graph::XValue& value) {
  if (const auto* quantized = value.xvalue_union_as_XNNQuantizedTensorValue()) {
    return quantized->tensor_value();
  }
  return value.xvalue_union_as_XNNTensorValue();
}

}  // namespace xir
