// A bound on the work and the memory of reading a file. Offsets in a flatbuffer may coincide: a
// million tables can share one list of a million items, and walking them all would take a million
// times longer than the size of the file suggests. flatbuffers' own verifier counts tables, and
// checks only the bounds of strings and of lists of numbers. Therefore everything that is walked,
// copied or hashed is counted here, and what is built of it, before it is built: plans, the values
// of an instance, what describes them to callers, what XNNPACK makes of nodes. Not counted is what
// LoadOptions::max_memory bounds: arenas, activations, packed weights.
#pragma once

#include <cstdint>

#include "core/checked.h"
#include "flatbuffers/flatbuffers.h"
#include "xir/status.h"

namespace xir {

class WorkBudget {
 public:
  // Compilers share little: methods the initial content of their state, equal delegates one
  // graph. What is built takes more than the file's bytes: a call of a kernel on numbers has the
  // most, 20 times as much.
  static constexpr uint64_t kPerByte = 32;
  static constexpr uint64_t kFree = uint64_t{1} << 20;

  // What is built, at most, in bytes. Where it is built, static_asserts hold some of these.
  static constexpr uint64_t kMethod = 768;  // without what it has
  static constexpr uint64_t kArena = 256;   // without its bytes, for each of a method's instances
  static constexpr uint64_t kValue = 544;   // of a method; of each of its instances
  static constexpr uint64_t kBuffer = 512;  // a mutable buffer's place and description
  static constexpr uint64_t kPort = 768;    // an input or output, for instances and callers
  static constexpr uint64_t kInstruction = 512;  // planned, bound, and described in a profile
  static constexpr uint64_t kArgument = 32;      // of a call, or an item of a list that is one
  static constexpr uint64_t kNameCopies = 4;     // of an operator or a buffer
  static constexpr uint64_t kValueCopies = 3;    // of texts and numbers: file, plan, instance
  static constexpr uint64_t kNamedData = 128;    // without its name
  static constexpr uint64_t kDelegate = 4096;    // its plan, and XNNPACK's runtime without nodes
  static constexpr uint64_t kGraphValue = 512;   // here and in XNNPACK
  static constexpr uint64_t kGraphNode = 1536;   // with XNNPACK's operator

  explicit WorkBudget(uint64_t file_size)
      : left_(file_size > (UINT64_MAX - kFree) / kPerByte ? UINT64_MAX
                                                          : kFree + kPerByte * file_size) {}

  // Charges the reading of `count` bytes, or of as many that are to be built.
  Status Charge(uint64_t bytes) {
    if (bytes > left_) {
      return Fail(Code::kResource,
                  "so much of the file is shared that loading it takes far more than its size");
    }
    left_ -= bytes;
    return {};
  }

  Status Charge(uint64_t count, uint64_t bytes_each) {
    uint64_t bytes = 0;
    return Charge(CheckedMul(count, bytes_each, &bytes) ? bytes : UINT64_MAX);
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
