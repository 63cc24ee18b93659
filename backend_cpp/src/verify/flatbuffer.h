#pragma once

#include <cstdint>
#include <string_view>

#include "flatbuffers/flatbuffers.h"

namespace xir {

inline std::string_view View(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

// A writer may leave an empty list out.
template <typename T>
size_t SizeOf(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Elements of 8 bytes may be misaligned: flatbuffers' own verifier looks only at where a vector
// begins. An empty one lies anywhere: flatbuffers' builder aligns none.
template <typename T>
bool IsAligned(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % sizeof(T) == 0;
}

}  // namespace xir
