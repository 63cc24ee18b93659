// The functions of XNNPACK's C API that this backend calls, at commit 92a7ad501b
// (include/xnnpack.h of google/XNNPACK): a list that is expanded to what is needed of them. A build
// with XNNPACK's own header compares the two (api.h).
#pragma once

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
