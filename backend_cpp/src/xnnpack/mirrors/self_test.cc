#include "xnnpack/mirrors/self_test.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/guard.h"
#include "xnnpack/handles.h"

namespace xir {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kTolerance = 1e-5f;  // of the larger of a result and 1; kernels are nearer
constexpr size_t kExtraBytes = 16;   // XNN_EXTRA_BYTES, which kernels may read behind a tensor
constexpr float kLeft[] = {-2.5f, 2.5f};
constexpr float kRight[] = {1.5f, 0.75f};

// What an output should hold, and what it does hold.
struct Expected {
  std::string what;
  uint32_t id;
  std::vector<uint8_t> wanted;
  bool exact;  // bits; otherwise floats within the tolerance, NaN for anything
  std::vector<uint8_t> got;
};

template <typename T>
std::vector<uint8_t> BytesOf(const std::vector<T>& values, size_t extra = 0) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T) + extra);
  std::memcpy(bytes.data(), values.data(), values.size() * sizeof(T));
  return bytes;
}

bool Matches(const Expected& expected) {
  if (expected.exact) {
    return std::memcmp(expected.wanted.data(), expected.got.data(), expected.wanted.size()) == 0;
  }
  for (size_t at = 0; at < expected.wanted.size(); at += sizeof(float)) {
    float wanted;
    float got;
    std::memcpy(&wanted, expected.wanted.data() + at, sizeof(float));
    std::memcpy(&got, expected.got.data() + at, sizeof(float));
    if (std::isnan(wanted)) continue;
    if (!(std::abs(got - wanted) <= kTolerance * std::fmax(1.0f, std::abs(wanted)))) return false;
  }
  return true;
}

// A weights cache that finds nothing and keeps what is inserted, to see that XNNPACK calls each
// function of the table as the one it is.
class Cache {
 public:
  Cache() {
    provider_.context = this;
    provider_.look_up = [](void*, const xnn_weights_cache_look_up_key*) { return SIZE_MAX; };
    provider_.reserve_space = [](void* context, size_t size) -> void* {
      auto* cache = static_cast<Cache*>(context);
      return cache->self_ != cache
                 ? nullptr
                 : GuardedOr<void*>(nullptr, [&] { return cache->Reserve(size); });
    };
    provider_.look_up_or_insert = [](void* context, const xnn_weights_cache_look_up_key*, void*,
                                     size_t) { return static_cast<Cache*>(context)->Insert(); };
    provider_.is_finalized = [](void* context) { return static_cast<Cache*>(context)->finalized; };
    provider_.offset_to_addr = [](void* context, size_t offset) {
      return static_cast<Cache*>(context)->At(offset);
    };
    provider_.delete_cache = [](void*) { return xnn_status_success; };
    provider_.alias_data = [](void*, void*, void*) { return xnn_status_success; };
  }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  xnn_weights_cache_t handle() { return &provider_; }
  // XNNPACK runs with a cache only once nothing more is packed into it.
  bool finalized = false;

  bool used() const { return inserted_ == blocks_.size() && found_ > 0; }

 private:
  static constexpr size_t kAlignment = 64;
  static void* Aligned(std::vector<uint8_t>* block) {
    const auto address = reinterpret_cast<uintptr_t>(block->data());
    return block->data() + (kAlignment - address % kAlignment) % kAlignment;
  }
  void* Reserve(size_t size) {
    blocks_.emplace_back(size + kAlignment);
    return Aligned(&blocks_.back());
  }
  size_t Insert() { return inserted_++; }
  void* At(size_t offset) {
    if (offset >= blocks_.size()) return nullptr;
    ++found_;
    return Aligned(&*std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(offset)));
  }

  Cache* self_ = this;
  xnn_weights_cache_provider provider_{};
  std::list<std::vector<uint8_t>> blocks_;
  size_t inserted_ = 0;
  size_t found_ = 0;
};

class Test {
 public:
  Status Run() {
    constexpr uint32_t kMostValues = 128;
    xnn_subgraph_t subgraph = nullptr;
    XIR_RETURN_IF_ERROR(CheckXnn(xnn_create_subgraph(kMostValues, 0, &subgraph), "create a graph"));
    subgraph_.reset(subgraph);
    left_ = Input<float>({kLeft[0], kLeft[1]}, {2}, xnn_datatype_fp32);
    right_ = Input<float>({kRight[0], kRight[1]}, {2}, xnn_datatype_fp32);
    Unary();
    Binary();
    Reductions();
    Conversions();
    Convolution();
    FullyConnected();
    XIR_RETURN_IF_ERROR(std::move(status_));
    return Compare();
  }

 private:
  template <typename T>
  uint32_t Input(const std::vector<T>& values, const std::vector<size_t>& dims,
                 xnn_datatype datatype) {
    const uint32_t external = static_cast<uint32_t>(inputs_.size());
    inputs_.push_back({external, BytesOf(values, kExtraBytes)});
    return Define(datatype, dims, nullptr, external, XNN_VALUE_FLAG_EXTERNAL_INPUT);
  }

  uint32_t Output(std::string what, std::vector<uint8_t> wanted, bool exact,
                  const std::vector<size_t>& dims, xnn_datatype datatype) {
    const uint32_t external = kFirstOutput + static_cast<uint32_t>(outputs_.size());
    std::vector<uint8_t> got(wanted.size() + kExtraBytes);
    outputs_.push_back({std::move(what), external, std::move(wanted), exact, std::move(got)});
    return Define(datatype, dims, nullptr, external, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
  }

  uint32_t Floats(std::string what, const std::vector<float>& wanted,
                  const std::vector<size_t>& dims) {
    return Output(std::move(what), BytesOf(wanted), /*exact=*/false, dims, xnn_datatype_fp32);
  }

  uint32_t Define(xnn_datatype datatype, const std::vector<size_t>& dims, const void* data,
                  uint32_t external, uint32_t flags) {
    uint32_t id = XNN_INVALID_VALUE_ID;
    Check(xnn_define_tensor_value(subgraph_.get(), datatype, dims.size(), dims.data(), data,
                                  external, flags, &id),
          "define a tensor");
    return id;
  }

  // Keeps the first refusal.
  void Check(xnn_status status, std::string_view what) {
    if (status_.ok()) status_ = CheckXnn(status, what);
  }

  void DefineUnary(std::string_view name, xnn_unary_operator type, float (*function)(float),
                   const xnn_unary_params* params = nullptr) {
    const std::vector<float> wanted = {function(kLeft[0]), function(kLeft[1])};
    const uint32_t id = Floats(std::string(name), wanted, {2});
    Check(xnn_define_unary(subgraph_.get(), type, params, left_, id, 0), name);
  }

  void Unary() {
    DefineUnary("abs", xnn_unary_abs, [](float x) { return std::abs(x); });
    DefineUnary("approxgelu", xnn_unary_approxgelu, [](float x) {
      const float root = 0.7978845608f;  // √(2/π)
      return 0.5f * x * (1 + std::tanh(root * x * (1 + 0.044715f * x * x)));
    });
    DefineUnary("bankers_rounding", xnn_unary_bankers_rounding,
                [](float x) { return std::nearbyint(x); });
    DefineUnary("ceiling", xnn_unary_ceiling, [](float x) { return std::ceil(x); });
    DefineUnary("cosine", xnn_unary_cosine, [](float x) { return std::cos(x); });
    DefineUnary("exp", xnn_unary_exp, [](float x) { return std::exp(x); });
    DefineUnary("floor", xnn_unary_floor, [](float x) { return std::floor(x); });
    DefineUnary("gelu", xnn_unary_gelu,
                [](float x) { return 0.5f * x * (1 + std::erf(x * 0.7071067812f)); });
    DefineUnary("hardswish", xnn_unary_hardswish,
                [](float x) { return x * std::fmin(std::fmax(x + 3, 0.0f), 6.0f) / 6; });
    DefineUnary("log", xnn_unary_log, [](float x) { return x > 0 ? std::log(x) : kNaN; });
    DefineUnary("negate", xnn_unary_negate, [](float x) { return -x; });
    DefineUnary("reciprocal_square_root", xnn_unary_reciprocal_square_root,
                [](float x) { return x > 0 ? 1 / std::sqrt(x) : kNaN; });
    DefineUnary("sigmoid", xnn_unary_sigmoid, [](float x) { return 1 / (1 + std::exp(-x)); });
    DefineUnary("sine", xnn_unary_sine, [](float x) { return std::sin(x); });
    DefineUnary("square_root", xnn_unary_square_root,
                [](float x) { return x > 0 ? std::sqrt(x) : kNaN; });
    DefineUnary("square", xnn_unary_square, [](float x) { return x * x; });
    DefineUnary("tanh", xnn_unary_tanh, [](float x) { return std::tanh(x); });
    DefineUnary("cube_root", xnn_unary_cube_root, [](float x) { return std::cbrt(x); });
    DefineUnary("sign", xnn_unary_sign, [](float x) { return x < 0 ? -1.0f : 1.0f; });
    xnn_unary_params params{};
    params.clamp = {-0.5f, 0.25f};
    DefineUnary(
        "clamp", xnn_unary_clamp, [](float x) { return x < 0 ? -0.5f : 0.25f; }, &params);
    params = {};
    params.elu = {0.5f};
    DefineUnary(
        "elu", xnn_unary_elu, [](float x) { return x < 0 ? 0.5f * std::expm1(x) : x; }, &params);
    params = {};
    params.leaky_relu = {0.25f};
    DefineUnary(
        "leaky_relu", xnn_unary_leaky_relu, [](float x) { return x < 0 ? 0.25f * x : x; }, &params);
  }

  void DefineBinary(std::string_view name, xnn_binary_operator type,
                    float (*function)(float, float)) {
    std::vector<float> wanted;
    for (size_t i = 0; i < 2; ++i) wanted.push_back(function(kLeft[i], kRight[i]));
    const uint32_t id = Floats(std::string(name), wanted, {2});
    const xnn_binary_params params{-kInfinity, kInfinity};
    Check(xnn_define_binary(subgraph_.get(), type, &params, left_, right_, id, 0), name);
  }

  void Binary() {
    DefineBinary("add", xnn_binary_add, [](float a, float b) { return a + b; });
    DefineBinary("subtract", xnn_binary_subtract, [](float a, float b) { return a - b; });
    DefineBinary("multiply", xnn_binary_multiply, [](float a, float b) { return a * b; });
    DefineBinary("divide", xnn_binary_divide, [](float a, float b) { return a / b; });
    DefineBinary("maximum", xnn_binary_maximum, [](float a, float b) { return std::fmax(a, b); });
    DefineBinary("minimum", xnn_binary_minimum, [](float a, float b) { return std::fmin(a, b); });
    DefineBinary("copysign", xnn_binary_copysign,
                 [](float a, float b) { return std::copysign(a, b); });
    DefineBinary("squared_difference", xnn_binary_squared_difference,
                 [](float a, float b) { return (a - b) * (a - b); });
    DefineBinary("prelu", xnn_binary_prelu, [](float a, float b) { return a < 0 ? a * b : a; });
    DefineBinary("modulus", xnn_binary_modulus, [](float a, float b) { return std::fmod(a, b); });
    DefineBinary("atan2", xnn_binary_atan2, [](float a, float b) { return std::atan2(a, b); });
    DefineBinary("pow", xnn_binary_pow,
                 [](float a, float b) { return a > 0 ? std::pow(a, b) : kNaN; });
    const uint32_t a = Input<int32_t>({12, 5}, {2}, xnn_datatype_int32);
    const uint32_t b = Input<int32_t>({10, 3}, {2}, xnn_datatype_int32);
    const auto bits = [&](const char* name, xnn_binary_operator type, int32_t x, int32_t y) {
      const uint32_t id =
          Output(name, BytesOf<int32_t>({x, y}), /*exact=*/true, {2}, xnn_datatype_int32);
      Check(xnn_define_binary(subgraph_.get(), type, nullptr, a, b, id, 0), name);
    };
    bits("bitwise_and", xnn_binary_bitwise_and, 12 & 10, 5 & 3);
    bits("bitwise_or", xnn_binary_bitwise_or, 12 | 10, 5 | 3);
    bits("bitwise_xor", xnn_binary_bitwise_xor, 12 ^ 10, 5 ^ 3);
  }

  void Reductions() {
    constexpr float a = kRight[0];
    constexpr float b = kRight[1];
    const auto reduce = [&](const char* name, xnn_reduce_operator type, float wanted) {
      const uint32_t id = Floats(name, {wanted}, {1});
      const size_t axis = 0;
      Check(
          xnn_define_static_reduce(subgraph_.get(), type, 1, &axis, right_, id, XNN_FLAG_KEEP_DIMS),
          name);
    };
    reduce("sum", xnn_reduce_sum, a + b);
    reduce("sum_squared", xnn_reduce_sum_squared, a * a + b * b);
    reduce("mean", xnn_reduce_mean, (a + b) / 2);
    reduce("mean_squared", xnn_reduce_mean_squared, (a * a + b * b) / 2);
    reduce("max", xnn_reduce_max, a);
    reduce("min", xnn_reduce_min, b);
  }

  void DefineConversion(const char* name, uint32_t to) {
    Check(xnn_define_unary(subgraph_.get(), xnn_unary_convert, nullptr, left_, to, 0), name);
  }

  void Conversions() {
    // ±2.5 in fp16 and bf16, and as −4 and 6: steps of 0.5 and a zero point of 1.
    DefineConversion("fp16", Output("fp16", BytesOf<uint16_t>({0xC100, 0x4100}), /*exact=*/true,
                                    {2}, xnn_datatype_fp16));
    DefineConversion("bf16", Output("bf16", BytesOf<uint16_t>({0xC020, 0x4020}), /*exact=*/true,
                                    {2}, xnn_datatype_bf16));
    const auto quantized = [&](const char* name, xnn_datatype datatype, int32_t zero_point,
                               std::vector<uint8_t> wanted) {
      const uint32_t external = kFirstOutput + static_cast<uint32_t>(outputs_.size());
      std::vector<uint8_t> got(wanted.size() + kExtraBytes);
      outputs_.push_back({name, external, std::move(wanted), /*exact=*/true, std::move(got)});
      uint32_t id = XNN_INVALID_VALUE_ID;
      const size_t dims[] = {2};
      Check(
          xnn_define_quantized_tensor_value(subgraph_.get(), datatype, zero_point, 0.5f, 1, dims,
                                            nullptr, external, XNN_VALUE_FLAG_EXTERNAL_OUTPUT, &id),
          name);
      DefineConversion(name, id);
    };
    quantized("qint8", xnn_datatype_qint8, 1, BytesOf<int8_t>({-4, 6}));
    quantized("quint8", xnn_datatype_quint8, 100, BytesOf<uint8_t>({95, 105}));
  }

  // 3 x 4 pixels, one row of zeros above and two columns to the left; every second column.
  void Convolution() {
    std::vector<float> pixels(12);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i + 1);
    std::vector<float> wanted;
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 3; ++column) {
        const auto at = [&](int r, int c) {
          return r < 0 || c < 0 ? 0.0f : pixels[static_cast<size_t>(4 * r + c)];
        };
        const int x = 2 * column - 2;
        wanted.push_back(at(row - 1, x) + 10 * at(row, x) + 0.5f);
      }
    }
    const uint32_t input = Input<float>(pixels, {1, 3, 4, 1}, xnn_datatype_fp32);
    const uint32_t filter =
        Define(xnn_datatype_fp32, {1, 2, 1, 1}, kFilter.data(), XNN_INVALID_VALUE_ID, 0);
    const uint32_t bias = Define(xnn_datatype_fp32, {1}, &kBias, XNN_INVALID_VALUE_ID, 0);
    const uint32_t output = Floats("convolution_2d", wanted, {1, 3, 3, 1});
    Check(xnn_define_convolution_2d(subgraph_.get(), 1, 0, 0, 2, 2, 1, 1, 2, 1, 1, 1, 1, 1,
                                    -kInfinity, kInfinity, input, filter, bias, output, 0),
          "define a convolution");
  }

  // Rows quantised at run time times 8-bit and 4-bit integers; ±2.5 is exact in 255 steps.
  void FullyConnected() {
    const uint32_t input = Input<float>({-2.5f, 2.5f}, {1, 2}, xnn_datatype_fp32);
    const size_t row[] = {1, 2};
    uint32_t rows = XNN_INVALID_VALUE_ID;
    Check(xnn_define_dynamically_quantized_tensor_value(subgraph_.get(), xnn_datatype_qdint8, 2, 1,
                                                        row, XNN_INVALID_VALUE_ID, 0, &rows),
          "define a tensor that is quantised at run time");
    Check(xnn_define_unary(subgraph_.get(), xnn_unary_convert, nullptr, input, rows, 0),
          "quantise at run time");
    const auto product = [&](const char* name, xnn_datatype datatype, int32_t zero_point,
                             const void* weights, const std::vector<float>& wanted) {
      const size_t dims[] = {2, 2};
      uint32_t filter = XNN_INVALID_VALUE_ID;
      Check(xnn_define_channelwise_quantized_tensor_value_v2(subgraph_.get(), datatype, zero_point,
                                                             kScales.data(), 2, 0, dims, weights,
                                                             XNN_INVALID_VALUE_ID, 0, &filter),
            name);
      // The scale of a row rounds; its steps are 5/255.
      const uint32_t output = Floats(name, wanted, {1, 2});
      Check(xnn_define_fully_connected(subgraph_.get(), -4.0f, 4.0f, rows, filter,
                                       XNN_INVALID_VALUE_ID, output, 0),
            name);
    };
    // Results beyond the bounds, or 0: neither depends on how the row's scale is rounded.
    product("fully_connected on qcint8", xnn_datatype_qcint8, 0, kBytes.data(), {4.0f, -4.0f});
    product("fully_connected on qcint4", xnn_datatype_qcint4, 8, kNibbles.data(), {4.0f, -4.0f});
  }

  Status Compare() {
    Cache cache;
    xnn_workspace_t memory = nullptr;
    XIR_RETURN_IF_ERROR(CheckXnn(xnn_create_workspace(&memory), "create a workspace"));
    const XnnWorkspace workspace(memory);
    xnn_runtime_t handle = nullptr;
    XIR_RETURN_IF_ERROR(CheckXnn(
        xnn_create_runtime_v4(subgraph_.get(), cache.handle(), memory, nullptr, 0, &handle),
        "create a runtime"));
    const XnnRuntime runtime(handle);
    cache.finalized = true;
    XIR_RETURN_IF_ERROR(CheckXnn(xnn_reshape_runtime(handle), "plan memory"));
    std::vector<xnn_external_value> values;
    for (auto& [id, bytes] : inputs_) values.push_back({id, bytes.data()});
    for (Expected& output : outputs_) values.push_back({output.id, output.got.data()});
    XIR_RETURN_IF_ERROR(
        CheckXnn(xnn_setup_runtime_v2(handle, values.size(), values.data()), "take pointers"));
    XIR_RETURN_IF_ERROR(CheckXnn(xnn_invoke_runtime(handle), "run"));
    for (const Expected& output : outputs_) {
      if (!Matches(output)) {
        return Fail(Code::kUnsupported, "it is another version: its ", output.what,
                    " computes something else");
      }
    }
    if (!cache.used()) {
      return Fail(Code::kUnsupported, "it is another version: it calls a weights cache otherwise");
    }
    return {};
  }

  static constexpr uint32_t kFirstOutput = 16;
  static constexpr std::array<float, 2 + kExtraBytes / sizeof(float)> kFilter = {1.0f, 10.0f};
  static constexpr float kBias = 0.5f;
  static constexpr std::array<float, 2> kScales = {1.0f, 0.5f};
  // Rows (−3, 4) and (6, −7), and the same in nibbles with 8 added, the first in the lower half.
  static constexpr std::array<int8_t, 4 + kExtraBytes> kBytes = {-3, 4, 6, -7};
  static constexpr std::array<uint8_t, 2 + kExtraBytes> kNibbles = {0xC5, 0x1E};

  XnnSubgraph subgraph_;
  Status status_;
  uint32_t left_ = 0;
  uint32_t right_ = 0;
  std::vector<std::pair<uint32_t, std::vector<uint8_t>>> inputs_;
  std::vector<Expected> outputs_;
};

}  // namespace

Status TestXnnpack() { return Test().Run(); }

}  // namespace xir
