// The facts of XNNPACK's C API, as far as this backend calls it, at commit 92a7ad501b
// (include/xnnpack.h of google/XNNPACK): types, numbers, and a list of functions that is expanded
// to what is needed of them.
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

// X(result, name, parameters, arguments)
#define XIR_XNNPACK_FUNCTIONS(X)                                                                   \
  X(xnn_status, xnn_initialize, (const xnn_allocator* allocator), (allocator))                     \
  X(xnn_status, xnn_create_subgraph,                                                               \
    (uint32_t external_value_ids, uint32_t flags, xnn_subgraph_t * subgraph_out),                  \
    (external_value_ids, flags, subgraph_out))                                                     \
  X(xnn_status, xnn_delete_subgraph, (xnn_subgraph_t subgraph), (subgraph))                        \
  X(xnn_status, xnn_define_tensor_value,                                                           \
    (xnn_subgraph_t subgraph, xnn_datatype datatype, size_t num_dims, const size_t* dims,          \
     const void* data, uint32_t external_id, uint32_t flags, uint32_t* id_out),                    \
    (subgraph, datatype, num_dims, dims, data, external_id, flags, id_out))                        \
  X(xnn_status, xnn_define_quantized_tensor_value,                                                 \
    (xnn_subgraph_t subgraph, xnn_datatype datatype, int32_t zero_point, float scale,              \
     size_t num_dims, const size_t* dims, const void* data, uint32_t external_id, uint32_t flags,  \
     uint32_t* id_out),                                                                            \
    (subgraph, datatype, zero_point, scale, num_dims, dims, data, external_id, flags, id_out))     \
  X(xnn_status, xnn_define_channelwise_quantized_tensor_value_v2,                                  \
    (xnn_subgraph_t subgraph, xnn_datatype datatype, int32_t zero_point, const float* scale,       \
     size_t num_dims, size_t channel_dim, const size_t* dims, const void* data,                    \
     uint32_t external_id, uint32_t flags, uint32_t* id_out),                                      \
    (subgraph, datatype, zero_point, scale, num_dims, channel_dim, dims, data, external_id, flags, \
     id_out))                                                                                      \
  X(xnn_status, xnn_define_blockwise_quantized_tensor_value,                                       \
    (xnn_subgraph_t subgraph, xnn_datatype datatype, int32_t zero_point, const uint16_t* scale,    \
     size_t num_dims, size_t channel_dim, size_t block_size, const size_t* dims, const void* data, \
     uint32_t external_id, uint32_t flags, uint32_t* id_out),                                      \
    (subgraph, datatype, zero_point, scale, num_dims, channel_dim, block_size, dims, data,         \
     external_id, flags, id_out))                                                                  \
  X(xnn_status, xnn_define_dynamically_quantized_tensor_value,                                     \
    (xnn_subgraph_t subgraph, xnn_datatype datatype, size_t num_dims, size_t num_nonbatch_dims,    \
     const size_t* dims, uint32_t external_id, uint32_t flags, uint32_t* id_out),                  \
    (subgraph, datatype, num_dims, num_nonbatch_dims, dims, external_id, flags, id_out))           \
  X(xnn_status, xnn_define_unary,                                                                  \
    (xnn_subgraph_t subgraph, xnn_unary_operator type, const xnn_unary_params* params,             \
     uint32_t input_id, uint32_t output_id, uint32_t flags),                                       \
    (subgraph, type, params, input_id, output_id, flags))                                          \
  X(xnn_status, xnn_define_binary,                                                                 \
    (xnn_subgraph_t subgraph, xnn_binary_operator type, const xnn_binary_params* params,           \
     uint32_t input1_id, uint32_t input2_id, uint32_t output_id, uint32_t flags),                  \
    (subgraph, type, params, input1_id, input2_id, output_id, flags))                              \
  X(xnn_status, xnn_define_convolution_2d,                                                         \
    (xnn_subgraph_t subgraph, uint32_t padding_top, uint32_t padding_right,                        \
     uint32_t padding_bottom, uint32_t padding_left, uint32_t kernel_height,                       \
     uint32_t kernel_width, uint32_t subsampling_height, uint32_t subsampling_width,               \
     uint32_t dilation_height, uint32_t dilation_width, uint32_t groups,                           \
     size_t group_input_channels, size_t group_output_channels, float output_min,                  \
     float output_max, uint32_t input_id, uint32_t filter_id, uint32_t bias_id,                    \
     uint32_t output_id, uint32_t flags),                                                          \
    (subgraph, padding_top, padding_right, padding_bottom, padding_left, kernel_height,            \
     kernel_width, subsampling_height, subsampling_width, dilation_height, dilation_width, groups, \
     group_input_channels, group_output_channels, output_min, output_max, input_id, filter_id,     \
     bias_id, output_id, flags))                                                                   \
  X(xnn_status, xnn_define_depthwise_convolution_2d,                                               \
    (xnn_subgraph_t subgraph, uint32_t padding_top, uint32_t padding_right,                        \
     uint32_t padding_bottom, uint32_t padding_left, uint32_t kernel_height,                       \
     uint32_t kernel_width, uint32_t subsampling_height, uint32_t subsampling_width,               \
     uint32_t dilation_height, uint32_t dilation_width, uint32_t depth_multiplier,                 \
     size_t input_channels, float output_min, float output_max, uint32_t input_id,                 \
     uint32_t filter_id, uint32_t bias_id, uint32_t output_id, uint32_t flags),                    \
    (subgraph, padding_top, padding_right, padding_bottom, padding_left, kernel_height,            \
     kernel_width, subsampling_height, subsampling_width, dilation_height, dilation_width,         \
     depth_multiplier, input_channels, output_min, output_max, input_id, filter_id, bias_id,       \
     output_id, flags))                                                                            \
  X(xnn_status, xnn_define_deconvolution_2d,                                                       \
    (xnn_subgraph_t subgraph, uint32_t padding_top, uint32_t padding_right,                        \
     uint32_t padding_bottom, uint32_t padding_left, uint32_t adjustment_height,                   \
     uint32_t adjustment_width, uint32_t kernel_height, uint32_t kernel_width,                     \
     uint32_t upsampling_height, uint32_t upsampling_width, uint32_t dilation_height,              \
     uint32_t dilation_width, uint32_t groups, size_t group_input_channels,                        \
     size_t group_output_channels, float output_min, float output_max, uint32_t input_id,          \
     uint32_t filter_id, uint32_t bias_id, uint32_t output_id, uint32_t flags),                    \
    (subgraph, padding_top, padding_right, padding_bottom, padding_left, adjustment_height,        \
     adjustment_width, kernel_height, kernel_width, upsampling_height, upsampling_width,           \
     dilation_height, dilation_width, groups, group_input_channels, group_output_channels,         \
     output_min, output_max, input_id, filter_id, bias_id, output_id, flags))                      \
  X(xnn_status, xnn_define_fully_connected,                                                        \
    (xnn_subgraph_t subgraph, float output_min, float output_max, uint32_t input_id,               \
     uint32_t filter_id, uint32_t bias_id, uint32_t output_id, uint32_t flags),                    \
    (subgraph, output_min, output_max, input_id, filter_id, bias_id, output_id, flags))            \
  X(xnn_status, xnn_define_batch_matrix_multiply,                                                  \
    (xnn_subgraph_t subgraph, uint32_t input1_id, uint32_t input2_id, uint32_t output_id,          \
     uint32_t flags),                                                                              \
    (subgraph, input1_id, input2_id, output_id, flags))                                            \
  X(xnn_status, xnn_define_average_pooling_2d,                                                     \
    (xnn_subgraph_t subgraph, uint32_t padding_top, uint32_t padding_right,                        \
     uint32_t padding_bottom, uint32_t padding_left, uint32_t pooling_height,                      \
     uint32_t pooling_width, uint32_t stride_height, uint32_t stride_width, float output_min,      \
     float output_max, uint32_t input_id, uint32_t output_id, uint32_t flags),                     \
    (subgraph, padding_top, padding_right, padding_bottom, padding_left, pooling_height,           \
     pooling_width, stride_height, stride_width, output_min, output_max, input_id, output_id,      \
     flags))                                                                                       \
  X(xnn_status, xnn_define_max_pooling_2d,                                                         \
    (xnn_subgraph_t subgraph, uint32_t padding_top, uint32_t padding_right,                        \
     uint32_t padding_bottom, uint32_t padding_left, uint32_t pooling_height,                      \
     uint32_t pooling_width, uint32_t stride_height, uint32_t stride_width,                        \
     uint32_t dilation_height, uint32_t dilation_width, float output_min, float output_max,        \
     uint32_t input_id, uint32_t output_id, uint32_t flags),                                       \
    (subgraph, padding_top, padding_right, padding_bottom, padding_left, pooling_height,           \
     pooling_width, stride_height, stride_width, dilation_height, dilation_width, output_min,      \
     output_max, input_id, output_id, flags))                                                      \
  X(xnn_status, xnn_define_argmax_pooling_2d,                                                      \
    (xnn_subgraph_t subgraph, uint32_t padding_top, uint32_t padding_right,                        \
     uint32_t padding_bottom, uint32_t padding_left, uint32_t pooling_height,                      \
     uint32_t pooling_width, uint32_t input_id, uint32_t output_value_id,                          \
     uint32_t output_index_id, uint32_t flags),                                                    \
    (subgraph, padding_top, padding_right, padding_bottom, padding_left, pooling_height,           \
     pooling_width, input_id, output_value_id, output_index_id, flags))                            \
  X(xnn_status, xnn_define_static_reduce,                                                          \
    (xnn_subgraph_t subgraph, xnn_reduce_operator type, size_t num_axes, const size_t* axes,       \
     uint32_t input_id, uint32_t output_id, uint32_t flags),                                       \
    (subgraph, type, num_axes, axes, input_id, output_id, flags))                                  \
  X(xnn_status, xnn_define_softmax,                                                                \
    (xnn_subgraph_t subgraph, uint32_t input_id, uint32_t output_id, uint32_t flags),              \
    (subgraph, input_id, output_id, flags))                                                        \
  X(xnn_status, xnn_define_copy,                                                                   \
    (xnn_subgraph_t subgraph, uint32_t input_id, uint32_t output_id, uint32_t flags),              \
    (subgraph, input_id, output_id, flags))                                                        \
  X(xnn_status, xnn_define_concatenate,                                                            \
    (xnn_subgraph_t subgraph, int32_t axis, size_t num_inputs, const uint32_t* inputs,             \
     uint32_t output_id, uint32_t flags),                                                          \
    (subgraph, axis, num_inputs, inputs, output_id, flags))                                        \
  X(xnn_status, xnn_define_static_transpose,                                                       \
    (xnn_subgraph_t subgraph, size_t num_dims, const size_t* perm, uint32_t input_id,              \
     uint32_t output_id, uint32_t flags),                                                          \
    (subgraph, num_dims, perm, input_id, output_id, flags))                                        \
  X(xnn_status, xnn_define_static_reshape,                                                         \
    (xnn_subgraph_t subgraph, size_t num_dims, const size_t* new_shape, uint32_t input_id,         \
     uint32_t output_id, uint32_t flags),                                                          \
    (subgraph, num_dims, new_shape, input_id, output_id, flags))                                   \
  X(xnn_status, xnn_define_static_slice,                                                           \
    (xnn_subgraph_t subgraph, size_t num_dims, const size_t* offsets, const size_t* sizes,         \
     uint32_t input_id, uint32_t output_id, uint32_t flags),                                       \
    (subgraph, num_dims, offsets, sizes, input_id, output_id, flags))                              \
  X(xnn_status, xnn_define_static_constant_pad_v2,                                                 \
    (xnn_subgraph_t subgraph, size_t num_dims, const size_t* pre, const size_t* post, float value, \
     uint32_t input_id, uint32_t output_id, uint32_t flags),                                       \
    (subgraph, num_dims, pre, post, value, input_id, output_id, flags))                            \
  X(xnn_status, xnn_define_static_resize_bilinear_2d,                                              \
    (xnn_subgraph_t subgraph, size_t new_height, size_t new_width, uint32_t input_id,              \
     uint32_t output_id, uint32_t flags),                                                          \
    (subgraph, new_height, new_width, input_id, output_id, flags))                                 \
  X(xnn_status, xnn_create_workspace, (xnn_workspace_t * workspace_out), (workspace_out))          \
  X(xnn_status, xnn_release_workspace, (xnn_workspace_t workspace), (workspace))                   \
  X(xnn_status, xnn_create_runtime_v4,                                                             \
    (xnn_subgraph_t subgraph, xnn_weights_cache_t weights_cache, xnn_workspace_t workspace,        \
     pthreadpool_t threadpool, uint32_t flags, xnn_runtime_t * runtime_out),                       \
    (subgraph, weights_cache, workspace, threadpool, flags, runtime_out))                          \
  X(xnn_status, xnn_reshape_external_value,                                                        \
    (xnn_runtime_t runtime, uint32_t external_id, size_t num_dims, const size_t* dims),            \
    (runtime, external_id, num_dims, dims))                                                        \
  X(xnn_status, xnn_get_external_value_shape,                                                      \
    (xnn_runtime_t runtime, uint32_t external_id, size_t * num_dims, size_t * dims),               \
    (runtime, external_id, num_dims, dims))                                                        \
  X(xnn_status, xnn_reshape_runtime, (xnn_runtime_t runtime), (runtime))                           \
  X(xnn_status, xnn_setup_runtime_v2,                                                              \
    (xnn_runtime_t runtime, size_t num_external_values,                                            \
     const xnn_external_value* external_values),                                                   \
    (runtime, num_external_values, external_values))                                               \
  X(xnn_status, xnn_invoke_runtime, (xnn_runtime_t runtime), (runtime))                            \
  X(xnn_status, xnn_get_runtime_profiling_info,                                                    \
    (xnn_runtime_t runtime, xnn_profile_info param_name, size_t param_value_size,                  \
     void* param_value, size_t* param_value_size_ret),                                             \
    (runtime, param_name, param_value_size, param_value, param_value_size_ret))                    \
  X(xnn_status, xnn_delete_runtime, (xnn_runtime_t runtime), (runtime))                            \
  X(pthreadpool_t, pthreadpool_create, (size_t threads_count), (threads_count))                    \
  X(pthreadpool_t, pthreadpool_create_v2,                                                          \
    (pthreadpool_executor * executor, void* executor_context, size_t max_num_threads),             \
    (executor, executor_context, max_num_threads))                                                 \
  X(size_t, pthreadpool_get_threads_count, (pthreadpool_t threadpool), (threadpool))               \
  X(void, pthreadpool_parallelize_1d,                                                              \
    (pthreadpool_t threadpool, pthreadpool_task_1d_t function, void* context, size_t range,        \
     uint32_t flags),                                                                              \
    (threadpool, function, context, range, flags))                                                 \
  X(void, pthreadpool_destroy, (pthreadpool_t threadpool), (threadpool))
