#include "kernels/attention_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/element.h"

namespace xir::kernels {
namespace {

// GCC's and Clang's vectors.
template <size_t kBytes>
struct Lanes {
  typedef float Type __attribute__((vector_size(kBytes), aligned(alignof(float)), may_alias));
  typedef int32_t Integers __attribute__((vector_size(kBytes)));
  typedef uint32_t Bits __attribute__((vector_size(kBytes)));
  typedef uint16_t Halves __attribute__((vector_size(kBytes / 2), aligned(2), may_alias));
  typedef int16_t Shorts __attribute__((vector_size(kBytes / 2)));
  typedef int8_t Bytes __attribute__((vector_size(kBytes / 4), aligned(1), may_alias));
  static constexpr int64_t kCount = kBytes / sizeof(float);
};

// As many elements as a vector has floats, as such. Not returned: by value, vectors that not all
// processors have are passed in ways of their own, and behind a reference Clang takes them to be
// aligned.
template <size_t kBytes>
[[gnu::always_inline]] inline void Read(const float* from, typename Lanes<kBytes>::Type* to) {
  std::memcpy(to, from, sizeof(*to));
}

template <size_t kBytes>
[[gnu::always_inline]] inline void Read(const int8_t* from, typename Lanes<kBytes>::Type* to) {
  using L = Lanes<kBytes>;
  // In steps of twice the width: of the conversion to integers at once GCC 12 makes scalar code.
  const auto shorts = __builtin_convertvector(*reinterpret_cast<const typename L::Bytes*>(from),
                                              typename L::Shorts);
  *to = __builtin_convertvector(__builtin_convertvector(shorts, typename L::Integers),
                                typename L::Type);
}

// Half of a vector is added to the other half until one element is left.
template <size_t kBytes>
[[gnu::always_inline]] inline float SumOfLanes(const typename Lanes<kBytes>::Type& v) {
  if constexpr (kBytes == 16) {
    return (v[0] + v[1]) + (v[2] + v[3]);
  } else {
    typename Lanes<kBytes / 2>::Type low, high;
    std::memcpy(&low, &v, sizeof(low));
    std::memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof(low), sizeof(high));
    return SumOfLanes<kBytes / 2>(low + high);
  }
}

// One key and R rows of queries.
template <size_t kBytes, int R, typename T>
[[gnu::always_inline]] inline void DotProducts(const float* queries, const T* key, int64_t features,
                                               float* scores, int64_t keys) {
  constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  typename Lanes<kBytes>::Type sums[R] = {};
  int64_t f = 0;
  for (; f + kLanes <= features; f += kLanes) {
    typename Lanes<kBytes>::Type from_key;
    Read<kBytes>(key + f, &from_key);
    for (int r = 0; r < R; ++r) {
      typename Lanes<kBytes>::Type from_query;
      Read<kBytes>(queries + r * features + f, &from_query);
      sums[r] += from_query * from_key;
    }
  }
  for (int r = 0; r < R; ++r) {
    float sum = SumOfLanes<kBytes>(sums[r]);
    for (int64_t rest = f; rest < features; ++rest) sum += queries[r * features + rest] * key[rest];
    scores[r * keys] = sum;
  }
}

template <size_t kBytes, typename T>
[[gnu::always_inline]] inline void RunDotProducts(const float* queries, int64_t rows, Rows<T> key,
                                                  int64_t keys, int64_t features, float* scores) {
  for (int64_t j = 0; j < keys; ++j) {
    const T* from = key.data + j * key.stride;
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4) {
      DotProducts<kBytes, 4>(queries + row * features, from, features, scores + row * keys + j,
                             keys);
    }
    for (; row < rows; ++row) {
      DotProducts<kBytes, 1>(queries + row * features, from, features, scores + row * keys + j,
                             keys);
    }
  }
}

// R rows of weights and N vectors of features.
template <size_t kBytes, int R, int N, typename T>
[[gnu::always_inline]] inline void WeightedSums(const float* weights, int64_t weights_stride,
                                                const T* value, int64_t value_stride, int64_t keys,
                                                float* results, int64_t features) {
  using V = typename Lanes<kBytes>::Type;
  constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  V sums[R][N] = {};
  for (int64_t j = 0; j < keys; ++j) {
    V from[N];
    for (int n = 0; n < N; ++n) {
      Read<kBytes>(value + j * value_stride + n * kLanes, &from[n]);
    }
    for (int r = 0; r < R; ++r) {
      for (int n = 0; n < N; ++n) sums[r][n] += weights[r * weights_stride + j] * from[n];
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) {
      *reinterpret_cast<V*>(results + r * features + n * kLanes) += sums[r][n];
    }
  }
}

template <size_t kBytes, int R, typename T>
[[gnu::always_inline]] inline void WeightedRows(const float* weights, int64_t weights_stride,
                                                const T* value, int64_t value_stride, int64_t keys,
                                                float* results, int64_t features) {
  constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  int64_t f = 0;
  for (; f + 4 * kLanes <= features; f += 4 * kLanes) {
    WeightedSums<kBytes, R, 4>(weights, weights_stride, value + f, value_stride, keys, results + f,
                               features);
  }
  for (; f + kLanes <= features; f += kLanes) {
    WeightedSums<kBytes, R, 1>(weights, weights_stride, value + f, value_stride, keys, results + f,
                               features);
  }
  for (; f < features; ++f) {
    for (int r = 0; r < R; ++r) {
      float sum = 0.0f;
      for (int64_t j = 0; j < keys; ++j) {
        sum += weights[r * weights_stride + j] * value[j * value_stride + f];
      }
      results[r * features + f] += sum;
    }
  }
}

template <size_t kBytes, typename T>
[[gnu::always_inline]] inline void RunWeightedSums(const float* weights, int64_t rows,
                                                   Rows<T> value, int64_t keys, int64_t features,
                                                   float* results) {
  // As many values as stay in the first-level cache, for all rows and features.
  constexpr int64_t kBlock = 64;
  for (int64_t first = 0; first < keys; first += kBlock) {
    const int64_t count = std::min(kBlock, keys - first);
    const T* from = value.data + first * value.stride;
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4) {
      WeightedRows<kBytes, 4>(weights + row * keys + first, keys, from, value.stride, count,
                              results + row * features, features);
    }
    for (; row < rows; ++row) {
      WeightedRows<kBytes, 1>(weights + row * keys + first, keys, from, value.stride, count,
                              results + row * features, features);
    }
  }
}

// Turns each x <= 0 into e^x: 2^n · e^r with |r| <= ln 2 / 2, whose series up to r^7 / 7! is exact
// to fp32. Below the least normal number it is 0.
template <size_t kBytes>
[[gnu::always_inline]] inline void Exponentiate(typename Lanes<kBytes>::Type& x) {
  using V = typename Lanes<kBytes>::Type;
  using I = typename Lanes<kBytes>::Integers;
  using U = typename Lanes<kBytes>::Bits;   // negative exponents and those of no number wrap around
  constexpr float kLowest = -87.33654f;     // ln 2^−126
  constexpr float kRound = 12582912.0f;     // 1.5 · 2^23: what is added to it becomes an integer
  constexpr float kLn2High = 0.693359375f;  // so many bits that n · kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  const V zero = {};
  const I is_hidden = x < zero + kLowest;
  const V n = (x * 1.44269504f + kRound) - kRound;
  const V r = (x - n * kLn2High) - n * kLn2Low;
  V sum = zero + 1.0f / 5040;
  sum = sum * r + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  U bits;
  std::memcpy(&bits, &sum, sizeof(bits));
  const V shifted = n + kRound;
  U exponent;
  std::memcpy(&exponent, &shifted, sizeof(exponent));
  bits += exponent << 23;
  std::memcpy(&sum, &bits, sizeof(sum));
  sum += x * 0.0f;  // what is no number stays none
  std::memcpy(&bits, &sum, sizeof(bits));
  bits &= reinterpret_cast<U>(~is_hidden);
  std::memcpy(&x, &bits, sizeof(x));
}

template <size_t kBytes>
[[gnu::always_inline]] inline void RunSoftmax(float* scores, int64_t seen, int64_t keys) {
  using V = typename Lanes<kBytes>::Type;
  constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float largest = -kInfinity;
  for (int64_t j = 0; j < seen; ++j) largest = scores[j] > largest ? scores[j] : largest;
  float sum = 0.0f;
  if (largest == -kInfinity) {
    std::fill_n(scores, keys, 0.0f);
    return;
  }
  V sums = {};
  int64_t j = 0;
  for (; j + kLanes <= seen; j += kLanes) {
    V weights;
    Read<kBytes>(scores + j, &weights);
    weights -= largest;
    Exponentiate<kBytes>(weights);
    *reinterpret_cast<V*>(scores + j) = weights;
    sums += weights;
  }
  for (; j < seen; ++j) sum += scores[j] = std::exp(scores[j] - largest);
  const float factor = 1.0f / (sum + SumOfLanes<kBytes>(sums));
  for (j = 0; j < seen; ++j) scores[j] *= factor;
  std::fill(scores + seen, scores + keys, 0.0f);
}

// Of IEEE 754 binary16. The exponent's bias differs by 112; multiplying makes subnormals normal.
template <size_t kBytes>
[[gnu::always_inline]] inline void RunWiden(const uint16_t* halves, int64_t count, float* floats) {
  using V = typename Lanes<kBytes>::Type;
  using H = typename Lanes<kBytes>::Halves;
  using U = typename Lanes<kBytes>::Bits;
  constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const U all = __builtin_convertvector(*reinterpret_cast<const H*>(halves + i), U);
    const U magnitude = all & 0x7FFF, shifted = magnitude << 13;
    V value;
    std::memcpy(&value, &shifted, sizeof(value));
    value *= 0x1p112f;
    U bits;
    std::memcpy(&bits, &value, sizeof(bits));
    bits |= (all & 0x8000) << 16;
    bits |= reinterpret_cast<U>(magnitude >= 0x7C00) & 0x7F800000;  // infinite, or no number
    std::memcpy(floats + i, &bits, sizeof(bits));
  }
  for (; i < count; ++i) floats[i] = ToFloat(Half{halves[i]});
}

template <size_t kBytes>
struct Portable {
  template <typename T>
  static void Dot(const float* queries, int64_t rows, Rows<T> key, int64_t keys, int64_t features,
                  float* scores) {
    RunDotProducts<kBytes>(queries, rows, key, keys, features, scores);
  }
  static void Softmax(float* scores, int64_t seen, int64_t keys) {
    RunSoftmax<kBytes>(scores, seen, keys);
  }
  template <typename T>
  static void Sums(const float* weights, int64_t rows, Rows<T> value, int64_t keys,
                   int64_t features, float* results) {
    RunWeightedSums<kBytes>(weights, rows, value, keys, features, results);
  }
  static void Widen(const uint16_t* halves, int64_t count, float* floats) {
    RunWiden<kBytes>(halves, count, floats);
  }
};

// 16-byte vectors are everywhere: SSE2, NEON.
constexpr AttentionLoops k128{Portable<16>::Dot<float>,   Portable<16>::Softmax,
                              Portable<16>::Sums<float>,  Portable<16>::Dot<int8_t>,
                              Portable<16>::Sums<int8_t>, Portable<16>::Widen};

#if defined(__x86_64__)
// Compiled for instructions that the processor may lack, and called where it has them.
#define XIR_ATTENTION_LOOPS(Name, kBytes, instructions)                                         \
  template <typename T>                                                                         \
  __attribute__((target(instructions))) void Name##Dot(const float* queries, int64_t rows,      \
                                                       Rows<T> key, int64_t keys,               \
                                                       int64_t features, float* scores) {       \
    RunDotProducts<kBytes>(queries, rows, key, keys, features, scores);                         \
  }                                                                                             \
  __attribute__((target(instructions))) void Name##Softmax(float* scores, int64_t seen,         \
                                                           int64_t keys) {                      \
    RunSoftmax<kBytes>(scores, seen, keys);                                                     \
  }                                                                                             \
  template <typename T>                                                                         \
  __attribute__((target(instructions))) void Name##Sums(const float* weights, int64_t rows,     \
                                                        Rows<T> value, int64_t keys,            \
                                                        int64_t features, float* results) {     \
    RunWeightedSums<kBytes>(weights, rows, value, keys, features, results);                     \
  }                                                                                             \
  __attribute__((target(instructions))) void Name##Widen(const uint16_t* halves, int64_t count, \
                                                         float* floats) {                       \
    RunWiden<kBytes>(halves, count, floats);                                                    \
  }                                                                                             \
  constexpr AttentionLoops k##Name {                                                            \
    Name##Dot<float>, Name##Softmax, Name##Sums<float>, Name##Dot<int8_t>, Name##Sums<int8_t>,  \
        Name##Widen                                                                             \
  }

XIR_ATTENTION_LOOPS(Avx2, 32, "avx2,fma");
XIR_ATTENTION_LOOPS(Avx512, 64, "avx512f");

const AttentionLoops& ChooseLoops() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2;
  return k128;
}
#else
const AttentionLoops& ChooseLoops() { return k128; }
#endif

}  // namespace

const AttentionLoops& BestAttentionLoops() {
  static const AttentionLoops& best = ChooseLoops();
  return best;
}

}  // namespace xir::kernels
