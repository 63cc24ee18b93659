// Products of matrices: constants packed before, threads that share the work, and sizes around
// those of blocks and tiles. However a result comes about, its bits are the same.

#include <atomic>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "kernels/registry.h"
#include "testing.h"

namespace xir::testing {
namespace {

using Dims = std::vector<int64_t>;

// As many threads as there are tasks, but for the pool's size.
class Threads final : public ThreadPool {
 public:
  explicit Threads(size_t count) : count_(count) {}
  size_t num_threads() const override { return count_; }
  void ParallelFor(size_t count, void (*task)(const void*, size_t), const void* object) override {
    ++shared_;
    std::vector<std::thread> threads;
    std::atomic<size_t> next = 0;
    for (size_t t = 0; t < std::min(count_, count); ++t) {
      threads.emplace_back([&] {
        for (size_t i = next++; i < count; i = next++) task(object, i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  Result<pthreadpool*> handle() override { return nullptr; }
  // How many times there was work to share.
  int shared() const { return shared_; }

 private:
  size_t count_;
  int shared_ = 0;
};

// A tensor with its memory; a constant is read-only.
struct Array {
  Array(const Dims& sizes, std::mt19937* random, bool constant = false) {
    Tensor tensor;
    for (const int64_t size : sizes) {
      tensor.dim_order[tensor.shape.rank] = static_cast<uint8_t>(tensor.shape.rank);
      tensor.shape[tensor.shape.rank++] = size;
    }
    tensor.bound = tensor.shape;
    std::uniform_real_distribution<float> draw(-1, 1);
    data.resize(static_cast<size_t>(tensor.numel()));
    for (float& element : data) element = random == nullptr ? NAN : draw(*random);
    tensor.data = data.data();
    tensor.capacity = data.size() * sizeof(float);
    tensor.writable = !constant;
    value.content = tensor;
  }
  Array(const Array&) = delete;

  std::vector<float> data;
  Value value;
};

struct IntsValue {
  explicit IntsValue(const Dims& numbers) : items(numbers.size()) {
    IntList list;
    for (size_t i = 0; i < numbers.size(); ++i) {
      items[i].content = numbers[i];
      list.items.push_back(&items[i]);
    }
    value.content = list;
  }
  std::vector<Value> items;
  Value value;
};

struct Ways {
  bool packed = false;  // whether the constant was packed
  int shared = 0;       // how many times threads shared work
};

// Runs a kernel whose last argument is `out`: with and without its constants packed, on one thread
// and on several. All results have to have the same bits.
Ways RunAllWays(const char* name, const std::vector<Value*>& args, Array* out) {
  const TypedKernel* kernel = FindPortableKernel(name);
  auto state = kernel->prepare(args);
  EXPECT(state.ok());
  Ways ways{state.value() != nullptr, 0};
  EXPECT(!ways.packed || state.value()->nbytes() > 0);
  std::vector<float> first;
  for (const KernelState* each : {static_cast<const KernelState*>(nullptr), state.value().get()}) {
    for (const size_t count : {1, 2, 5}) {
      Threads threads(count);
      KernelContext context(&threads, each, nullptr);
      std::fill(out->data.begin(), out->data.end(), NAN);
      EXPECT_OK(kernel->run(context, args));
      if (first.empty()) first = out->data;
      EXPECT(out->data == first);
      ways.shared += threads.shared();
    }
  }
  return ways;
}

// Each result within what k roundings of terms below 1 may add up to.
void ExpectNear(float got, double wanted, int64_t k) {
  EXPECT(std::abs(got - wanted) <= 1e-7 * static_cast<double>(k + 2) * std::sqrt(k + 2.0));
}

}  // namespace

XIR_TEST(products_do_not_depend_on_threads_or_packing) {
  std::mt19937 random(7);
  const struct {
    int64_t m, n, k;
  } sizes[] = {{1, 1, 1},     {1, 1000, 300}, {5, 33, 257},    {97, 64, 512},  {200, 769, 256},
               {300, 7, 700}, {8, 32, 4096},  {129, 1537, 31}, {64, 4096, 64}, {1000, 1, 500}};
  int packed = 0, shared = 0;
  for (const auto& [m, n, k] : sizes) {
    for (const bool constant : {false, true}) {
      Array x({m, k}, &random), y({n, k}, &random, constant), bias({n}, &random);
      Array out({m, n}, nullptr);
      const Ways ways =
          RunAllWays("aten::linear.out", {&x.value, &y.value, &bias.value, &out.value}, &out);
      EXPECT(constant || !ways.packed);
      packed += ways.packed ? 1 : 0;
      shared += ways.shared;
      for (int64_t sample = 0; sample < 50; ++sample) {
        const auto i = static_cast<size_t>(random() % m), j = static_cast<size_t>(random() % n);
        const auto depth = static_cast<size_t>(k);
        double sum = bias.data[j];
        for (size_t t = 0; t < depth; ++t) {
          sum += double{x.data[i * depth + t]} * double{y.data[j * depth + t]};
        }
        ExpectNear(out.data[i * static_cast<size_t>(n) + j], sum, k);
      }
    }
  }
  EXPECT(packed > 4 && shared > 10);
}

XIR_TEST(batches_of_products_do_not_depend_on_threads_or_packing) {
  std::mt19937 random(8);
  for (const Dims& size : {Dims{1, 70, 90, 300}, Dims{3, 64, 65, 66}, Dims{12, 40, 128, 64}}) {
    const int64_t batches = size[0], m = size[1], n = size[2], k = size[3];
    Array x({batches, m, k}, &random), y({batches, k, n}, &random, true);
    Array out({batches, m, n}, nullptr);
    const Ways ways = RunAllWays("aten::bmm.out", {&x.value, &y.value, &out.value}, &out);
    EXPECT(ways.packed && ways.shared > 0);
    for (int64_t sample = 0; sample < 50; ++sample) {
      const int64_t b = random() % batches, i = random() % m, j = random() % n;
      double sum = 0;
      for (int64_t t = 0; t < k; ++t) {
        sum += double{x.data[static_cast<size_t>((b * m + i) * k + t)]} *
               double{y.data[static_cast<size_t>((b * k + t) * n + j)]};
      }
      ExpectNear(out.data[static_cast<size_t>((b * m + i) * n + j)], sum, k);
    }
  }
}

XIR_TEST(convolutions_do_not_depend_on_threads_or_packing) {
  std::mt19937 random(9);
  const struct {
    int64_t batch, groups, in, out, side, kernel, stride, padding;
    bool transposed;
  } cases[] = {
      {1, 1, 16, 24, 28, 3, 1, 1, false},  {2, 1, 32, 64, 14, 1, 1, 0, false},
      {1, 32, 32, 32, 80, 3, 2, 1, false}, {1, 8, 64, 64, 14, 3, 1, 1, false},
      {2, 2, 16, 32, 20, 5, 2, 2, false},  {1, 1, 16, 8, 15, 4, 2, 1, true},
      {3, 4, 16, 32, 9, 3, 1, 1, true},    {1, 1, 64, 512, 7, 3, 1, 1, false},
  };
  for (const auto& c : cases) {
    Array x({c.batch, c.in, c.side, c.side}, &random);
    const int64_t side = c.transposed ? (c.side - 1) * c.stride - 2 * c.padding + c.kernel
                                      : (c.side + 2 * c.padding - c.kernel) / c.stride + 1;
    Array weight(c.transposed ? Dims{c.in, c.out / c.groups, c.kernel, c.kernel}
                              : Dims{c.out, c.in / c.groups, c.kernel, c.kernel},
                 &random, true);
    Array bias({c.out}, &random), out({c.batch, c.out, side, side}, nullptr);
    IntsValue stride({c.stride, c.stride}), padding({c.padding, c.padding}), dilation({1, 1}),
        extra({0, 0});
    Value transposed{c.transposed}, groups{c.groups};
    const Ways ways =
        RunAllWays("aten::convolution.out",
                   {&x.value, &weight.value, &bias.value, &stride.value, &padding.value,
                    &dilation.value, &transposed, &extra.value, &groups, &out.value},
                   &out);
    EXPECT(ways.shared > 0);
    EXPECT(ways.packed == (c.groups < c.in));
    const int64_t in_group = c.in / c.groups, out_group = c.out / c.groups;
    for (int64_t sample = 0; sample < 60; ++sample) {
      const int64_t n = random() % c.batch, o = random() % c.out, v = random() % side,
                    u = random() % side;
      const int64_t group = o / out_group;
      double sum = bias.data[static_cast<size_t>(o)];
      for (int64_t i = 0; i < in_group; ++i) {
        for (int64_t ky = 0; ky < c.kernel; ++ky) {
          for (int64_t kx = 0; kx < c.kernel; ++kx) {
            int64_t sy = v * c.stride + ky - c.padding, sx = u * c.stride + kx - c.padding;
            if (c.transposed) {
              sy = v + c.padding - ky;
              sx = u + c.padding - kx;
              if (sy % c.stride != 0 || sx % c.stride != 0) continue;
              sy /= c.stride;
              sx /= c.stride;
            }
            if (sy < 0 || sx < 0 || sy >= c.side || sx >= c.side) continue;
            const int64_t channel = group * in_group + i;
            const int64_t w = c.transposed
                                  ? (channel * out_group + o % out_group) * c.kernel * c.kernel
                                  : (o * in_group + i) * c.kernel * c.kernel;
            sum += double{x.data[static_cast<size_t>(((n * c.in + channel) * c.side + sy) * c.side +
                                                     sx)]} *
                   double{weight.data[static_cast<size_t>(w + ky * c.kernel + kx)]};
          }
        }
      }
      ExpectNear(out.data[static_cast<size_t>(((n * c.out + o) * side + v) * side + u)], sum,
                 in_group * c.kernel * c.kernel);
    }
  }
}

// A state is of the constant that it was made of: other memory is read as it is.
XIR_TEST(packed_operands_are_known_again) {
  std::mt19937 random(10);
  Array x({4, 40}, &random), y({40, 64}, &random, true), other({40, 64}, &random);
  Array out({4, 64}, nullptr), expected({4, 64}, nullptr);
  const TypedKernel* kernel = FindPortableKernel("aten::mm.out");
  std::vector<Value*> args = {&x.value, &y.value, &out.value};
  auto state = kernel->prepare(args);
  EXPECT(state.ok() && state.value() != nullptr);
  args[1] = &other.value;
  KernelContext with(nullptr, state.value().get(), nullptr), without;
  EXPECT_OK(kernel->run(with, args));
  args[2] = &expected.value;
  EXPECT_OK(kernel->run(without, args));
  EXPECT(out.data == expected.data);
  EXPECT(kernel->prepare(args).value() == nullptr);  // nothing constant
}

}  // namespace xir::testing
