#include "kernels/gemm.h"

namespace xir::kernels {
namespace {

// GCC's and Clang's vectors. Wider ones than the processor's are split by the compiler.
template <typename T, size_t kBytes>
struct Vector {
  typedef T Type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  static constexpr int64_t kLanes = kBytes / sizeof(T);
};

// A tile of c, MR rows by NV vectors, stays in registers over all k.
template <typename T, size_t kBytes, int MR, int NV>
[[gnu::always_inline]] inline void RunTile(int64_t k, const T* a, const T* b, T* c,
                                           int64_t c_stride, int64_t rows, int64_t columns) {
  using V = typename Vector<T, kBytes>::Type;
  constexpr int64_t kLanes = Vector<T, kBytes>::kLanes;
  V sums[MR][NV] = {};
  for (int64_t i = 0; i < k; ++i) {
    V from_b[NV];
    for (int v = 0; v < NV; ++v) from_b[v] = *reinterpret_cast<const V*>(b + v * kLanes);
    for (int r = 0; r < MR; ++r) {
      for (int v = 0; v < NV; ++v) sums[r][v] += a[r] * from_b[v];
    }
    a += MR;
    b += NV * kLanes;
  }
  if (rows == MR && columns == NV * kLanes) {
    for (int r = 0; r < MR; ++r) {
      for (int v = 0; v < NV; ++v) {
        *reinterpret_cast<V*>(c + r * c_stride + v * kLanes) += sums[r][v];
      }
    }
    return;
  }
  alignas(64) T tile[MR][NV * kLanes];
  for (int r = 0; r < MR; ++r) {
    for (int v = 0; v < NV; ++v) *reinterpret_cast<V*>(&tile[r][v * kLanes]) = sums[r][v];
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) c[r * c_stride + j] += tile[r][j];
  }
}

template <typename T>
[[gnu::always_inline]] inline void RunAddScaled(T* __restrict to, const T* __restrict from,
                                                int64_t step, T factor, int64_t count) {
  // Steps that the compiler knows vectorise.
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
  } else if (step == 2) {
    for (int64_t i = 0; i < count; ++i) to[i] += factor * from[2 * i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i * step];
  }
}

template <typename T>
void AddScaled(T* to, const T* from, int64_t step, T factor, int64_t count) {
  RunAddScaled(to, from, step, factor, count);
}

template <typename T, size_t kBytes, int MR, int NV>
void Tile(int64_t k, const T* a, const T* b, T* c, int64_t c_stride, int64_t rows,
          int64_t columns) {
  RunTile<T, kBytes, MR, NV>(k, a, b, c, c_stride, rows, columns);
}

// 16-byte vectors are everywhere: SSE2, NEON.
constexpr MicroKernel<float> kFloat128{4, 8, Tile<float, 16, 4, 2>, AddScaled<float>};
constexpr MicroKernel<double> kDouble128{4, 4, Tile<double, 16, 4, 2>, AddScaled<double>};

// Integers wrap around.
void WrappingAddScaled(int64_t* to, const int64_t* from, int64_t step, int64_t factor,
                       int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = Plus(to[i], Times(factor, from[i * step]));
}

void WrappingTile(int64_t k, const int64_t* a, const int64_t* b, int64_t* c, int64_t c_stride,
                  int64_t rows, int64_t columns) {
  Tile<uint64_t, 16, 4, 2>(k, reinterpret_cast<const uint64_t*>(a),
                           reinterpret_cast<const uint64_t*>(b), reinterpret_cast<uint64_t*>(c),
                           c_stride, rows, columns);
}

#if defined(__x86_64__)
// Compiled for instructions that the processor may lack, and called where it has them.
__attribute__((target("avx2,fma"))) void TileAvx2(int64_t k, const float* a, const float* b,
                                                  float* c, int64_t c_stride, int64_t rows,
                                                  int64_t columns) {
  RunTile<float, 32, 6, 2>(k, a, b, c, c_stride, rows, columns);
}

__attribute__((target("avx512f"))) void TileAvx512(int64_t k, const float* a, const float* b,
                                                   float* c, int64_t c_stride, int64_t rows,
                                                   int64_t columns) {
  RunTile<float, 64, 8, 2>(k, a, b, c, c_stride, rows, columns);
}

__attribute__((target("avx2,fma"))) void AddScaledAvx2(float* to, const float* from, int64_t step,
                                                       float factor, int64_t count) {
  RunAddScaled(to, from, step, factor, count);
}

__attribute__((target("avx512f"))) void AddScaledAvx512(float* to, const float* from, int64_t step,
                                                        float factor, int64_t count) {
  RunAddScaled(to, from, step, factor, count);
}

constexpr MicroKernel<float> kFloat256{6, 16, TileAvx2, AddScaledAvx2};
constexpr MicroKernel<float> kFloat512{8, 32, TileAvx512, AddScaledAvx512};

const MicroKernel<float>& ChooseFloat() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return kFloat512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kFloat256;
  return kFloat128;
}
#else
const MicroKernel<float>& ChooseFloat() { return kFloat128; }
#endif

}  // namespace

template <>
const MicroKernel<float>& BestMicroKernel<float>() {
  static const MicroKernel<float>& best = ChooseFloat();
  return best;
}

template <>
const MicroKernel<double>& BestMicroKernel<double>() {
  return kDouble128;
}

template <>
const MicroKernel<int64_t>& BestMicroKernel<int64_t>() {
  static constexpr MicroKernel<int64_t> kWrapping{4, 4, WrappingTile, WrappingAddScaled};
  return kWrapping;
}

ProductParts ShareProduct(const KernelContext& context, int64_t m, int64_t n, int64_t k,
                          int64_t packs_a, int64_t packs_b, int64_t mr, int64_t nr) {
  // Multiplications and additions in the time that it takes to pack an element.
  constexpr double kPacking = 32;
  const double products = static_cast<double>(m) * static_cast<double>(n);
  const int64_t most = PartsFor(context, products * static_cast<double>(k));
  ProductParts best{false, 1, n};
  if (most == 1) return best;
  const auto threads = static_cast<int64_t>(context.num_threads());
  const auto rounds = [&](int64_t parts) { return (parts + threads - 1) / threads; };
  // The work of the busiest thread, for each step of k.
  double least = products + kPacking * static_cast<double>(packs_a + packs_b);
  const auto consider = [&](bool of_rows, int64_t wanted) {
    const int64_t lines = of_rows ? m : n, width = of_rows ? mr : nr;
    const int64_t each = RoundUp((lines + wanted - 1) / wanted, width);
    const int64_t parts = (lines + each - 1) / each;
    const auto turns = static_cast<double>(rounds(parts));
    const auto packed = static_cast<double>(of_rows ? packs_b : packs_a);
    const auto divided = static_cast<double>(of_rows ? packs_a : packs_b);
    const double share = turns * static_cast<double>(each) / static_cast<double>(lines);
    const double time = share * (products + kPacking * divided) + turns * kPacking * packed;
    if (time >= least) return;
    least = time;
    best = {of_rows, parts, each};
  };
  for (const bool of_rows : {false, true}) {
    consider(of_rows, std::min(threads, most));
    consider(of_rows, most);
  }
  return best;
}

}  // namespace xir::kernels
