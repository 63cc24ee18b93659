#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "flatbuffers/flatbuffers.h"
#include "xir/span.h"

namespace xir {

// Of tables in tables, more than any file of ours or of ExecuTorch's has.
constexpr int kMaxFlatbufferDepth = 64;

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

// Named data that is a flatbuffer of one flat table. It is aligned to 16 bytes in xir's files, and
// anyhow in others, so this is a copy.
class NamedTable {
 public:
  explicit NamedTable(Bytes data) : size_(data.size()) {
    if (size_ < 8 || size_ >= FLATBUFFERS_MAX_BUFFER_SIZE) return;
    copy_.resize((size_ + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    std::memcpy(copy_.data(), data.data(), size_);
  }

  // The table, by the functions that are generated of its schema; null where it is damaged.
  template <typename Verify, typename Get>
  auto Read(const Verify& verify, const Get& get) const -> decltype(get(nullptr)) {
    constexpr int kMaxDepth = 8;
    if (copy_.empty()) return nullptr;
    const auto* bytes = reinterpret_cast<const uint8_t*>(copy_.data());
    flatbuffers::Verifier verifier(bytes, size_, kMaxDepth,
                                   static_cast<flatbuffers::uoffset_t>(size_ / 4));
    return verify(verifier) ? get(bytes) : nullptr;
  }

 private:
  size_t size_;
  std::vector<uint64_t> copy_;
};

}  // namespace xir
