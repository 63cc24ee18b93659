#pragma once

#include <memory>
#include <vector>

#include "core/file_bytes.h"
#include "program/description.h"
#include "runtime/state.h"
#include "xir/status.h"
#include "xir/value.h"

namespace xir {

// What a tensor takes at its largest shape.
size_t LargestBytes(const Tensor& tensor);

// A method's arenas and the values that live in them, in the file's constants, or with the caller.
class MethodMemory {
 public:
  // Without arenas: the values as the file declares them.
  static MethodMemory Declare(const MethodDescription& method);
  // The state outlives it.
  static Result<MethodMemory> Create(const MethodDescription& method, const ProgramState& state,
                                     Allocator* allocator);

  size_t size() const { return size_; }
  // Whether some of these bytes are in one of the arenas, or in another of the state's.
  bool Overlaps(const void* data, size_t nbytes) const;
  Value& operator[](size_t index) { return values_[index]; }
  const Value& operator[](size_t index) const { return values_[index]; }

 private:
  struct ValueMaker;

  MethodMemory() = default;
  void MakeValues(const MethodDescription& method);
  Tensor MakeTensor(const TensorDescription& from) const;

  const ProgramState* state_ = nullptr;
  std::vector<AlignedBuffer> own_;
  struct Arena {
    uint8_t* data = nullptr;
    size_t nbytes = 0;
  };
  std::vector<Arena> arenas_;  // by id: own, or the state's
  // Lists point to other values, so these never move.
  std::unique_ptr<Value[]> values_;
  size_t size_ = 0;
};

}  // namespace xir
