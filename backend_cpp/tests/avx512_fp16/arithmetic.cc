#include "avx512_fp16/arithmetic.h"

#include <immintrin.h>

#include <cmath>
#include <cstring>

namespace xir::testing {
namespace {

float Widen(uint16_t half) { return _cvtsh_ss(half); }

uint16_t Round(float value) {
  return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}

bool IsOdd(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & 1) != 0;
}

// a * b + c, rounded once. The sum is exact in a double wherever a half could tell the difference:
// its terms have 22 and 11 bits, so a term that a double cuts is far below half of the other's last
// bit. On its way through a float the last bit becomes odd where the sum was cut: then rounding
// again, to fewer bits, is as if from the sum ("rounding to odd", S. Boldo and G. Melquiond, 2008).
uint16_t MultiplyAdd(float a, float b, float c) {
  const double sum = double{a} * double{b} + double{c};
  auto narrowed = static_cast<float>(sum);
  if (std::isfinite(narrowed) && double{narrowed} != sum && !IsOdd(narrowed)) {
    narrowed = std::nextafter(narrowed, sum > double{narrowed} ? INFINITY : -INFINITY);
  }
  return Round(narrowed);
}

// The second eight are the first with the other answer where an operand is NaN.
bool Holds(int predicate, float a, float b) {
  const bool unordered = std::isunordered(a, b);
  switch (predicate) {
    case 0:
      return a == b;
    case 1:
      return a < b;
    case 2:
      return a <= b;
    case 3:
      return unordered;
    case 4:
      return !(a == b);
    case 5:
      return !(a < b);
    case 6:
      return !(a <= b);
    case 7:
      return !unordered;
    case 8:
      return unordered || a == b;
    case 9:
      return unordered || a < b;
    case 10:
      return unordered || a <= b;
    case 12:
      return !unordered && a != b;
    case 13:
      return a >= b;
    case 14:
      return a > b;
    default:
      return predicate == 15;
  }
}

uint16_t Reciprocal(uint16_t x, Reciprocals reciprocals) {
  const uint16_t nearest = Round(1 / Widen(x));
  if (reciprocals == Reciprocals::kNearest) return nearest;
  // Neighbours of the same sign, of smaller and larger magnitude.
  const auto other =
      static_cast<uint16_t>(reciprocals == Reciprocals::kLowest ? nearest - 1 : nearest + 1);
  const float error = std::fabs(Widen(other) * Widen(x) - 1);
  const float bound = std::ldexp(1.0F, -11) + std::ldexp(1.0F, -14);
  return error <= bound ? other : nearest;  // NaN and infinity stay as they are
}

}  // namespace

uint16_t Compute(const Instruction& instruction, const uint16_t sources[3],
                 Reciprocals reciprocals) {
  const float a = Widen(sources[1]);
  const float b = Widen(sources[2]);
  // Sums, products and quotients of halves may be rounded to float first: that has more than twice
  // the bits.
  switch (instruction.operation) {
    case Operation::kAdd:
      return Round(a + b);
    case Operation::kMultiply:
      return Round(a * b);
    case Operation::kSubtract:
      return Round(a - b);
    case Operation::kDivide:
      return Round(a / b);
    case Operation::kMinimum:
      return sources[a < b ? 1 : 2];  // of two zeros, and with NaN, the second
    case Operation::kMaximum:
      return sources[a > b ? 1 : 2];
    case Operation::kMultiplyAdd:
      return MultiplyAdd(Widen(sources[instruction.factors.left]),
                         Widen(sources[instruction.factors.right]),
                         Widen(sources[instruction.factors.added]));
    case Operation::kReciprocal:
      return Reciprocal(sources[2], reciprocals);
    case Operation::kCompare:
      return Holds(instruction.predicate, a, b) ? 1 : 0;
  }
  return 0;
}

}  // namespace xir::testing
