#include "core/digest.h"

#include <cstring>

namespace xir {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;
constexpr size_t kStripe = 32;

template <typename T>
T Read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

uint64_t RotateLeft(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

uint64_t Round(uint64_t lane, uint64_t input) {
  return RotateLeft(lane + input * kPrime2, 31) * kPrime1;
}

uint64_t Merge(uint64_t digest, uint64_t lane) {
  return (digest ^ Round(0, lane)) * kPrime1 + kPrime4;
}

uint64_t Avalanche(uint64_t digest) {
  digest = (digest ^ digest >> 33) * kPrime2;
  digest = (digest ^ digest >> 29) * kPrime3;
  return digest ^ digest >> 32;
}

}  // namespace

uint64_t Digest(Bytes bytes, uint64_t seed) {
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  uint64_t digest = seed + kPrime5;
  if (left >= kStripe) {
    uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
    for (; left >= kStripe; at += kStripe, left -= kStripe) {
      a = Round(a, Read<uint64_t>(at));
      b = Round(b, Read<uint64_t>(at + 8));
      c = Round(c, Read<uint64_t>(at + 16));
      d = Round(d, Read<uint64_t>(at + 24));
    }
    digest = RotateLeft(a, 1) + RotateLeft(b, 7) + RotateLeft(c, 12) + RotateLeft(d, 18);
    digest = Merge(Merge(Merge(Merge(digest, a), b), c), d);
  }
  digest += bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    digest = RotateLeft(digest ^ Round(0, Read<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  if (left >= 4) {
    digest = RotateLeft(digest ^ Read<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4;
    left -= 4;
  }
  for (; left > 0; ++at, --left) {
    digest = RotateLeft(digest ^ *at * kPrime5, 11) * kPrime1;
  }
  return Avalanche(digest);
}

}  // namespace xir
