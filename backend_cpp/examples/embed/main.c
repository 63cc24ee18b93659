/* Runs the method `forward` of a program on ones, with a kernel for aten::mul.out and an allocator of its own, and
 * leaves the first output in memory of its own. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xir/xir.h"

/* Memory of the methods that is in use. */
typedef struct {
  size_t bytes;
  size_t peak;
} usage;

static void* allocate(void* context, size_t bytes, size_t alignment) {
  usage* used = (usage*)context;
  used->bytes += bytes;
  if (used->bytes > used->peak) used->peak = used->bytes;
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void* context, void* memory, size_t bytes) {
  ((usage*)context)->bytes -= bytes;
  free(memory);
}

/* out = x · y for floats of one shape in the order of their dimensions; `context` counts the calls. */
static xir_code multiply(void* context, xir_call* call) {
  xir_tensor x, y, out;
  if (xir_call_tensor(call, 0, &x) != XIR_OK || xir_call_tensor(call, 1, &y) != XIR_OK) {
    return XIR_INVALID_ARGUMENT;
  }
  if (x.dtype != XIR_FLOAT32 || y.dtype != XIR_FLOAT32 || x.rank != y.rank ||
      memcmp(x.sizes, y.sizes, x.rank * sizeof(int64_t)) != 0 ||
      memcmp(x.dim_order, y.dim_order, x.rank) != 0) {
    return xir_call_fail(call, XIR_UNSUPPORTED, "only floats of one shape");
  }
  if (xir_call_resize(call, 2, x.sizes, x.rank) != XIR_OK) return XIR_INVALID_ARGUMENT;
  if (xir_call_tensor(call, 2, &out) != XIR_OK || out.dtype != XIR_FLOAT32 ||
      memcmp(out.dim_order, x.dim_order, x.rank) != 0) {
    return xir_call_fail(call, XIR_UNSUPPORTED, "only a result as the operands are");
  }
  for (size_t i = 0; i < out.nbytes / sizeof(float); ++i) {
    ((float*)out.data)[i] = ((const float*)x.data)[i] * ((const float*)y.data)[i];
  }
  ++*(int*)context;
  return XIR_OK;
}

/* Memory for input 0 with every element 1, which the caller frees. */
static void* make_ones(const xir_value_info* info) {
  void* ones = calloc(1, info->nbytes);
  if (ones == NULL) return NULL;
  for (size_t i = 0; info->dtype == XIR_INT64 && i < info->nbytes / sizeof(int64_t); ++i) {
    ((int64_t*)ones)[i] = 1;
  }
  for (size_t i = 0; info->dtype == XIR_FLOAT32 && i < info->nbytes / sizeof(float); ++i) {
    ((float*)ones)[i] = 1.0f;
  }
  return ones;
}

/* Runs the program; `output` becomes its first result, which the caller frees. */
static xir_code run(const char* path, const xir_options* options, float** output, size_t* nbytes) {
  xir_program* program = NULL;
  xir_method* method = NULL;
  xir_value_info in, out;
  void* ones = NULL;
  int in_place = 0;
  xir_source source = xir_source_path(path);
  xir_code code = xir_program_load(&source, options, &program);
  if (code == XIR_OK) code = xir_program_input(program, "forward", 0, &in);
  if (code == XIR_OK) code = xir_program_output(program, "forward", 0, &out);
  if (code == XIR_OK) code = xir_method_load(program, "forward", &method);
  /* The method keeps what it needs of its program. */
  xir_program_free(program);
  if (code == XIR_OK) {
    ones = make_ones(&in);
    *nbytes = out.nbytes;
    *output = (float*)malloc(out.nbytes);
    code = ones != NULL && *output != NULL ? XIR_OK : XIR_RESOURCE;
  }
  if (code == XIR_OK) code = xir_method_set_input(method, 0, ones, in.nbytes, in.sizes, in.rank);
  if (code == XIR_OK) code = xir_method_bind_output(method, 0, *output, *nbytes, &in_place);
  if (code == XIR_OK) code = xir_method_execute(method);
  if (code == XIR_OK) {
    printf("output 0: rank %zu, %zu bytes, %s\n", out.rank, out.nbytes,
           in_place ? "in place" : "copied");
  }
  xir_method_free(method);
  free(ones);
  return code;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: embed_c MODEL.pte\n");
    return 2;
  }
  const xir_parameter parameters[] = {XIR_PARAMETER_TENSOR, XIR_PARAMETER_TENSOR,
                                      XIR_PARAMETER_RESULT};
  int calls = 0;
  usage used = {0, 0};
  xir_kernels* kernels = NULL;
  xir_options options = XIR_OPTIONS_INIT;
  float *mine = NULL, *theirs = NULL;
  size_t mine_size = 0, their_size = 0;

  xir_code code = xir_kernels_create(&kernels);
  if (code == XIR_OK) {
    code = xir_kernels_add(kernels, "aten::mul.out", parameters, 3, multiply, &calls);
  }
  options.threads = 1;
  options.kernels = kernels;
  options.allocator.context = &used;
  options.allocator.allocate = allocate;
  options.allocator.release = release;
  if (code == XIR_OK) code = run(argv[1], &options, &mine, &mine_size);
  if (code == XIR_OK) code = run(argv[1], NULL, &theirs, &their_size);
  if (code == XIR_OK) {
    const int same = mine_size == their_size && memcmp(mine, theirs, mine_size) == 0;
    printf("own kernel: %d calls, %s as the library's\n", calls, same ? "the same" : "not the same");
    printf("own allocator: %s, %zu bytes left\n", used.peak > 0 ? "used" : "not used", used.bytes);
  } else {
    fprintf(stderr, "embed_c: error: %s\n", xir_error_message());
  }
  free(mine);
  free(theirs);
  xir_kernels_free(kernels);
  return code == XIR_OK ? 0 : 1;
}
