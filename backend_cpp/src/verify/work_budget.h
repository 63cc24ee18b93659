// A bound on the work of reading a file. Offsets in a flatbuffer may coincide: a million tables
// can share one list of a million items, and walking them all would take a million times longer
// than the size of the file suggests. flatbuffers' own verifier counts tables, and checks only
// the bounds of strings and of lists of numbers. Therefore everything that is walked, copied or
// hashed is counted here.
#pragma once

#include <cstdint>

#include "flatbuffers/flatbuffers.h"
#include "xir/status.h"

namespace xir {

class WorkBudget {
 public:
  // Compilers share little: methods the initial content of their state, equal delegates one
  // graph. This much is allowed beyond reading each byte once.
  static constexpr uint64_t kPerByte = 16;
  static constexpr uint64_t kFree = uint64_t{1} << 20;

  explicit WorkBudget(uint64_t file_size) : left_(kFree + kPerByte * file_size) {}

  // Charges the reading of `count` bytes. What the runtime builds from a verified file is charged
  // in advance as well, so that it too is linear in the size of the file.
  Status Charge(uint64_t bytes) {
    if (bytes > left_) {
      return Fail(Code::kResource,
                  "so much of the file is shared that reading it takes far more than its size");
    }
    left_ -= bytes;
    return {};
  }

  template <typename T>
  Status Charge(const flatbuffers::Vector<T>* list) {
    return list == nullptr ? Status() : Charge(uint64_t{list->size()} * sizeof(T));
  }

  Status Charge(const flatbuffers::String* text) {
    return text == nullptr ? Status() : Charge(uint64_t{text->size()});
  }

 private:
  uint64_t left_;
};

}  // namespace xir
