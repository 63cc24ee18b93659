// Attention over caches of keys and values, and what writes to these caches: as ExecuTorch's
// language models call it, over caches [batch, window, heads, features], and as xir's programs do,
// over caches [batch, heads, window, features].
//
// Schemas and behaviour of `llama::`: `extension/llm/custom_ops` of pytorch/executorch.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "kernels/attention_rows.h"
#include "kernels/families.h"
#include "kernels/gemm.h"
#include "kernels/parallel.h"
#include "kernels/scratch.h"

namespace xir::kernels {
namespace {

bool AreContiguous(std::initializer_list<const Tensor*> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const Tensor* tensor) { return tensor->is_contiguous(); });
}

// cache[:, start : start + length] = value. What the operator returns is a placeholder.
Status UpdateCache(const Tensor& value, Tensor& cache, int64_t start, Tensor&) {
  if (value.dtype != cache.dtype) return Unsupported("other dtypes");
  if (!AreContiguous({&value, &cache})) return Unsupported("another order");
  if (value.rank() != 4 || cache.rank() != 4) return Mismatch(value.shape, cache.shape);
  for (const size_t dim : {0, 2, 3}) {
    if (value.shape[dim] != cache.shape[dim]) return Mismatch(value.shape, cache.shape);
  }
  const int64_t length = value.shape[1], window = cache.shape[1];
  if (start < 0 || length > window || start > window - length) {
    return Invalid(length, " positions from ", start, " on, in a cache of ", window);
  }
  const size_t row = static_cast<size_t>(Count(cache.shape, 2, 4)) * ElementSize(cache.dtype);
  const size_t taken = row * static_cast<size_t>(length);
  if (taken == 0) return {};
  for (int64_t batch = 0; batch < cache.shape[0]; ++batch) {
    std::memmove(cache.as<uint8_t>() + row * static_cast<size_t>(batch * window + start),
                 value.as<uint8_t>() + taken * static_cast<size_t>(batch), taken);
  }
  return {};
}

// A tensor of heads [batch, positions, heads, features], or [batch, heads, positions, features].
struct Heads {
  const Tensor* tensor = nullptr;
  // How many elements it is from one to the next.
  int64_t batch = 0, position = 0, head = 0;

  const uint8_t* At(int64_t n, int64_t at, int64_t h) const {
    return tensor->as<uint8_t>() + (n * batch + at * position + h * head) * size();
  }
  int64_t size() const { return static_cast<int64_t>(ElementSize(tensor->dtype)); }
  int64_t features() const { return tensor->shape[3]; }
};

Heads InPositions(const Tensor& tensor) {
  const int64_t position = tensor.shape[2] * tensor.shape[3];
  return {&tensor, tensor.shape[1] * position, position, tensor.shape[3]};
}

Heads OfPositions(const Tensor& tensor) {
  const int64_t head = tensor.shape[2] * tensor.shape[3];
  return {&tensor, tensor.shape[1] * head, tensor.shape[3], head};
}

// What is added to the scores of a query: rows of `keys` floats, or of booleans that hide where
// they are false; one for each query, or one for all. Without data nothing is.
struct Mask {
  const Tensor* tensor = nullptr;
  bool is_shared = false;

  void Apply(int64_t number, int64_t keys, float* scores) const {
    if (tensor == nullptr) return;
    const int64_t first = is_shared ? 0 : number * keys;
    if (tensor->dtype == DType::kBool) {
      const auto* seen = tensor->as<uint8_t>() + first;
      constexpr float kHidden = -std::numeric_limits<float>::infinity();
      for (int64_t j = 0; j < keys; ++j) scores[j] = seen[j] != 0 ? scores[j] : kHidden;
    } else {
      const float* added = tensor->as<float>() + first;
      for (int64_t j = 0; j < keys; ++j) scores[j] += added[j];
    }
  }
};

// One call of attention.
struct Attention {
  Heads query, key, value, out;
  int64_t batches, length, heads;  // of queries; of keys and values
  int64_t group;                   // how many heads of queries share one of keys and values
  int64_t keys;                    // the first ones are attended to
  Mask mask;
  bool causal;  // the query of number i, at position `first` + i, sees no key behind it
  int64_t first;
  float scale;
  // Keys and values in 8 bits have a float for each position and head that they are times;
  // without tensors others have none.
  Heads key_scales = {}, value_scales = {};

  // How many keys the query of this number may see.
  int64_t Seen(int64_t number) const { return causal ? std::min(first + number + 1, keys) : keys; }
};

// The keys or values of one head: where they are, or converted.
Status ReadHead(const Heads& cache, int64_t batch, int64_t head, int64_t count,
                Scratch<float>* converted, FloatRows* rows) {
  const int64_t features = cache.features();
  if (cache.tensor->dtype == DType::kFloat) {
    *rows = {reinterpret_cast<const float*>(cache.At(batch, 0, head)), cache.position};
    return {};
  }
  XIR_RETURN_IF_ERROR(converted->Allocate(count * features));
  const auto load = LoaderOf(cache.tensor->dtype, Compute::kFloat);
  const auto widen = BestAttentionLoops().widen;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* from = cache.At(batch, i, head);
    float* to = converted->data() + i * features;
    if (cache.tensor->dtype == DType::kHalf) {
      widen(reinterpret_cast<const uint16_t*>(from), features, to);
    } else {
      load(from, 1, features, to);
    }
  }
  *rows = {converted->data(), features};
  return {};
}

ByteRows BytesOf(const Heads& cache, int64_t batch, int64_t head) {
  return {reinterpret_cast<const int8_t*>(cache.At(batch, 0, head)), cache.position};
}

// Products of fewer rows than this take less time than packing keys and values for them.
constexpr int64_t kRowsToPack = 16;

// Scores of `count` rows of queries, `keys` each.
Status Score(const Attention& call, int64_t batch, int64_t head, const float* queries,
             int64_t count, int64_t keys, float* scores) {
  const int64_t features = call.key.features();
  const AttentionLoops& loops = BestAttentionLoops();
  std::fill_n(scores, count * keys, 0.0f);
  if (call.key.tensor->dtype == DType::kChar && count < kRowsToPack) {
    loops.byte_dot_products(queries, count, BytesOf(call.key, batch, head), keys, features, scores);
    return {};
  }
  Scratch<float> copy;
  FloatRows key;
  XIR_RETURN_IF_ERROR(ReadHead(call.key, batch, head, keys, &copy, &key));
  if (count < kRowsToPack) {
    loops.dot_products(queries, count, key, keys, features, scores);
    return {};
  }
  return MultiplyBlock<float>({0, count}, {0, keys}, features, LinesOf<float>{queries, features, 1},
                              LinesOf<float>{key.data, key.stride, 1}, scores, keys);
}

// Sums of values by their weights, `keys` for each of `count` rows.
Status SumValues(const Attention& call, int64_t batch, int64_t head, const float* weights,
                 int64_t count, int64_t keys, float* results) {
  const int64_t features = call.value.features();
  const AttentionLoops& loops = BestAttentionLoops();
  std::fill_n(results, count * features, 0.0f);
  if (call.value.tensor->dtype == DType::kChar && count < kRowsToPack) {
    loops.byte_weighted_sums(weights, count, BytesOf(call.value, batch, head), keys, features,
                             results);
    return {};
  }
  Scratch<float> copy;
  FloatRows value;
  XIR_RETURN_IF_ERROR(ReadHead(call.value, batch, head, keys, &copy, &value));
  if (count < kRowsToPack) {
    loops.weighted_sums(weights, count, value, keys, features, results);
    return {};
  }
  return MultiplyBlock<float>({0, count}, {0, features}, keys, LinesOf<float>{weights, keys, 1},
                              LinesOf<float>{value.data, 1, value.stride}, results, features);
}

// Each of `keys` numbers times its scale, if there are scales.
void Scale(const Heads& scales, int64_t batch, int64_t head, int64_t keys, float* numbers) {
  if (scales.tensor == nullptr) return;
  const auto* factors = reinterpret_cast<const float*>(scales.At(batch, 0, head));
  for (int64_t j = 0; j < keys; ++j) numbers[j] *= factors[j];
}

// The queries [begin, end) of a group of heads that share one of keys and values. Their rows
// are one behind the other, so that keys and values are read once for all of them. Scales of keys
// are scales of scores, those of values are scales of weights.
Status AttendGroup(const Attention& call, int64_t batch, int64_t head, int64_t begin, int64_t end) {
  const int64_t group = call.group, keys = call.Seen(end - 1), count = (end - begin) * group;
  const int64_t features = call.query.features(), results_of_row = call.value.features();
  Scratch<float> queries, scores, results;
  XIR_RETURN_IF_ERROR(queries.Allocate(count * features));
  XIR_RETURN_IF_ERROR(scores.Allocate(count * keys));
  XIR_RETURN_IF_ERROR(results.Allocate(count * results_of_row));
  const auto load = LoaderOf(call.query.tensor->dtype, Compute::kFloat);
  for (int64_t row = 0; row < count; ++row) {
    load(call.query.At(batch, begin + row / group, head * group + row % group), 1, features,
         queries.data() + row * features);
  }
  std::for_each_n(queries.data(), count * features, [&](float& x) { x *= call.scale; });
  XIR_RETURN_IF_ERROR(Score(call, batch, head, queries.data(), count, keys, scores.data()));
  for (int64_t row = 0; row < count; ++row) {
    const int64_t number = begin + row / group;
    float* line = scores.data() + row * keys;
    Scale(call.key_scales, batch, head, keys, line);
    call.mask.Apply(number, keys, line);
    BestAttentionLoops().softmax(line, call.Seen(number), keys);
    Scale(call.value_scales, batch, head, keys, line);
  }
  XIR_RETURN_IF_ERROR(SumValues(call, batch, head, scores.data(), count, keys, results.data()));
  const auto store = StorerOf(call.out.tensor->dtype, Compute::kFloat);
  for (int64_t row = 0; row < count; ++row) {
    const uint8_t* to = call.out.At(batch, begin + row / group, head * group + row % group);
    store(results.data() + row * results_of_row, results_of_row, const_cast<uint8_t*>(to), 1);
  }
  return {};
}

// Each group of heads for as many queries at a time as keep their scores in the second-level cache.
Status Attend(KernelContext& context, const Attention& call) {
  constexpr int64_t kScores = 1 << 16;
  const int64_t step =
      std::clamp<int64_t>(kScores / (call.keys * call.group), 1, std::max<int64_t>(call.length, 1));
  const int64_t steps = (call.length + step - 1) / step;
  const double operations =
      static_cast<double>(call.query.tensor->numel()) * static_cast<double>(call.keys) * 2.0;
  return ParallelRanges(
      context, call.batches * call.heads * steps, operations,
      [&](int64_t begin, int64_t end) -> Status {
        for (int64_t i = begin; i < end; ++i) {
          if (context.cancelled()) return {};
          const int64_t head = i / steps, from = i % steps * step;
          XIR_RETURN_IF_ERROR(AttendGroup(call, head / call.heads, head % call.heads, from,
                                          std::min(from + step, call.length)));
        }
        return {};
      });
}

float ScaleOf(std::optional<double> scale, int64_t features) {
  return static_cast<float>(scale.value_or(1.0 / std::sqrt(static_cast<double>(features))));
}

Status CheckAttention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const Tensor* mask, int64_t first, bool causal, const Tensor& out) {
  if (!IsShortFloat(query.dtype) || !SameType(out, query, key, value)) {
    return Unsupported("attention of other than floats of one dtype");
  }
  if (!AreContiguous({&query, &key, &value, &out})) return Unsupported("another order");
  if (query.rank() != 4 || key.rank() != 4 || out.rank() != 4 || value.shape != key.shape ||
      query.shape[0] != key.shape[0] || query.shape[3] != key.shape[3] || key.shape[2] == 0 ||
      query.shape[2] % key.shape[2] != 0) {
    return Invalid("query ", query.shape.ToString(), ", key ", key.shape.ToString(), " and value ",
                   value.shape.ToString(), " do not fit");
  }
  const int64_t length = query.shape[1], window = key.shape[1];
  if (window == 0) return Invalid("attention to no keys");
  if (mask != nullptr) {
    if (causal) return Invalid("a mask and a causal one");
    if (mask->dtype != DType::kFloat || !mask->is_contiguous()) return Unsupported("this mask");
    return mask->shape == MakeShape({length, window}) ? Status() : Mismatch(mask->shape, key.shape);
  }
  if (first < 0 || length > window || first > window - length) {
    return Invalid(length, " positions from ", first, " on, in a cache of ", window);
  }
  return {};
}

// softmax(scale · query · keyᵀ + mask) · value over the positions up to the last query's, or over
// the whole cache with a mask. Heads of queries share those of keys and values in groups.
Status CustomSdpa(KernelContext& context, const Tensor& query, const Tensor& key,
                  const Tensor& value, int64_t first, const Tensor* mask, double dropout,
                  bool causal, std::optional<double> scale, Tensor& out) {
  if (dropout != 0.0) return Unsupported("dropout");
  XIR_RETURN_IF_ERROR(CheckAttention(query, key, value, mask, first, causal, out));
  XIR_RETURN_IF_ERROR(ResizeResult(out, query.shape));
  if (out.numel() == 0) return {};
  const int64_t length = query.shape[1], heads = key.shape[2];
  return Attend(context, {InPositions(query), InPositions(key), InPositions(value),
                          InPositions(out), query.shape[0], length, heads, query.shape[2] / heads,
                          mask == nullptr ? first + length : key.shape[1], Mask{mask}, causal,
                          mask == nullptr ? first : 0, ScaleOf(scale, query.shape[3])});
}

// Keys and values are floats, or integers of 8 bits with scales [N, H, window, 1] for both.
Status CheckCache(const Tensor& key, const Tensor& value, const Tensor* key_scales,
                  const Tensor* value_scales) {
  if (!SameType(key, value)) return Unsupported("keys and values of two dtypes");
  if (key.dtype != DType::kChar) {
    if (!IsShortFloat(key.dtype)) return Unsupported("keys and values of this dtype");
    const bool has_scales = key_scales != nullptr || value_scales != nullptr;
    return has_scales ? Invalid("floats with scales") : Status();
  }
  for (const Tensor* scales : {key_scales, value_scales}) {
    if (scales == nullptr) return Invalid("integers without scales");
    if (scales->dtype != DType::kFloat || !scales->is_contiguous()) {
      return Unsupported("these scales");
    }
    const Shape& k = key.shape;
    if (scales->shape != MakeShape({k[0], k[1], k[2], 1})) return Mismatch(scales->shape, k);
  }
  return {};
}

Status CheckPrefix(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                   const Tensor& out) {
  if (!IsShortFloat(query.dtype) || !SameType(out, query)) {
    return Unsupported("attention of other than floats up to 32 bits");
  }
  if (mask.dtype != DType::kFloat && mask.dtype != DType::kBool) return Unsupported("this mask");
  if (!AreContiguous({&query, &key, &value, &mask, &out})) return Unsupported("another order");
  const Shape &q = query.shape, &k = key.shape, &v = value.shape, &m = mask.shape;
  if (query.rank() != 4 || key.rank() != 4 || value.rank() != 4 || q[0] != k[0] || q[3] != k[3] ||
      v != MakeShape({k[0], k[1], k[2], v[3]}) || k[1] == 0 || q[1] % k[1] != 0) {
    return Invalid("query ", q.ToString(), ", key ", k.ToString(), " and value ", v.ToString(),
                   " do not fit");
  }
  const size_t rank = mask.rank();
  const bool is_fitting = rank >= 2 && Count(m, 0, rank - 2) == 1 &&
                          (m[rank - 2] == 1 || m[rank - 2] == q[2]) && m[rank - 1] <= k[2];
  return is_fitting && m[rank - 1] > 0 ? Status() : Mismatch(m, k);
}

// softmax(scale · query · keyᵀ + mask) · value over as many keys as the mask has columns. Query
// [N, G·H, L, E], key [N, H, window, E], value [N, H, window, F], mask […, L or 1, keys]. Keys and
// values in 8 bits are times their scales [N, H, window, 1].
Status AttendPrefix(KernelContext& context, const Tensor& query, const Tensor& key,
                    const Tensor& value, const Tensor& mask, const Tensor* key_scales,
                    const Tensor* value_scales, std::optional<double> scale, Tensor& out) {
  XIR_RETURN_IF_ERROR(CheckPrefix(query, key, value, mask, out));
  XIR_RETURN_IF_ERROR(CheckCache(key, value, key_scales, value_scales));
  const Shape &q = query.shape, &m = mask.shape;
  XIR_RETURN_IF_ERROR(ResizeResult(out, MakeShape({q[0], q[1], q[2], value.shape[3]})));
  if (out.numel() == 0) return {};
  Attention call{OfPositions(query),
                 OfPositions(key),
                 OfPositions(value),
                 OfPositions(out),
                 q[0],
                 q[2],
                 key.shape[1],
                 q[1] / key.shape[1],
                 m[mask.rank() - 1],
                 Mask{&mask, m[mask.rank() - 2] == 1},
                 /*causal=*/false,
                 /*first=*/0,
                 ScaleOf(scale, q[3])};
  if (key_scales != nullptr) {
    call.key_scales = OfPositions(*key_scales);
    call.value_scales = OfPositions(*value_scales);
  }
  return Attend(context, call);
}

constexpr TypedKernel kAttentionRows[] = {
    MakeKernel<CustomSdpa>("llama::custom_sdpa.out"),
    MakeKernel<UpdateCache>("llama::update_cache.out"),
    MakeKernel<AttendPrefix>("xir::attend_prefix.out"),
};

}  // namespace

KernelTable AttentionKernels() { return TableOf<kAttentionRows>(); }

}  // namespace xir::kernels
