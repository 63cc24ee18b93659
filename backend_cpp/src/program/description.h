// What a file says, decoded and checked once (decode.h): nothing else reads its flatbuffer.
// Everything here is in bounds, of the expected kind and present where it is needed; readers trust
// it. Of the file remain bytes that stay where they are: constants, delegates' data and options,
// named data, and the names of sources, which only profiles and errors read.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "xir/delegate.h"
#include "xir/span.h"
#include "xir/tensor.h"
#include "xir/value.h"

namespace xir {

// The bytes of an arena that a tensor takes at its largest shape.
struct Place {
  uint32_t arena = 0;
  uint64_t begin = 0, end = 0;

  bool Overlaps(const Place& other) const {
    return arena == other.arena && begin < other.end && other.begin < end;
  }
};

struct TensorDescription {
  DType dtype = DType::kFloat;
  bool resizable = false;
  uint8_t rank = 0;
  std::array<int32_t, kMaxRank> sizes{};  // the largest
  std::array<uint8_t, kMaxRank> dim_order{};
  uint64_t nbytes = 0;           // at the largest shape
  std::optional<Place> place;    // empty for a constant, and for what others give memory
  std::optional<Bytes> content;  // a constant, or what its place begins with: `nbytes` of the file
  std::string name;              // of a mutable buffer, which is looked up by it; may be empty

  // Of one with a place: whether it keeps what it holds from one execution to the next.
  bool IsBuffer() const { return content.has_value() || !name.empty(); }
  bool IsConstant() const { return !place.has_value() && content.has_value(); }
  Shape bound() const;
};

// One slot of a method, as xir/value.h has it. Items are indices of values.
struct ValueDescription {
  static constexpr uint32_t kAbsent = UINT32_MAX;  // an item that is no tensor

  struct IntItems {
    std::vector<uint32_t> items;
  };
  struct TensorItems {
    std::vector<uint32_t> items;
  };

  std::variant<None, int64_t, bool, double, TensorDescription, std::string, IntItems,
               std::vector<double>, std::vector<bool>, TensorItems>
      content;

  const TensorDescription* tensor() const { return std::get_if<TensorDescription>(&content); }
};

// What its backend verifies.
struct DelegateDescription {
  std::string id;
  Bytes bytes;
  std::vector<CompileSpec> specs;  // in the file
};

// The innermost line of the source that an instruction comes from.
struct Frame {
  std::string_view file;  // in the file
  uint32_t line = 0;      // 0 is unknown
};

struct MethodDescription {
  struct KernelCall {
    size_t op = 0;  // an index of `operators`
    std::vector<size_t> args;
  };
  struct DelegateCall {
    size_t delegate = 0;
    std::vector<size_t> args;
  };
  struct Move {
    size_t from = 0;
    size_t to = 0;
  };
  struct JumpFalse {
    size_t condition = 0;
    size_t destination = 0;
  };
  struct Free {};  // memory is planned ahead: there is nothing to free
  using Instruction = std::variant<KernelCall, DelegateCall, Move, JumpFalse, Free>;

  size_t index = 0;  // among the program's
  std::string name;
  std::vector<uint64_t> arena_sizes;  // by id; 0 is no arena
  // The arenas that the file has. One behind them is for outputs that it gives no memory.
  size_t num_planned_arenas = 0;
  std::vector<ValueDescription> values;
  std::vector<size_t> inputs;
  std::vector<size_t> outputs;
  std::vector<std::string> operators;  // "aten::add.out"
  std::vector<DelegateDescription> delegates;
  std::vector<Instruction> instructions;
  std::vector<std::optional<Frame>> frames;  // by instruction, as far as the file has them

  // The tensor at an index of `values`; null for another kind.
  const TensorDescription* TensorAt(size_t value) const { return values[value].tensor(); }
};

struct ProgramDescription : NamedData {
  const Bytes* Find(std::string_view name) const override;

  uint64_t file_size = 0;                                // the .pte file's
  std::map<std::string, Bytes, std::less<>> named_data;  // the program's, and of .ptd files
  std::vector<MethodDescription> methods;
};

}  // namespace xir
