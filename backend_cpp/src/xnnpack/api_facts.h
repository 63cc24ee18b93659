// The facts of XNNPACK's C API, as far as this backend calls it, at commit 92a7ad501b
// (include/xnnpack.h of google/XNNPACK): types and numbers. Its functions are in api_functions.h.
#pragma once

#include <cstddef>
#include <cstdint>

struct pthreadpool;
using pthreadpool_t = pthreadpool*;

using xnn_subgraph_t = struct xnn_subgraph*;
using xnn_runtime_t = struct xnn_runtime*;
using xnn_workspace_t = struct xnn_workspace*;
using xnn_weights_cache_t = struct xnn_weights_cache_provider*;
struct xnn_allocator;

#define XNN_MAX_TENSOR_DIMS 6
#define XNN_INVALID_VALUE_ID UINT32_MAX

#define XNN_VALUE_FLAG_EXTERNAL_INPUT 0x00000001
#define XNN_VALUE_FLAG_EXTERNAL_OUTPUT 0x00000002

#define XNN_FLAG_TRANSPOSE_WEIGHTS 0x00000001
#define XNN_FLAG_TRANSPOSE_B 0x00000001
#define XNN_FLAG_TENSORFLOW_SAME_PADDING 0x00000004
#define XNN_FLAG_TENSORFLOW_LEGACY_MODE 0x00000004
#define XNN_FLAG_ALIGN_CORNERS 0x00000008
#define XNN_FLAG_KEEP_DIMS 0x00000040
#define XNN_FLAG_BASIC_PROFILING 0x00000008

enum xnn_status {
  xnn_status_success = 0,
  xnn_status_uninitialized = 1,
  xnn_status_invalid_parameter = 2,
  xnn_status_invalid_state = 3,
  xnn_status_unsupported_parameter = 4,
  xnn_status_unsupported_hardware = 5,
  xnn_status_out_of_memory = 6,
  xnn_status_reallocation_required = 7,
  xnn_status_deprecated = 8,
};

enum xnn_profile_info {
  xnn_profile_info_num_operators = 0,
  xnn_profile_info_operator_name = 1,
  xnn_profile_info_operator_timing = 2,
};

enum xnn_datatype {
  xnn_datatype_invalid = 0,
  xnn_datatype_fp32 = 1,
  xnn_datatype_fp16 = 2,
  xnn_datatype_qint8 = 3,
  xnn_datatype_quint8 = 4,
  xnn_datatype_qint32 = 5,
  xnn_datatype_qcint8 = 6,
  xnn_datatype_qcint32 = 7,
  xnn_datatype_qcint4 = 8,
  xnn_datatype_qdint8 = 9,
  xnn_datatype_qpint8 = 10,
  xnn_datatype_int32 = 11,
  xnn_datatype_qbint4 = 12,
  xnn_datatype_pfp32 = 13,
  xnn_datatype_bf16 = 14,
};

enum xnn_unary_operator {
  xnn_unary_abs = 0,
  xnn_unary_approxgelu = 1,
  xnn_unary_bankers_rounding = 2,
  xnn_unary_ceiling = 3,
  xnn_unary_clamp = 4,
  xnn_unary_convert = 5,
  xnn_unary_cosine = 6,
  xnn_unary_elu = 7,
  xnn_unary_exp = 8,
  xnn_unary_floor = 9,
  xnn_unary_gelu = 10,
  xnn_unary_hardswish = 11,
  xnn_unary_leaky_relu = 12,
  xnn_unary_log = 13,
  xnn_unary_negate = 14,
  xnn_unary_reciprocal_square_root = 15,
  xnn_unary_sigmoid = 16,
  xnn_unary_sine = 17,
  xnn_unary_square_root = 18,
  xnn_unary_square = 19,
  xnn_unary_tanh = 20,
  xnn_unary_bitwise_not = 21,
  xnn_unary_count_leading_zeros = 22,
  xnn_unary_cube_root = 23,
  xnn_unary_popcount = 24,
  xnn_unary_sign = 25,
};

union xnn_unary_params {
  struct {
    float min;
    float max;
  } clamp;
  struct {
    float alpha;
  } elu;
  struct {
    float negative_slope;
  } leaky_relu;
};

enum xnn_binary_operator {
  xnn_binary_add = 0,
  xnn_binary_subtract = 1,
  xnn_binary_multiply = 2,
  xnn_binary_divide = 3,
  xnn_binary_maximum = 4,
  xnn_binary_minimum = 5,
  xnn_binary_copysign = 6,
  xnn_binary_squared_difference = 7,
  xnn_binary_prelu = 8,
  xnn_binary_modulus = 9,
  xnn_binary_atan2 = 10,
  xnn_binary_pow = 11,
  xnn_binary_bitwise_and = 12,
  xnn_binary_bitwise_or = 13,
  xnn_binary_bitwise_xor = 14,
  xnn_binary_shift_left = 15,
  xnn_binary_shift_right_logical = 16,
  xnn_binary_shift_right_arithmetic = 17,
};

struct xnn_binary_params {
  double output_min;
  double output_max;
};

enum xnn_reduce_operator {
  xnn_reduce_sum = 0,
  xnn_reduce_sum_squared = 1,
  xnn_reduce_mean = 2,
  xnn_reduce_mean_squared = 3,
  xnn_reduce_max = 4,
  xnn_reduce_min = 5,
};

// What packed weights are looked up by.
struct xnn_weights_cache_look_up_key {
  uint32_t seed;
  const void* kernel;
  const void* bias;
  uint32_t fingerprint_id;
};

// Where packed weights are kept; the caller's functions, each called with `context`.
struct xnn_weights_cache_provider {
  void* context;
  size_t (*look_up)(void* context, const xnn_weights_cache_look_up_key* cache_key);
  void* (*reserve_space)(void* context, size_t n);
  size_t (*look_up_or_insert)(void* context, const xnn_weights_cache_look_up_key* cache_key,
                              void* ptr, size_t size);
  bool (*is_finalized)(void* context);
  void* (*offset_to_addr)(void* context, size_t offset);
  xnn_status (*delete_cache)(void* context);
  xnn_status (*alias_data)(void* context, void* alias, void* original);
};

struct xnn_external_value {
  uint32_t id;
  void* data;
};

// Threads that another library owns (pthreadpool.h of google/pthreadpool).
struct pthreadpool_executor {
  int (*num_threads)(void* executor_context);
  void (*schedule)(void* executor_context, void* context, void (*task)(void* context));
};
using pthreadpool_task_1d_t = void (*)(void* context, size_t i);
