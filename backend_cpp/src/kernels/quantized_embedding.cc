// Rows of tables in 8, 4 and 2 bits, dequantised as they are looked up. A scale, and a zero point
// where there are any, is for a row or for each group of neighbours in it.
//
// Schemas, and how integers below 8 bits are packed: `kernels/quantized/cpu/op_embedding*.cpp` and
// `exir/passes/_quant_patterns_and_replacements.py` of pytorch/executorch 1.5.
#include <algorithm>

#include "kernels/families.h"
#include "kernels/scratch.h"

namespace xir::kernels {
namespace {

// The elements of a row, as many as `count` says, from its bytes.
using Unpack = void (*)(const void* bytes, int64_t count, float* to);

template <typename T>
void UnpackBytes(const void* bytes, int64_t count, float* to) {
  const T* from = static_cast<const T*>(bytes);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

// From -8 to 7, with 8 added; the first of two is in the high half of its byte.
void UnpackNibbles(const void* bytes, int64_t count, float* to) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  for (int64_t i = 0; i < count; i += 2) {
    const int byte = from[i / 2];
    to[i] = static_cast<float>((byte >> 4) - 8);
    to[i + 1] = static_cast<float>((byte & 15) - 8);
  }
}

// From -2 to 1, with 2 added; the first of four is in the lowest bits of its byte.
void UnpackPairs(const void* bytes, int64_t count, float* to) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<float>((from[i / 4] >> (i % 4 * 2) & 3) - 2);
  }
}

Status CheckTable(const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
                  int64_t features, const Tensor& out) {
  if (!IsShortFloat(scales.dtype) || !IsShortFloat(out.dtype)) {
    return Unsupported("scales or results other than floats up to 32 bits");
  }
  if (!weight.is_contiguous() || !scales.is_contiguous() || !out.is_contiguous()) {
    return Unsupported("a table in another order");
  }
  if (scales.rank() != 1 && scales.rank() != 2) return Invalid("scales of rank ", scales.rank());
  const int64_t groups = scales.rank() == 2 ? scales.shape[1] : 1;
  if (scales.shape[0] != weight.shape[0] || groups < 1 || features % groups != 0) {
    return Invalid("scales ", scales.shape.ToString(), " for ", weight.shape[0], " rows of ",
                   features, " elements");
  }
  if (zero_points == nullptr) return {};
  if (!IsNumeric(zero_points->dtype) || !zero_points->is_contiguous()) {
    return Unsupported("zero points that are no numbers, or in another order");
  }
  return zero_points->shape == scales.shape ? Status() : Mismatch(zero_points->shape, scales.shape);
}

// `count` numbers of a tensor from number `first` on.
void Read(const Tensor& tensor, int64_t first, int64_t count, float* to) {
  const auto size = static_cast<int64_t>(ElementSize(tensor.dtype));
  LoaderOf(tensor.dtype, Compute::kFloat)(tensor.as<uint8_t>() + first * size, 1, count, to);
}

Status LookUp(const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
              const Tensor& indices, int64_t per_byte, Unpack unpack, Tensor& out) {
  if (weight.rank() != 2 || indices.rank() + 1 > kMaxRank) {
    return Mismatch(weight.shape, indices.shape);
  }
  if (indices.dtype != DType::kLong && indices.dtype != DType::kInt) {
    return Unsupported("indices of this dtype");
  }
  const int64_t bytes = weight.shape[1];
  int64_t features;
  if (__builtin_mul_overflow(bytes, per_byte, &features)) return Invalid("rows of ", bytes);
  XIR_RETURN_IF_ERROR(CheckTable(weight, scales, zero_points, features, out));
  Shape shape = indices.shape;
  shape[shape.rank++] = features;
  InputArray<int64_t> rows;
  XIR_RETURN_IF_ERROR(rows.Init(indices));
  const int64_t count = indices.numel();
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));
  if (out.numel() == 0) return {};
  const int64_t groups = scales.rank() == 2 ? scales.shape[1] : 1, length = features / groups;
  Scratch<float> numbers, factors, shifts;
  XIR_RETURN_IF_ERROR(numbers.Allocate(features));
  XIR_RETURN_IF_ERROR(factors.Allocate(groups));
  XIR_RETURN_IF_ERROR(shifts.Allocate(groups));
  std::fill_n(shifts.data(), groups, 0.0f);
  const auto store = StorerOf(out.dtype, Compute::kFloat);
  const auto size = static_cast<int64_t>(ElementSize(out.dtype));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = rows.data()[i];
    if (row < 0 || row >= weight.shape[0]) {
      return Invalid("index ", row, " of ", weight.shape[0]);
    }
    unpack(weight.as<uint8_t>() + row * bytes, features, numbers.data());
    Read(scales, row * groups, groups, factors.data());
    if (zero_points != nullptr) Read(*zero_points, row * groups, groups, shifts.data());
    for (int64_t group = 0; group < groups; ++group) {
      const float shift = shifts.data()[group], factor = factors.data()[group];
      float* part = numbers.data() + group * length;
      for (int64_t j = 0; j < length; ++j) part[j] = (part[j] - shift) * factor;
    }
    store(numbers.data(), features, out.as<uint8_t>() + i * features * size, 1);
  }
  return {};
}

Status EmbeddingByte(const Tensor& weight, const Tensor& scales, const Tensor* zero_points, Unused,
                     Unused, const Tensor& indices, Tensor& out) {
  if (weight.dtype != DType::kChar && weight.dtype != DType::kByte) {
    return Unsupported("a table of this dtype");
  }
  const Unpack unpack = weight.dtype == DType::kChar ? UnpackBytes<int8_t> : UnpackBytes<uint8_t>;
  return LookUp(weight, scales, zero_points, indices, 1, unpack, out);
}

// Integers below 8 bits: `per_byte` of them in each byte.
template <int64_t per_byte, Unpack unpack>
Status EmbeddingPacked(const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
                       Unused, Unused, const Tensor& indices, Tensor& out) {
  if (weight.dtype != DType::kByte) return Unsupported("a packed table of this dtype");
  return LookUp(weight, scales, zero_points, indices, per_byte, unpack, out);
}

// With the dtype of the result, which its tensor repeats.
template <auto lookup>
Status WithDtype(const Tensor& weight, const Tensor& scales, const Tensor* zero_points, Unused low,
                 Unused high, const Tensor& indices, Unused, Tensor& out) {
  return lookup(weight, scales, zero_points, low, high, indices, out);
}

constexpr auto Embedding4Bit = EmbeddingPacked<2, UnpackNibbles>;
constexpr auto Embedding2Bit = EmbeddingPacked<4, UnpackPairs>;

#define XIR_NAME(name) "quantized_decomposed::embedding_" name

constexpr TypedKernel kQuantizedEmbeddingRows[] = {
    MakeKernel<WithDtype<Embedding2Bit>>(XIR_NAME("2bit.dtype_out")),
    MakeKernel<Embedding2Bit>(XIR_NAME("2bit.out")),
    MakeKernel<WithDtype<Embedding4Bit>>(XIR_NAME("4bit.dtype_out")),
    MakeKernel<Embedding4Bit>(XIR_NAME("4bit.out")),
    MakeKernel<WithDtype<EmbeddingByte>>(XIR_NAME("byte.dtype_out")),
    MakeKernel<EmbeddingByte>(XIR_NAME("byte.out")),
};

#undef XIR_NAME

}  // namespace

KernelTable QuantizedEmbeddingKernels() { return TableOf<kQuantizedEmbeddingRows>(); }

}  // namespace xir::kernels
