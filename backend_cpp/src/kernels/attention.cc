// Attention over caches of keys and values, as ExecuTorch's language models call it, and what
// writes to these caches. Caches are [batch, window, heads, features].
//
// Schemas and behaviour: `extension/llm/custom_ops` of pytorch/executorch.
#include <algorithm>
#include <cmath>
#include <cstring>
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

// One call of attention: query [N, L, H, E]; key and value [N, window, heads, E].
struct Attention {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const float* mask;  // [L, keys], added to the scores; null without one
  int64_t first;      // the position of the first query
  bool causal;
  float scale;
  int64_t keys;

  int64_t length() const { return query.shape[1]; }
  int64_t features() const { return query.shape[3]; }
  int64_t heads() const { return key.shape[2]; }
  int64_t group() const { return query.shape[2] / heads(); }

  // How many keys the query of this number may see.
  int64_t Seen(int64_t number) const { return causal ? std::min(first + number + 1, keys) : keys; }
};

// The keys or values of one head: where they are, or converted.
Status ReadHead(const Tensor& cache, int64_t batch, int64_t head, int64_t count,
                Scratch<float>* converted, FloatRows* rows) {
  const int64_t features = cache.shape[3], stride = cache.shape[2] * features;
  const int64_t offset = batch * cache.shape[1] * stride + head * features;
  if (cache.dtype == DType::kFloat) {
    *rows = {cache.as<float>() + offset, stride};
    return {};
  }
  XIR_RETURN_IF_ERROR(converted->Allocate(count * features));
  const auto load = LoaderOf(cache.dtype, Compute::kFloat);
  const auto size = static_cast<int64_t>(ElementSize(cache.dtype));
  for (int64_t i = 0; i < count; ++i) {
    load(cache.as<uint8_t>() + (offset + i * stride) * size, 1, features,
         converted->data() + i * features);
  }
  *rows = {converted->data(), features};
  return {};
}

// Products of fewer rows than this take less time than packing keys and values for them.
constexpr int64_t kRowsToPack = 16;

// The queries [begin, end) of a group of heads that share one of keys and values. Their rows
// are one behind the other, so that keys and values are read once for all of them.
Status AttendGroup(const Attention& call, int64_t batch, int64_t head, int64_t begin, int64_t end,
                   Tensor& out) {
  const int64_t features = call.features(), group = call.group(), width = call.query.shape[2];
  const int64_t keys = call.Seen(end - 1), count = (end - begin) * group;
  Scratch<float> queries, scores, results, key_copy, value_copy;
  FloatRows key, value;
  const AttentionLoops& loops = BestAttentionLoops();
  XIR_RETURN_IF_ERROR(queries.Allocate(count * features));
  XIR_RETURN_IF_ERROR(scores.Allocate(count * keys));
  XIR_RETURN_IF_ERROR(results.Allocate(count * features));
  XIR_RETURN_IF_ERROR(ReadHead(call.key, batch, head, keys, &key_copy, &key));
  XIR_RETURN_IF_ERROR(ReadHead(call.value, batch, head, keys, &value_copy, &value));
  const auto size = static_cast<int64_t>(ElementSize(call.query.dtype));
  const auto offset_of = [&](int64_t number) {
    return ((batch * call.length() + number) * width + head * group) * features;
  };
  const auto load = LoaderOf(call.query.dtype, Compute::kFloat);
  for (int64_t i = begin; i < end; ++i) {
    load(call.query.as<uint8_t>() + offset_of(i) * size, 1, group * features,
         queries.data() + (i - begin) * group * features);
  }
  std::for_each_n(queries.data(), count * features, [&](float& x) { x *= call.scale; });
  std::fill_n(scores.data(), count * keys, 0.0f);
  if (count < kRowsToPack) {
    loops.dot_products(queries.data(), count, key, keys, features, scores.data());
  } else {
    XIR_RETURN_IF_ERROR(MultiplyBlock<float>(
        {0, count}, {0, keys}, features, LinesOf<float>{queries.data(), features, 1},
        LinesOf<float>{key.data, key.stride, 1}, scores.data(), keys));
  }
  for (int64_t row = 0; row < count; ++row) {
    const int64_t number = begin + row / group;
    float* line = scores.data() + row * keys;
    for (int64_t j = 0; call.mask != nullptr && j < keys; ++j) {
      line[j] += call.mask[number * call.keys + j];
    }
    loops.softmax(line, call.Seen(number), keys);
  }
  std::fill_n(results.data(), count * features, 0.0f);
  if (count < kRowsToPack) {
    loops.weighted_sums(scores.data(), count, value, keys, features, results.data());
  } else {
    XIR_RETURN_IF_ERROR(MultiplyBlock<float>(
        {0, count}, {0, features}, keys, LinesOf<float>{scores.data(), keys, 1},
        LinesOf<float>{value.data, 1, value.stride}, results.data(), features));
  }
  const auto store = StorerOf(out.dtype, Compute::kFloat);
  for (int64_t i = begin; i < end; ++i) {
    store(results.data() + (i - begin) * group * features, group * features,
          out.as<uint8_t>() + offset_of(i) * size, 1);
  }
  return {};
}

Status CheckAttention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const Tensor* mask, int64_t first, bool causal, const Tensor& out) {
  if (!IsFloating(query.dtype) || query.dtype == DType::kDouble ||
      !SameType(out, query, key, value)) {
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
  const int64_t length = query.shape[1];
  const double usual = 1.0 / std::sqrt(static_cast<double>(query.shape[3]));
  const Attention call{query,
                       key,
                       value,
                       mask == nullptr ? nullptr : mask->as<float>(),
                       mask == nullptr ? first : 0,
                       causal,
                       static_cast<float>(scale.value_or(usual)),
                       mask == nullptr ? first + length : key.shape[1]};
  // As many queries at a time as keep their scores in the second-level cache.
  constexpr int64_t kScores = 1 << 16;
  const int64_t step = std::clamp<int64_t>(kScores / (call.keys * call.group()), 1, length);
  const int64_t steps = (length + step - 1) / step, heads = call.heads();
  const double operations =
      2.0 * static_cast<double>(query.numel()) * static_cast<double>(call.keys);
  return ParallelRanges(context, query.shape[0] * heads * steps, operations,
                        [&](int64_t begin, int64_t end) -> Status {
                          for (int64_t i = begin; i < end; ++i) {
                            if (context.cancelled()) return {};
                            const int64_t head = i / steps, from = i % steps * step;
                            XIR_RETURN_IF_ERROR(AttendGroup(call, head / heads, head % heads, from,
                                                            std::min(from + step, length), out));
                          }
                          return {};
                        });
}

constexpr TypedKernel kRows[] = {
    MakeKernel<CustomSdpa>("llama::custom_sdpa.out"),
    MakeKernel<UpdateCache>("llama::update_cache.out"),
};

}  // namespace

KernelTable AttentionKernels() { return TableOf(kRows); }

}  // namespace xir::kernels
