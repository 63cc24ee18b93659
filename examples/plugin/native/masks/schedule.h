// How a program runs at given shapes: as loops. A loop has one shape, and runs all of its
// operations on a block of elements before it comes to the next block, so that what only its own
// operations read stays in the cache and is never stored.
#pragma once

#include <cstdint>
#include <vector>

#include "masks/element.h"
#include "masks/program.h"
#include "xir/tensor.h"

namespace masks {

inline constexpr size_t kBlock = 1024;  // elements; a register has room for as many of 8 bytes
inline constexpr size_t kRegisterBytes = kBlock * 8;

// Where the elements of a value are while a loop runs.
struct Place {
  enum class Kind : uint8_t { kNone, kMemory, kRegister };

  Kind kind = Kind::kNone;
  size_t index = 0;  // a value in memory of the loop's shape, or a register
};

// Brings the elements of a value of another shape into a register, as many as the block has.
struct Load {
  size_t value = 0;
  size_t to = 0;              // a register
  std::vector<size_t> sizes;  // of the loop's shape, neighbours that go together as one
  std::vector<size_t> steps;  // in elements, by size; 0 where the value is repeated
  bool uniform = false;       // one element, which the register keeps for all blocks
};

struct Step {
  size_t load = SIZE_MAX;  // of the loop's loads; else an operation:
  BlockFunction function = nullptr;
  Place operands[3];
  Place result;
};

struct Loop {
  xir::Shape shape;
  std::vector<size_t> values;  // that it computes
  std::vector<Load> loads;
  std::vector<Step> steps;
  size_t num_registers = 0;
};

struct Schedule {
  std::vector<xir::Shape> shapes;  // by value
  // By value: the one whose memory it is in, itself but for kReshape.
  std::vector<size_t> owners;
  std::vector<bool> stored;  // by value, of those that loops compute
  std::vector<Loop> loops;
  std::vector<size_t> copied_results;  // values that no loop computes
};

// `shapes` of arguments are given; the others are inferred.
xir::Result<Schedule> MakeSchedule(const Program& program, std::vector<xir::Shape> shapes);

}  // namespace masks
