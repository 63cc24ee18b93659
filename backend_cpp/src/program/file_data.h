// What tensors of a program may hold at first, while it is decoded.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "data_generated.h"
#include "xir/span.h"

namespace xir {

// Data that other parts refer to by name, in the program or in a .ptd file.
struct NamedBytes {
  Bytes bytes;
  const data::TensorLayout* layout = nullptr;  // where a .ptd file says that it is a tensor
};

struct FileData {
  // By Tensor.data_buffer_idx, each to the end of its segment; 0 is empty.
  std::vector<Bytes> constants;
  // Likewise, by ExtraTensorInfo.mutable_data_segments_idx 0.
  std::vector<Bytes> mutable_data;
  std::unordered_map<std::string_view, NamedBytes> named;
};

}  // namespace xir
