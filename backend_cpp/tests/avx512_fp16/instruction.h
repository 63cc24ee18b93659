// The instructions of AVX512-FP16 that XNNPACK's kernels use, as Intel's "Software Developer's
// Manual", volume 2, encodes them: EVEX prefix, opcode, ModRM, and an address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace xir::testing {

enum class Operation {
  kAdd,
  kMultiply,
  kSubtract,
  kMinimum,
  kDivide,
  kMaximum,
  kMultiplyAdd,
  kReciprocal,
  kCompare
};

// Which of first source (the destination, for products that are added), second and third a product
// takes.
struct Factors {
  int left, right, added;
};

struct Instruction {
  size_t length = 0;  // bytes
  Operation operation = Operation::kAdd;
  Factors factors = {};  // of kMultiplyAdd
  int predicate = 0;     // of kCompare, as VCMPPS numbers them
  int lanes = 0;         // 1 for a scalar
  int destination = 0;   // vector register, or mask register for kCompare
  int first = 0;         // source registers
  int second = 0;
  bool in_memory = false;  // the second source
  bool broadcast = false;  // one half from memory, for all lanes
  int mask = 0;            // mask register; 0 for all lanes
  bool zeroing = false;    // lanes that the mask leaves out become 0
  // Address of the second source: registers by their numbers in ModRM and SIB, -1 for none.
  int base = -1;
  int index = -1;
  int scale = 1;
  bool relative = false;  // to the next instruction
  int64_t displacement = 0;
};

// What `code` begins with; nothing if it is none of these, or rounds in a way of its own.
std::optional<Instruction> Decode(const uint8_t* code);

}  // namespace xir::testing
