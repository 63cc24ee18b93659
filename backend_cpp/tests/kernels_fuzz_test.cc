// Every portable kernel on arguments of the kinds that it takes and of no other sense: any dtype,
// rank and size, numbers at and beyond every edge, results in the operands' memory. A kernel
// answers or refuses; under the sanitizers it must not touch what it was not given.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/registry.h"
#include "testing.h"

namespace xir::testing {
namespace {

constexpr size_t kRounds = 200;

constexpr DType kDTypes[] = {DType::kByte, DType::kChar,     DType::kShort, DType::kInt,
                             DType::kLong, DType::kHalf,     DType::kFloat, DType::kDouble,
                             DType::kBool, DType::kBFloat16, DType::kUInt32};

// Arguments of one call, and the memory behind them.
class Arguments {
 public:
  explicit Arguments(uint64_t seed) : random_(seed) {
    // Most calls get far only with dtypes and shapes that agree.
    dtype_ = AnyDType();
    shape_ = AnyShape();
  }

  Value* Add(std::string_view kind) {
    if (kind == "a tensor") return New(AnyTensor(false));
    if (kind == "a tensor to write") return New(AnyTensor(true));
    if (kind == "a tensor or none") return Chance(3) ? New(None{}) : New(AnyTensor(false));
    if (kind == "a list of tensors to write") return New(AnyTensors(true, false));
    if (kind == "a list of tensors, none of them absent") return New(AnyTensors(false, false));
    if (kind == "a list of tensors") return New(AnyTensors(false, true));
    if (kind == "an int") return New(AnyInt());
    if (kind == "a bool") return New(Chance(2));
    if (kind == "a number") return Chance(2) ? New(AnyInt()) : New(AnyDouble());
    if (kind == "a string")
      return New(std::string(Chance(2) ? "none" : Chance(2) ? "floor" : "tanh"));
    if (kind == "a list of floats") return New(std::vector<double>{AnyDouble(), AnyDouble()});
    if (kind == "a list of ints") return New(AnyInts());
    return New(None{});
  }

 private:
  bool Chance(uint64_t one_in) { return random_() % one_in == 0; }
  DType AnyDType() { return kDTypes[random_() % std::size(kDTypes)]; }

  int64_t AnyInt() {
    constexpr int64_t kExtremes[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX,        INT32_MAX,
                                     INT32_MIN, 1 << 20,       int64_t{1} << 40, -7};
    if (Chance(8)) return kExtremes[random_() % std::size(kExtremes)];
    return static_cast<int64_t>(random_() % 8) - 2;
  }

  double AnyDouble() {
    constexpr double kExtremes[] = {0.0, -0.0, 1e300, -1e300, 1e-300, 0x1p63, -1.0, 0.5};
    if (Chance(6)) return NAN;
    return Chance(3) ? 2.0 : kExtremes[random_() % std::size(kExtremes)];
  }

  IntList AnyInts() {
    IntList list;
    for (size_t i = random_() % 6; i > 0; --i) list.items.push_back(New(AnyInt()));
    return list;
  }

  Shape AnyShape() {
    Shape shape;
    shape.rank = random_() % (Chance(20) ? kMaxRank + 1 : 6);
    for (size_t i = 0; i < shape.rank; ++i) {
      shape[i] = Chance(10) ? 0 : static_cast<int64_t>(1 + random_() % (i < 5 ? 5 : 1));
    }
    return shape;
  }

  Tensor AnyTensor(bool written) {
    Tensor tensor;
    tensor.dtype = Chance(3) ? AnyDType() : dtype_;
    tensor.shape = Chance(2) ? AnyShape() : shape_;
    for (size_t i = 0; i < tensor.rank(); ++i) tensor.dim_order[i] = static_cast<uint8_t>(i);
    if (Chance(4) && tensor.rank() == 4) tensor.dim_order = {0, 2, 3, 1};
    tensor.bound = tensor.shape;
    if (written && !Chance(8)) {
      // Room for most results of this rank, so that kernels come as far as to write.
      tensor.resizable = true;
      tensor.shape = Chance(2) ? AnyShape() : shape_;
      for (size_t i = 0; i < tensor.rank(); ++i) tensor.bound[i] = tensor.rank() > 6 ? 2 : 8;
      tensor.bound.rank = tensor.rank();
      for (size_t i = 0; i < tensor.rank(); ++i) tensor.dim_order[i] = static_cast<uint8_t>(i);
      for (size_t i = 0; i < tensor.rank(); ++i)
        tensor.shape[i] = std::min(tensor.shape[i], tensor.bound[i]);
    }
    size_t size = static_cast<size_t>(tensor.bound.numel()) * ElementSize(tensor.dtype);
    // Memory that a caller lends may be smaller than the bound, and the result's may be an
    // operand's.
    if (written && Chance(6)) size = tensor.nbytes();
    if (last_ != nullptr && Chance(5) && size <= last_size_) {
      tensor.data = last_;
    } else {
      memory_.push_back(std::make_unique<uint8_t[]>(size));
      tensor.data = size == 0 && Chance(2) ? nullptr : memory_.back().get();
      Fill(memory_.back().get(), size, tensor.dtype);
      last_ = tensor.data;
      last_size_ = size;
    }
    tensor.capacity = size;
    return tensor;
  }

  // Any bytes, or mostly small integers, which may be indices. Draws of eight bytes at once, by an
  // xorshift: most of the test's time would go to draws otherwise.
  void Fill(uint8_t* memory, size_t size, DType dtype) {
    if (dtype != DType::kInt && dtype != DType::kLong) {
      uint64_t bytes = random_() | 1;
      for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        bytes ^= bytes << 13;
        bytes ^= bytes >> 7;
        bytes ^= bytes << 17;
        std::memcpy(memory + i, &bytes, std::min(sizeof(bytes), size - i));
      }
      return;
    }
    std::memset(memory, 0, size);
    for (size_t i = 0; i < size; i += ElementSize(dtype)) {
      const uint64_t draw = random_();
      memory[i] = draw % 4;
      if (draw >> 8 & 31) continue;
      memory[i + (draw >> 16) % ElementSize(dtype)] = static_cast<uint8_t>(draw >> 24);
    }
  }

  TensorList AnyTensors(bool written, bool optional) {
    TensorList list;
    for (size_t i = random_() % 4; i > 0; --i) {
      list.items.push_back(optional && Chance(3) ? nullptr : New(AnyTensor(written)));
    }
    return list;
  }

  template <typename T>
  Value* New(T content) {
    values_.push_back(std::make_unique<Value>());
    values_.back()->content = std::move(content);
    return values_.back().get();
  }

  std::mt19937_64 random_;
  DType dtype_;
  Shape shape_;
  void* last_ = nullptr;
  size_t last_size_ = 0;
  std::vector<std::unique_ptr<uint8_t[]>> memory_;
  std::vector<std::unique_ptr<Value>> values_;
};

}  // namespace

XIR_TEST(kernels_take_anything) {
  KernelContext context;
  size_t ran = 0;
  for (const std::string_view name : PortableKernelNames()) {
    const TypedKernel& kernel = *FindPortableKernel(name);
    size_t succeeded = 0;
    for (size_t round = 0; round < kRounds; ++round) {
      Arguments arguments(round * 1'000'003 + std::hash<std::string_view>()(name));
      std::vector<Value*> args;
      for (const std::string_view kind : kernel.parameters) args.push_back(arguments.Add(kind));
      const auto written = kernel.bind(args);
      EXPECT(written.ok());
      if (written.ok() && kernel.run(context, args).ok()) ++succeeded;
    }
    ran += succeeded > 0 ? 1 : 0;
  }
  // Arguments without sense would test nothing but the first check of each kernel.
  EXPECT(ran * 10 > PortableKernelNames().size() * 7);
}

}  // namespace xir::testing
