// A bound on what reading a file takes. Offsets of a flatbuffer may meet: a million tables can
// share one list of a million items, and whoever walks them all takes a million times what the file
// has. flatbuffers' own verifier counts tables and looks at a list of numbers or at a string only
// where it begins, so what is walked, copied or hashed is counted here.
#pragma once

#include <cstdint>

#include "flatbuffers/flatbuffers.h"
#include "xir/status.h"

namespace xir {

class WorkBudget {
 public:
  // Writers share little: methods their state's first content, equal delegates one graph. So much
  // is allowed beyond reading each byte once.
  static constexpr uint64_t kPerByte = 16;
  static constexpr uint64_t kFree = uint64_t{1} << 20;

  explicit WorkBudget(uint64_t file_size) : left_(kFree + kPerByte * file_size) {}

  // Accounts for reading so many bytes. Whatever the runtime makes of a verified file is charged
  // here before, so that what it takes is linear in the file's size too.
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
