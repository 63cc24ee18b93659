/* The C interface of xir: loading and running .pte programs.
 *
 *   xir_program* program = NULL;
 *   xir_method* method = NULL;
 *   xir_source source = xir_source_path("mv2.pte");
 *   if (xir_program_load(&source, NULL, &program) != XIR_OK ||
 *       xir_method_load(program, "forward", &method) != XIR_OK ||
 *       xir_method_set_input(method, 0, pixels, sizeof(pixels), sizes, 4) != XIR_OK ||
 *       xir_method_execute(method) != XIR_OK) {
 *     fprintf(stderr, "%s\n", xir_error_message());
 *   }
 *   xir_method_free(method);
 *   xir_program_free(program);
 *
 * Every function that can fail returns a code; xir_error_message says in one sentence what failed.
 * Functions whose name ends in _free take NULL. A handle outlives what was made from it: a program
 * may be freed before its methods.
 *
 * A null handle, and an index beyond the last, fail with XIR_INVALID_ARGUMENT. A handle that was
 * freed cannot be told from one that was not: using it is undefined.
 *
 * Threads: a program may be used by several threads at once; a method by one at a time, but for
 * xir_method_cancel. Error messages are each thread's own.
 *
 * Stability: functions, enumerators and fields keep their meaning, and structures grow only at
 * their end; who fills in one sets `size` to what it knows, as XIR_OPTIONS_INIT and its like do.
 * XIR_API_VERSION grows with each addition. See docs/versioning.md. */
#ifndef XIR_XIR_H_
#define XIR_XIR_H_

#include <stddef.h>
#include <stdint.h>

#include "xir/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define XIR_API_VERSION 4
#define XIR_MAX_RANK 16

/* The XIR_API_VERSION that the library has. */
XIR_API uint32_t xir_api_version(void);

typedef enum xir_code {
  XIR_OK = 0,
  XIR_INVALID_PROGRAM = 1,  /* the file is damaged, or says something that cannot be run */
  XIR_UNSUPPORTED = 2,      /* the file needs what this library does not have */
  XIR_INVALID_ARGUMENT = 3, /* the caller handed in something that does not fit */
  XIR_NOT_FOUND = 4,        /* no such file, method or library */
  XIR_RESOURCE = 5,         /* a limit was reached or memory ran out */
  XIR_INTERNAL = 6,         /* XNNPACK or the system refused */
  XIR_CANCELLED = 7,        /* xir_method_cancel stopped the execution */
  XIR_MISSING_DATA = 8      /* weights that are apart are in no file that was given */
} xir_code;

/* What the calling thread's last failure was, one sentence; "" before the first. Valid until the
 * thread's next call that fails. */
XIR_API const char* xir_error_message(void);

/* Element types, numbered as in torch (c10::ScalarType). */
typedef enum xir_dtype {
  XIR_UINT8 = 0,
  XIR_INT8 = 1,
  XIR_INT16 = 2,
  XIR_INT32 = 3,
  XIR_INT64 = 4,
  XIR_FLOAT16 = 5,
  XIR_FLOAT32 = 6,
  XIR_FLOAT64 = 7,
  XIR_BOOL = 11,
  XIR_QINT8 = 12,
  XIR_QUINT8 = 13,
  XIR_QINT32 = 14,
  XIR_BFLOAT16 = 15,
  XIR_UINT16 = 27,
  XIR_UINT32 = 28,
  XIR_UINT64 = 29
} xir_dtype;

/* ---- Where bytes come from ------------------------------------------------------------------ */

typedef enum xir_source_kind {
  XIR_SOURCE_PATH = 0,       /* `path`, mapped; must not change while it is used */
  XIR_SOURCE_DESCRIPTOR = 1, /* `length` bytes of an open file from `offset` on, mapped; a length of
                                0 is the rest. May be closed once the program is loaded */
  XIR_SOURCE_COPIED = 2,     /* `data`, copied while the program loads */
  XIR_SOURCE_BORROWED = 3    /* `data`, used in place; it must stay as long as the program and its
                                methods. Copied if it is not 16-byte aligned, or ends less than 64
                                bytes before its page does */
} xir_source_kind;

typedef struct xir_source {
  size_t size;  /* sizeof(xir_source) */
  int32_t kind; /* a xir_source_kind */
  const char* path;
  const void* data;
  uint64_t length; /* bytes, of `data` or of the file */
  int descriptor;
  uint64_t offset;
} xir_source;

static inline xir_source xir_source_path(const char* path) {
  xir_source source = {sizeof(xir_source), XIR_SOURCE_PATH, path, NULL, 0, -1, 0};
  return source;
}
static inline xir_source xir_source_descriptor(int descriptor, uint64_t offset, uint64_t length) {
  xir_source source = {
      sizeof(xir_source), XIR_SOURCE_DESCRIPTOR, NULL, NULL, length, descriptor, offset};
  return source;
}
static inline xir_source xir_source_copied(const void* data, size_t length) {
  xir_source source = {sizeof(xir_source), XIR_SOURCE_COPIED, NULL, data, length, -1, 0};
  return source;
}
static inline xir_source xir_source_borrowed(const void* data, size_t length) {
  xir_source source = {sizeof(xir_source), XIR_SOURCE_BORROWED, NULL, data, length, -1, 0};
  return source;
}

/* ---- Options -------------------------------------------------------------------------------- */

typedef struct xir_kernels xir_kernels;
typedef struct xir_thread_pool xir_thread_pool;

/* Where the memory of methods comes from: arenas, and copies of inputs. `allocate` answers
 * uninitialised memory at a multiple of `alignment`, or NULL; `release` is given the same size.
 * Both may be called from any thread. XNNPACK's own memory is not among it. */
typedef struct xir_allocator {
  void* context;
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*release)(void* context, void* memory, size_t bytes);
} xir_allocator;

typedef enum xir_log_level { XIR_LOG_INFO = 0, XIR_LOG_WARNING = 1 } xir_log_level;

/* Is told what happens and is no failure, one line without an end, from any thread. */
typedef struct xir_logger {
  void* context;
  void (*log)(void* context, xir_log_level level, const char* message);
} xir_logger;

/* Zeros are the defaults. What pointers refer to is copied or shared while the program loads;
 * `context`s must outlive the program and its methods. */
typedef struct xir_options {
  size_t size;               /* sizeof(xir_options) */
  size_t threads;            /* the calling one included; 0: one for each core */
  uint64_t max_memory;       /* bytes for a method's arenas, and for a delegate; 0: the machine's */
  uint64_t max_instructions; /* after which an execution is stopped; 0: ten million */
  xir_thread_pool* thread_pool; /* instead of `threads` */
  const xir_kernels* kernels;   /* asked before the library's own */
  const xir_source* data;       /* .ptd files */
  size_t num_data;
  const char* const* xnnpack_paths; /* where to look for XNNPACK after XIR_XNNPACK_LIBRARY */
  size_t num_xnnpack_paths;
  xir_allocator allocator; /* without functions: the library's */
  xir_logger logger;       /* without function: none */
  double max_seconds;      /* after which an execution is stopped; 0: no limit. Since version 2 */
  /* A file of this and other programs that keeps packed weights: mapped instead of packing again,
   * and written after packing. NULL: none. Since version 3. */
  const char* packed_weights;
  /* The most bytes of packed weights that the file keeps: the least recently used weights go, but
   * never what the loaded method needs. 0: 256 MiB, or twice what that method needs if it is more.
   * Since version 3. */
  uint64_t packed_weights_limit;
} xir_options;

#define XIR_OPTIONS_INIT                                                                          \
  {                                                                                               \
    sizeof(xir_options), 0, 0, 0, NULL, NULL, NULL, 0, NULL, 0, {NULL, NULL, NULL}, {NULL, NULL}, \
        0, NULL, 0                                                                                \
  }

/* ---- Programs ------------------------------------------------------------------------------- */

typedef struct xir_program xir_program;

/* Loads and verifies a file. `options` may be NULL. */
XIR_API xir_code xir_program_load(const xir_source* source, const xir_options* options,
                                  xir_program** program);
XIR_API void xir_program_free(xir_program* program);

XIR_API size_t xir_program_num_methods(const xir_program* program);
/* Valid as long as the program; NULL beyond the last. */
XIR_API const char* xir_program_method_name(const xir_program* program, size_t index);

typedef enum xir_kind {
  XIR_NONE = 0,
  XIR_TENSOR = 1,
  XIR_INT = 2,
  XIR_BOOLEAN = 3,
  XIR_DOUBLE = 4,
  XIR_OTHER = 5 /* a string or a list */
} xir_kind;

/* What an input or an output is. For a tensor `sizes` are in logical order (NCHW for images), the
 * largest where it is dynamic, and `dim_order` lists the dimensions from the outermost in memory to
 * the innermost: 0, 2, 3, 1 is NHWC. */
typedef struct xir_value_info {
  xir_kind kind;
  xir_dtype dtype;
  size_t rank;
  int64_t sizes[XIR_MAX_RANK];
  uint8_t dim_order[XIR_MAX_RANK];
  int dynamic;
  size_t nbytes; /* at these sizes */
} xir_value_info;

/* What a method takes and gives, without loading it: no weight is packed. */
XIR_API xir_code xir_program_num_inputs(const xir_program* program, const char* method,
                                        size_t* count);
XIR_API xir_code xir_program_num_outputs(const xir_program* program, const char* method,
                                         size_t* count);
XIR_API xir_code xir_program_input(const xir_program* program, const char* method, size_t index,
                                   xir_value_info* info);
XIR_API xir_code xir_program_output(const xir_program* program, const char* method, size_t index,
                                    xir_value_info* info);

/* ---- Methods -------------------------------------------------------------------------------- */

typedef struct xir_method xir_method;

/* Packs weights and plans memory. */
XIR_API xir_code xir_method_load(const xir_program* program, const char* name, xir_method** method);
XIR_API void xir_method_free(xir_method* method);

/* What became of `packed_weights` by now. A file that cannot be used or written is no failure. */
typedef struct xir_packed_weights {
  uint64_t nbytes;    /* of the weights that have been packed, by all methods of the program */
  int read;           /* whether weights came from the file */
  int written;        /* whether weights that were packed are in the file now */
  const char* remark; /* why the file was not used or not written; mostly "". Valid until the
                         thread's next call of xir_program_packed_weights */
} xir_packed_weights;

/* Since version 3. */
XIR_API xir_code xir_program_packed_weights(const xir_program* program, xir_packed_weights* state);

/* A tensor: of the caller's, of the last execution, or a kernel's argument. `sizes` are in logical
 * order; `dim_order` lists the dimensions from the outermost in memory to the innermost. */
typedef struct xir_tensor {
  xir_dtype dtype;
  size_t rank;
  int64_t sizes[XIR_MAX_RANK];
  uint8_t dim_order[XIR_MAX_RANK];
  void* data;
  size_t nbytes;
} xir_tensor;

/* Lends a tensor, in the input's dimension order, until the next xir_method_execute returns. A
 * method may write to an input that it changes; the second function lends memory that it must not
 * write to. Fails for another rank, for static sizes that differ, and for sizes beyond the largest.
 * Memory that overlaps a bound output's is copied first. */
XIR_API xir_code xir_method_set_input(xir_method* method, size_t index, void* data, size_t nbytes,
                                      const int64_t* sizes, size_t rank);
XIR_API xir_code xir_method_set_const_input(xir_method* method, size_t index, const void* data,
                                            size_t nbytes, const int64_t* sizes, size_t rank);
/* The same of a tensor that says what it is: fails for another dtype or dimension order as well.
 * Since version 2. */
XIR_API xir_code xir_method_set_tensor(xir_method* method, size_t index, const xir_tensor* tensor,
                                       int writable);
/* A number that the program was exported with. It need not be given, as strings and None. */
XIR_API xir_code xir_method_set_int(xir_method* method, size_t index, int64_t value);
XIR_API xir_code xir_method_set_boolean(xir_method* method, size_t index, int value);
XIR_API xir_code xir_method_set_double(xir_method* method, size_t index, double value);

/* Has this and all later executions leave an output in the caller's memory, which must stay until
 * another is bound or the method freed; NULL undoes it. It may not overlap another bound output's.
 * `in_place`, which may be NULL, becomes 1 where the operator that computes the output writes
 * there, and 0 where each execution copies. */
XIR_API xir_code xir_method_bind_output(xir_method* method, size_t index, void* data, size_t nbytes,
                                        int* in_place);

XIR_API xir_code xir_method_execute(xir_method* method);

/* Later executions of this instance are stopped, between two operators, after so many seconds, and
 * return XIR_RESOURCE; 0 is no limit. Since version 2. */
XIR_API xir_code xir_method_limit_seconds(xir_method* method, double max_seconds);

/* From any thread: stops the execution that is under way, or else the next one, between two
 * operators. That one returns XIR_CANCELLED. */
XIR_API void xir_method_cancel(xir_method* method);

XIR_API size_t xir_method_num_outputs(const xir_method* method);
/* Valid until the next execution. Fails where the output is no tensor. */
XIR_API xir_code xir_method_output(const xir_method* method, size_t index, xir_tensor* tensor);
XIR_API xir_code xir_method_output_int(const xir_method* method, size_t index, int64_t* value);
XIR_API xir_code xir_method_output_double(const xir_method* method, size_t index, double* value);

/* ---- Profiles ------------------------------------------------------------------------------- */

/* Where executions of one method spent their time. Belongs to one thread at a time. It stays when
 * the method is freed. */
typedef struct xir_profile xir_profile;

/* An empty one. Since version 4, as all of this section. */
XIR_API xir_code xir_profile_new(xir_profile** profile);
XIR_API void xir_profile_free(xir_profile* profile);

/* As xir_method_execute, and adds the execution to `profile`. The first one of a method creates
 * XNNPACK runtimes of its own, and so is as slow as a first execution. XIR_INVALID_ARGUMENT if the
 * profile is of another method; XIR_UNSUPPORTED if the library was built without its profiler. */
XIR_API xir_code xir_method_execute_profiled(xir_method* method, xir_profile* profile);

XIR_API size_t xir_profile_num_executions(const xir_profile* profile);
/* What an execution took by the wall clock, in microseconds, and how many events it has. Either may
 * be NULL. */
XIR_API xir_code xir_profile_execution(const xir_profile* profile, size_t execution,
                                       double* microseconds, size_t* num_events);

typedef enum xir_event_kind {
  XIR_EVENT_KERNEL = 0,   /* a kernel was called */
  XIR_EVENT_DELEGATE = 1, /* a delegate was called; its operators follow, within its time */
  XIR_EVENT_OPERATOR = 2  /* XNNPACK ran an operator of a delegate */
} xir_event_kind;

#define XIR_NO_INDEX SIZE_MAX

typedef struct xir_event {
  xir_event_kind kind;
  const char* name;        /* the kernel's or XNNPACK's; "delegate 0" for a call of one */
  const char* microkernel; /* what kind an operator runs, where XNNPACK tells: "GEMM"; else "" */
  size_t instruction;      /* of the method's chain */
  size_t delegate;         /* that is called, or that the operator is part of; or XIR_NO_INDEX */
  size_t node;             /* of the delegate's graph, where it is known; or XIR_NO_INDEX */
  double start;            /* microseconds from the beginning of the execution */
  double duration;         /* microseconds. XNNPACK counts whole ones, rounded down */
  uint64_t result_bytes;   /* that it writes; an operator at the graph's largest shapes */
  uint64_t constant_bytes; /* of weights that it reads, as the file has them */
  size_t num_origins;      /* places in the model that it comes from; several where ops are fused */
} xir_event;

/* A place in the model's source, as the compiler wrote it into the file; "" and 0 are unknown. */
typedef struct xir_origin {
  const char* file;
  uint32_t line;      /* counted from 1 */
  const char* module; /* path of the module instance: "features.0.1" */
  const char* op;     /* ATen operator: "aten::conv2d" */
  const char* name;   /* of the node in the exported graph */
} xir_origin;

/* Texts are valid until an execution is added to the profile, or it is freed. */
XIR_API xir_code xir_profile_event(const xir_profile* profile, size_t execution, size_t index,
                                   xir_event* event);
XIR_API xir_code xir_profile_origin(const xir_profile* profile, size_t execution, size_t event,
                                    size_t index, xir_origin* origin);

typedef enum xir_profile_format {
  XIR_PROFILE_TABLE = 0,  /* text for people: means over the executions, by operator and module */
  XIR_PROFILE_TRACE = 1,  /* Chrome's JSON, which ui.perfetto.dev opens */
  XIR_PROFILE_ETDUMP = 2, /* an ETDump, which ExecuTorch's Inspector reads */
  XIR_PROFILE_FORMAT_MAX = 0x7fffffff /* none: makes every int a value of the type */
} xir_profile_format;

/* All executions in a format: `length` bytes, followed by a zero, valid until the next call with
 * this profile. */
XIR_API xir_code xir_profile_render(xir_profile* profile, xir_profile_format format,
                                    const char** bytes, size_t* length);

/* ---- State ---------------------------------------------------------------------------------- */

/* What mutable buffers hold, which a program keeps from one execution to the next. */
typedef struct xir_state xir_state;

/* The buffers of all methods, for instances to share. */
XIR_API xir_code xir_state_new(const xir_program* program, xir_state** state);
/* A method's, whether its own or one that it shares; another handle for the same. */
XIR_API xir_code xir_method_state(const xir_method* method, xir_state** state);
/* Frees the handle; methods keep the state. */
XIR_API void xir_state_free(xir_state* state);
/* As xir_method_load, with a state of this program. */
XIR_API xir_code xir_method_load_with_state(const xir_program* program, const char* name,
                                            xir_state* state, xir_method** method);

XIR_API size_t xir_state_num_buffers(const xir_state* state);
/* The name is valid as long as the handle. */
XIR_API xir_code xir_state_buffer(const xir_state* state, size_t index, const char** name,
                                  xir_value_info* info);
/* Copies all elements of a buffer, in its dimension order. */
XIR_API xir_code xir_state_read(const xir_state* state, const char* name, void* data,
                                size_t nbytes);
XIR_API xir_code xir_state_write(xir_state* state, const char* name, const void* data,
                                 size_t nbytes);
/* Makes all buffers what they were at first. */
XIR_API xir_code xir_state_reset(xir_state* state);

/* Begins the random numbers of all programs of the process anew. */
XIR_API void xir_seed_random(uint64_t seed);

/* ---- Threads -------------------------------------------------------------------------------- */

/* The process's pool of so many threads, which all who ask for as many share. */
XIR_API xir_code xir_thread_pool_shared(size_t threads, xir_thread_pool** pool);

/* Threads of the caller's. `num_threads` are those that may run tasks at once, beside the one that
 * executes; `schedule` runs task(argument) on one of them, soon. A task stays until the work that
 * it helps with is done, so each needs a thread of its own. */
typedef struct xir_executor {
  void* context;
  size_t num_threads;
  void (*schedule)(void* context, void (*task)(void* argument), void* argument);
} xir_executor;
XIR_API xir_code xir_thread_pool_on(const xir_executor* executor, xir_thread_pool** pool);

XIR_API void xir_thread_pool_free(xir_thread_pool* pool);

/* ---- Kernels of one's own ------------------------------------------------------------------- */

/* One call of a kernel. */
typedef struct xir_call xir_call;

/* Runs an operator. What it does not return XIR_OK for ends the execution; xir_call_fail gives it a
 * message. A program is not trusted: a kernel checks dtypes, shapes and numbers before it touches
 * memory, and sizes its results with xir_call_resize. */
typedef xir_code (*xir_kernel)(void* context, xir_call* call);

/* What an argument is to be; settled when a method loads. */
typedef enum xir_parameter {
  XIR_PARAMETER_TENSOR = 0,
  XIR_PARAMETER_OPTIONAL_TENSOR = 1,
  XIR_PARAMETER_RESULT = 2, /* a tensor that the kernel writes */
  XIR_PARAMETER_INT = 3,
  XIR_PARAMETER_BOOLEAN = 4,
  XIR_PARAMETER_NUMBER = 5, /* an int, a bool or a double */
  XIR_PARAMETER_INTS = 6,
  XIR_PARAMETER_ANY = 7 /* one that the kernel does not look at */
} xir_parameter;

XIR_API xir_code xir_kernels_create(xir_kernels** kernels);
XIR_API void xir_kernels_free(xir_kernels* kernels);
/* Registers a kernel under the name that a program calls ("demo::axpy.out"). */
XIR_API xir_code xir_kernels_add(xir_kernels* kernels, const char* name,
                                 const xir_parameter* parameters, size_t num_parameters,
                                 xir_kernel kernel, void* context);
/* Those of a shared library, and its backends (xir/kernel_library.h). If it fails, nothing of the
 * library is added. */
XIR_API xir_code xir_kernels_load_library(xir_kernels* kernels, const char* path);
/* How many kernels there are, and the name of one, in alphabetical order; NULL beyond the last.
 * Valid until a kernel is added. Since version 4. */
XIR_API size_t xir_kernels_count(const xir_kernels* kernels);
XIR_API const char* xir_kernels_name(const xir_kernels* kernels, size_t index);

/* An argument, by its place. A call fails where it is of another kind. An absent tensor has rank 0
 * and no data. */
XIR_API xir_code xir_call_tensor(const xir_call* call, size_t index, xir_tensor* tensor);
XIR_API xir_code xir_call_int(const xir_call* call, size_t index, int64_t* value);
XIR_API xir_code xir_call_double(const xir_call* call, size_t index, double* value);
/* Up to `capacity` numbers of a list; `count` is how many it has. */
XIR_API xir_code xir_call_ints(const xir_call* call, size_t index, int64_t* values, size_t capacity,
                               size_t* count);
/* Gives a result its shape, within its bound and memory. */
XIR_API xir_code xir_call_resize(xir_call* call, size_t index, const int64_t* sizes, size_t rank);
/* Calls task(argument, i) for each i below `count`, on the program's threads. */
XIR_API void xir_call_parallel_for(xir_call* call, size_t count,
                                   void (*task)(void* argument, size_t i), void* argument);
/* Whether the execution is to stop. */
XIR_API int xir_call_cancelled(const xir_call* call);
/* Sets the message of a failure, and returns `code`. */
XIR_API xir_code xir_call_fail(xir_call* call, xir_code code, const char* message);

#ifdef __cplusplus
}
#endif

#endif /* XIR_XIR_H_ */
