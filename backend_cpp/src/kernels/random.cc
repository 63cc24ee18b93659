// Kernels whose results nobody knows before. One generator serves the process, as torch's does; its
// numbers are not torch's.
#include "xir/random.h"

#include <cmath>
#include <mutex>
#include <random>

#include "kernels/families.h"
#include "kernels/scratch.h"

namespace xir {
namespace {

struct Generator {
  std::mutex mutex;
  std::mt19937_64 engine{std::random_device()()};
};

Generator& TheGenerator() {
  static Generator generator;
  return generator;
}

}  // namespace

void SeedRandom(uint64_t seed) {
  Generator& generator = TheGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex);
  generator.engine.seed(seed);
}

namespace kernels {
namespace {

// Draws while it holds the generator.
class Draw {
 public:
  Draw() : lock_(TheGenerator().mutex), engine_(TheGenerator().engine) {}

  // One of [0, 1) in steps of 2^-digits.
  double Uniform(int digits) {
    return std::ldexp(static_cast<double>(engine_() >> (64 - digits)), -digits);
  }

  // One of [0, count), each as likely.
  uint64_t Below(uint64_t count) {
    const uint64_t unfair = -count % count;  // so many of the 2^64 numbers are too many
    uint64_t drawn;
    do {
      drawn = engine_();
    } while (drawn < unfair);
    return drawn % count;
  }

 private:
  std::lock_guard<std::mutex> lock_;
  std::mt19937_64& engine_;
};

// The bits of a floating dtype's significand: so many of a number below 1 are not rounded up to it.
int Digits(DType dtype) {
  switch (dtype) {
    case DType::kDouble:
      return 53;
    case DType::kHalf:
      return 11;
    case DType::kBFloat16:
      return 8;
    default:
      return 24;
  }
}

// Fills `out` with numbers that `next` draws.
template <typename Next>
Status Fill(const Ints& size, Tensor& out, Next next) {
  XIR_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(size));
  if (!IsFloating(out.dtype)) return Unsupported("other than floats");
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  OutputArray<double> result;
  XIR_RETURN_IF_ERROR(result.Init(out));
  Draw draw;
  for (int64_t i = 0; i < out.numel(); ++i) result.data()[i] = next(draw);
  return result.Commit();
}

Status Rand(const Ints& size, Tensor& out) {
  const int digits = Digits(out.dtype);
  return Fill(size, out, [digits](Draw& draw) { return draw.Uniform(digits); });
}

// Box and Muller's transform: a distance and an angle, of which one coordinate is taken.
Status RandN(const Ints& size, Tensor& out) {
  return Fill(size, out, [](Draw& draw) {
    constexpr double kTurn = 6.283185307179586;
    const double distance = std::sqrt(-2.0 * std::log(1.0 - draw.Uniform(53)));
    return distance * std::cos(kTurn * draw.Uniform(53));
  });
}

Status RandPerm(int64_t count, Tensor& out) {
  if (!IsNumeric(out.dtype) || out.dtype == DType::kBool) {
    return Unsupported("elements of this dtype");
  }
  if (count < 0) return Invalid("an order of ", count, " numbers");
  XIR_RETURN_IF_ERROR(ResizeResult(out, MakeShape({count})));
  OutputArray<int64_t> result;
  XIR_RETURN_IF_ERROR(result.Init(out));
  int64_t* numbers = result.data();
  Draw draw;
  for (int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<int64_t>(draw.Below(static_cast<uint64_t>(i) + 1));
    numbers[i] = numbers[place];
    numbers[place] = i;
  }
  return result.Commit();
}

constexpr TypedKernel kRandomRows[] = {
    MakeKernel<Rand>("aten::rand.out"),
    MakeKernel<RandN>("aten::randn.out"),
    MakeKernel<RandPerm>("aten::randperm.out"),
};

}  // namespace

KernelTable RandomKernels() { return TableOf<kRandomRows>(); }

}  // namespace kernels
}  // namespace xir
