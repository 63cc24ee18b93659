#include "avx512_fp16/instruction.h"

#include <cstring>

namespace xir::testing {
namespace {

enum class Map { kOf0F3A = 3, k5 = 5, k6 = 6 };
enum class Prefix { kNone, k66, kF3, kF2 };

std::optional<Factors> FactorsOf(int opcode) {
  switch (opcode & 0xF0) {
    case 0x90:
      return Factors{0, 2, 1};
    case 0xA0:
      return Factors{1, 0, 2};
    case 0xB0:
      return Factors{1, 2, 0};
    default:
      return std::nullopt;
  }
}

// Arithmetic of two sources, packed without a prefix and scalar with F3.
std::optional<Operation> OperationOf(int opcode) {
  switch (opcode) {
    case 0x58:
      return Operation::kAdd;
    case 0x59:
      return Operation::kMultiply;
    case 0x5C:
      return Operation::kSubtract;
    case 0x5D:
      return Operation::kMinimum;
    case 0x5E:
      return Operation::kDivide;
    case 0x5F:
      return Operation::kMaximum;
    default:
      return std::nullopt;
  }
}

// Sets operation and factors, and whether it is a scalar's.
bool SetOperation(Map map, Prefix prefix, int opcode, Instruction& instruction, bool& scalar) {
  scalar = false;
  if (map == Map::k5 && (prefix == Prefix::kNone || prefix == Prefix::kF3)) {
    const auto operation = OperationOf(opcode);
    if (!operation) return false;
    instruction.operation = *operation;
    scalar = prefix == Prefix::kF3;
    return true;
  }
  if (map == Map::k6 && prefix == Prefix::k66) {
    if (opcode == 0x4C) {
      instruction.operation = Operation::kReciprocal;
      return true;
    }
    const auto factors = FactorsOf(opcode);
    const int kind = opcode & 0x0F;
    if (!factors || (kind != 0x8 && kind != 0x9)) return false;
    instruction.operation = Operation::kMultiplyAdd;
    instruction.factors = *factors;
    scalar = kind == 0x9;
    return true;
  }
  if (map == Map::kOf0F3A && prefix == Prefix::kNone && opcode == 0xC2) {
    instruction.operation = Operation::kCompare;
    return true;
  }
  return false;
}

int Bit(uint8_t byte, int bit) { return byte >> bit & 1; }

}  // namespace

std::optional<Instruction> Decode(const uint8_t* code) {
  if (code[0] != 0x62) return std::nullopt;
  const uint8_t p0 = code[1];
  const uint8_t p1 = code[2];
  const uint8_t p2 = code[3];
  const int opcode = code[4];
  const bool wide = Bit(p1, 7) != 0;
  if (Bit(p0, 3) != 0 || Bit(p1, 2) == 0 || wide) return std::nullopt;

  Instruction instruction;
  bool scalar = false;
  if (!SetOperation(static_cast<Map>(p0 & 7), static_cast<Prefix>(p1 & 3), opcode, instruction,
                    scalar)) {
    return std::nullopt;
  }
  const int vector = p2 >> 5 & 3;
  if (vector == 3) return std::nullopt;
  instruction.lanes = scalar ? 1 : 8 << vector;
  instruction.mask = p2 & 7;
  instruction.zeroing = Bit(p2, 7) != 0;
  // The prefix holds the registers' upper bits inverted.
  instruction.first = (~p1 >> 3 & 15) | (Bit(p2, 3) == 0 ? 16 : 0);

  const uint8_t* at = code + 5;
  const uint8_t modrm = *at++;
  const int mode = modrm >> 6;
  instruction.destination =
      (modrm >> 3 & 7) | (Bit(p0, 7) == 0 ? 8 : 0) | (Bit(p0, 4) == 0 ? 16 : 0);
  if (instruction.operation == Operation::kCompare) instruction.destination &= 7;
  const int r8 = Bit(p0, 5) == 0 ? 8 : 0;
  const int x8 = Bit(p0, 6) == 0 ? 8 : 0;
  const bool b = Bit(p2, 4) != 0;
  if (mode == 3) {
    if (b) return std::nullopt;  // a rounding of its own, or none of its exceptions
    instruction.second = (modrm & 7) | r8 | (x8 != 0 ? 16 : 0);
  } else {
    instruction.in_memory = true;
    instruction.broadcast = b;
    int low = modrm & 7;
    bool displaced = mode == 0 && low == 5;
    if (low == 4) {
      const uint8_t sib = *at++;
      low = sib & 7;
      const int index = (sib >> 3 & 7) | x8;
      if (index != 4) instruction.index = index;
      instruction.scale = 1 << (sib >> 6);
      displaced = mode == 0 && low == 5;
      if (!displaced) instruction.base = low | r8;
    } else if (displaced) {
      instruction.relative = true;
    } else {
      instruction.base = low | r8;
    }
    if (mode == 1) {
      // One byte counts in units of what is read.
      const int unit = scalar || b ? 2 : instruction.lanes * 2;
      instruction.displacement = static_cast<int8_t>(*at++) * int64_t{unit};
    } else if (mode == 2 || displaced) {
      int32_t displacement;
      std::memcpy(&displacement, at, sizeof displacement);
      instruction.displacement = displacement;
      at += sizeof displacement;
    }
  }
  if (instruction.operation == Operation::kCompare) {
    instruction.predicate = *at++ & 15;  // one bit more says whether NaN is signalled
  }
  instruction.length = static_cast<size_t>(at - code);
  return instruction;
}

}  // namespace xir::testing
