// The inner loops of attention for a few rows of queries, which are bound by how fast keys and
// values come from memory: nothing is packed or copied.
#pragma once

#include <cstdint>

namespace xir::kernels {

// Rows of elements, `stride` elements from one to the next.
template <typename T>
struct Rows {
  const T* data = nullptr;
  int64_t stride = 0;
};
using FloatRows = Rows<float>;
using ByteRows = Rows<int8_t>;

// As one processor runs them best.
struct AttentionLoops {
  // scores[row · keys + key] = Σ queries[row · features + f] · key[f]
  void (*dot_products)(const float* queries, int64_t rows, FloatRows key, int64_t keys,
                       int64_t features, float* scores);
  // Turns `seen` scores into weights, e^(score − largest) / sum; the others, up to `keys`, become
  // zeros. So do all if nothing is seen: every score is −∞.
  void (*softmax)(float* scores, int64_t seen, int64_t keys);
  // results[row · features + f] += Σ weights[row · keys + key] · value[f]
  void (*weighted_sums)(const float* weights, int64_t rows, FloatRows value, int64_t keys,
                        int64_t features, float* results);
  // The same of keys and values in 8 bits, each of which becomes a float in a register.
  void (*byte_dot_products)(const float* queries, int64_t rows, ByteRows key, int64_t keys,
                            int64_t features, float* scores);
  void (*byte_weighted_sums)(const float* weights, int64_t rows, ByteRows value, int64_t keys,
                             int64_t features, float* results);
  // floats[i] = halves[i], which is a binary16
  void (*widen)(const uint16_t* halves, int64_t count, float* floats);
};

// The best of this processor.
const AttentionLoops& BestAttentionLoops();

}  // namespace xir::kernels
