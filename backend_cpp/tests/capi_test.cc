// The C interface and what lies beneath it: arguments without sense, bound outputs, cancellation.

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "golden.h"
#include "testing.h"
#include "xir/library.h"
#include "xir/xir.h"

namespace xir::testing {
namespace {

std::string GoldenPath(const std::string& name) {
  return std::string(XIR_TEST_DATA) + "/" + name + ".pte";
}

// Loads a golden program with the wheel's XNNPACK.
xir_code LoadGolden(const std::string& name, const xir_options* given, xir_program** program) {
  const std::string path = GoldenPath(name);
  const xir_source source = xir_source_path(path.c_str());
  xir_options options = XIR_OPTIONS_INIT;
  if (given != nullptr) options = *given;
  const std::vector<std::string> paths = PythonLibraryPaths();
  std::vector<const char*> pointers;
  for (const std::string& each : paths) pointers.push_back(each.c_str());
  options.xnnpack_paths = pointers.data();
  options.num_xnnpack_paths = pointers.size();
  return xir_program_load(&source, &options, program);
}

// A loaded method, by the C interface.
struct Loaded {
  explicit Loaded(const std::string& name, const xir_options* options = nullptr) {
    EXPECT(LoadGolden(name, options, &program) == XIR_OK);
    EXPECT(xir_method_load(program, "forward", &method) == XIR_OK);
  }
  Loaded(const Loaded&) = delete;
  ~Loaded() {
    xir_program_free(program);
    xir_method_free(method);
  }

  xir_code SetInput(runner::Array* input) {
    return xir_method_set_input(method, 0, input->data.data(), input->data.size(),
                                input->shape.dims.data(), input->shape.rank);
  }

  xir_program* program = nullptr;
  xir_method* method = nullptr;
};

bool LastError(std::string_view text) {
  return std::string_view(xir_error_message()).find(text) != std::string_view::npos;
}

}  // namespace

XIR_TEST(c_interface_describes_without_loading) {
  xir_program* program = nullptr;
  EXPECT(LoadGolden("stock_dynamic", nullptr, &program) == XIR_OK);
  if (program == nullptr) return;
  EXPECT(xir_program_num_methods(program) == 1);
  EXPECT(std::string_view(xir_program_method_name(program, 0)) == "forward");
  EXPECT(xir_program_method_name(program, 1) == nullptr);
  size_t inputs = 0, outputs = 0;
  EXPECT(xir_program_num_inputs(program, "forward", &inputs) == XIR_OK && inputs == 1);
  EXPECT(xir_program_num_outputs(program, "forward", &outputs) == XIR_OK && outputs == 2);
  xir_value_info info;
  EXPECT(xir_program_input(program, "forward", 0, &info) == XIR_OK);
  EXPECT(info.kind == XIR_TENSOR && info.dtype == XIR_FLOAT32 && info.rank == 2);
  EXPECT(info.sizes[0] == 10 && info.sizes[1] == 8 && info.dynamic == 1 && info.nbytes == 320);
  EXPECT(xir_program_input(program, "forward", 1, &info) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_program_output(program, "backward", 0, &info) == XIR_NOT_FOUND);
  EXPECT(LastError("it has: forward"));
  xir_program_free(program);
}

XIR_TEST(c_interface_takes_anything) {
  xir_program* program = nullptr;
  xir_method* method = nullptr;
  const xir_source none = xir_source_path("/none.pte");
  EXPECT(xir_program_load(nullptr, nullptr, &program) == XIR_INVALID_ARGUMENT);
  EXPECT(LastError("source is null"));
  EXPECT(xir_program_load(&none, nullptr, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_program_load(&none, nullptr, &program) == XIR_NOT_FOUND && program == nullptr);
  xir_source unknown = none;
  unknown.kind = 9;
  EXPECT(xir_program_load(&unknown, nullptr, &program) == XIR_INVALID_ARGUMENT);
  unknown = xir_source_path(nullptr);
  EXPECT(xir_program_load(&unknown, nullptr, &program) == XIR_INVALID_ARGUMENT);
  unknown.size = 0;
  EXPECT(xir_program_load(&unknown, nullptr, &program) == XIR_INVALID_ARGUMENT);
  xir_options options = XIR_OPTIONS_INIT;
  options.size = sizeof(options) + 8;
  EXPECT(xir_program_load(&none, &options, &program) == XIR_INVALID_ARGUMENT);
  EXPECT(LastError("this library knows"));
  options = XIR_OPTIONS_INIT;
  options.num_data = 1;
  EXPECT(xir_program_load(&none, &options, &program) == XIR_INVALID_ARGUMENT);
  EXPECT(LastError("there is no list"));
  options = XIR_OPTIONS_INIT;
  options.num_xnnpack_paths = 1;
  EXPECT(xir_program_load(&none, &options, &program) == XIR_INVALID_ARGUMENT);
  const char* const no_path = nullptr;
  options.xnnpack_paths = &no_path;
  EXPECT(xir_program_load(&none, &options, &program) == XIR_INVALID_ARGUMENT);
  EXPECT(LastError("path 0 to XNNPACK is null"));
  // The elements of a list are as far apart as this library has them.
  unknown = none;
  unknown.size += 8;
  options = XIR_OPTIONS_INIT;
  options.data = &unknown;
  options.num_data = 1;
  EXPECT(xir_program_load(&none, &options, &program) == XIR_INVALID_ARGUMENT);
  EXPECT(LastError("a source's size is"));
  EXPECT(xir_method_load(nullptr, "forward", &method) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_method_execute(nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_method_set_int(nullptr, 0, 1) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_program_num_methods(nullptr) == 0 && xir_method_num_outputs(nullptr) == 0);
  EXPECT(xir_thread_pool_on(nullptr, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_kernels_add(nullptr, "a", nullptr, 0, nullptr, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_call_tensor(nullptr, 0, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_call_resize(nullptr, 0, nullptr, 0) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_call_cancelled(nullptr) == 0);
  EXPECT(xir_call_fail(nullptr, XIR_RESOURCE, "none") == XIR_RESOURCE);
  xir_call_parallel_for(nullptr, 1, nullptr, nullptr);
  EXPECT(xir_state_new(nullptr, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_state_read(nullptr, "a", nullptr, 0) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_state_reset(nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_state_num_buffers(nullptr) == 0);
  xir_state_free(nullptr);
  xir_thread_pool* pool = nullptr;
  EXPECT(xir_thread_pool_shared(SIZE_MAX, &pool) == XIR_INVALID_ARGUMENT && pool == nullptr);
  xir_method_cancel(nullptr);
  xir_program_free(nullptr);
  xir_method_free(nullptr);
  xir_kernels_free(nullptr);
  xir_thread_pool_free(nullptr);

  Loaded small("stock_small");
  int64_t sizes[XIR_MAX_RANK] = {};
  xir_tensor tensor;
  int64_t integer;
  float data[4];
  EXPECT(xir_method_set_input(small.method, 0, data, sizeof(data), sizes, 99) ==
         XIR_INVALID_ARGUMENT);
  EXPECT(xir_method_set_input(small.method, 0, data, sizeof(data), nullptr, 4) ==
         XIR_INVALID_ARGUMENT);
  EXPECT(xir_method_set_input(small.method, 7, data, sizeof(data), sizes, 4) ==
         XIR_INVALID_ARGUMENT);
  EXPECT(xir_method_execute(small.method) == XIR_INVALID_ARGUMENT);
  EXPECT(LastError("input 0 was not given"));
  EXPECT(xir_method_output(small.method, 9, &tensor) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_method_output_int(small.method, 0, &integer) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_method_bind_output(small.method, 9, data, sizeof(data), nullptr) ==
         XIR_INVALID_ARGUMENT);
  EXPECT(xir_method_bind_output(small.method, 0, data, 1, nullptr) == XIR_INVALID_ARGUMENT);
}

// An empty input has no address, whatever the size that comes with it.
XIR_TEST(empty_inputs_have_no_memory) {
  Loaded dynamic("stock_dynamic");
  const int64_t sizes[] = {0, 8};
  EXPECT(xir_method_set_input(dynamic.method, 0, nullptr, size_t{1} << 30, sizes, 2) == XIR_OK);
  EXPECT(xir_method_execute(dynamic.method) == XIR_OK);
  xir_tensor output;
  EXPECT(xir_method_output(dynamic.method, 0, &output) == XIR_OK);
  EXPECT(output.sizes[0] == 0);
}

// An allocator that does not keep to the alignment that it was asked for.
XIR_TEST(allocators_that_answer_any_address) {
  static int live = 0;
  xir_options options = XIR_OPTIONS_INIT;
  options.allocator.allocate = [](void*, size_t bytes, size_t alignment) -> void* {
    ++live;
    return static_cast<uint8_t*>(std::aligned_alloc(alignment, bytes + alignment)) + 8;
  };
  options.allocator.release = [](void*, void* memory, size_t) {
    --live;
    std::free(static_cast<uint8_t*>(memory) - 8);
  };
  xir_program* program = nullptr;
  xir_method* method = nullptr;
  EXPECT(LoadGolden("stock_small", &options, &program) == XIR_OK);
  EXPECT(xir_method_load(program, "forward", &method) == XIR_RESOURCE && method == nullptr);
  EXPECT(LastError("out of memory"));
  EXPECT(live == 0);
  xir_program_free(program);
}

// A kernel that does what only callers should.
XIR_TEST(kernels_that_run_their_own_method) {
  struct Calls {
    xir_method* method = nullptr;
    xir_code nested = XIR_OK;
  } calls;
  const xir_parameter parameters[] = {XIR_PARAMETER_ANY, XIR_PARAMETER_ANY, XIR_PARAMETER_ANY,
                                      XIR_PARAMETER_RESULT};
  xir_kernels* kernels = nullptr;
  EXPECT(xir_kernels_create(&kernels) == XIR_OK);
  const xir_kernel kernel = [](void* context, xir_call* call) -> xir_code {
    auto* self = static_cast<Calls*>(context);
    // What the method's state is may be asked, and does not wait for itself.
    xir_state* state = nullptr;
    if (xir_method_state(self->method, &state) == XIR_OK) xir_state_reset(state);
    xir_state_free(state);
    self->nested = xir_method_execute(self->method);
    return self->nested == XIR_OK ? XIR_OK : xir_call_fail(call, self->nested, xir_error_message());
  };
  EXPECT(xir_kernels_add(kernels, "aten::sub.out", parameters, 4, kernel, &calls) == XIR_OK);
  xir_options options = XIR_OPTIONS_INIT;
  options.kernels = kernels;
  {
    runner::Array input = ReadGoldenArray("stock_portable.input_0.npy");
    Loaded loaded("stock_portable", &options);
    calls.method = loaded.method;
    for (int repeat = 0; repeat < 2; ++repeat) {
      EXPECT(loaded.SetInput(&input) == XIR_OK);
      EXPECT(xir_method_execute(loaded.method) == XIR_INVALID_ARGUMENT);
      EXPECT(LastError("a kernel runs the method that it is called by"));
      EXPECT(calls.nested == XIR_INVALID_ARGUMENT);
    }
  }
  xir_kernels_free(kernels);
}

// Options of a version that ended before what came later.
XIR_TEST(c_interface_profiles_executions) {
  xir_profile* profile = nullptr;
  EXPECT(xir_profile_new(&profile) == XIR_OK && xir_profile_num_executions(profile) == 0);
  {
    Loaded small("stock_small");
    EXPECT(xir_method_execute_profiled(small.method, nullptr) == XIR_INVALID_ARGUMENT);
    EXPECT(xir_method_execute_profiled(small.method, profile) == XIR_INVALID_ARGUMENT);
    EXPECT(LastError("input 0"));  // none was given
    EXPECT(xir_profile_num_executions(profile) == 0);
    runner::Array image = ReadGoldenArray("stock_small.input_0.npy");
    EXPECT(small.SetInput(&image) == XIR_OK);
    EXPECT(xir_method_execute_profiled(small.method, profile) == XIR_OK);
    EXPECT(small.SetInput(&image) == XIR_OK);
    EXPECT(xir_method_execute_profiled(small.method, profile) == XIR_OK);
  }
  // It outlives its method.
  EXPECT(xir_profile_num_executions(profile) == 2);
  double microseconds = 0;
  size_t num_events = 0;
  EXPECT(xir_profile_execution(profile, 1, &microseconds, &num_events) == XIR_OK);
  EXPECT(microseconds > 0 && num_events > 2);
  EXPECT(xir_profile_execution(profile, 1, nullptr, nullptr) == XIR_OK);
  double sum = 0;
  bool called_mean = false;
  for (size_t i = 0; i < num_events; ++i) {
    xir_event event;
    EXPECT(xir_profile_event(profile, 1, i, &event) == XIR_OK);
    if (event.kind != XIR_EVENT_OPERATOR) sum += event.duration;
    EXPECT((event.kind == XIR_EVENT_KERNEL) == (event.delegate == XIR_NO_INDEX));
    if (std::string_view(event.name) == "aten::mean.out") called_mean = event.result_bytes == 64;
    xir_origin origin;
    EXPECT(xir_profile_origin(profile, 1, i, event.num_origins, &origin) == XIR_INVALID_ARGUMENT);
  }
  EXPECT(called_mean && sum > 0 && sum <= microseconds);
  for (const xir_profile_format format :
       {XIR_PROFILE_TABLE, XIR_PROFILE_TRACE, XIR_PROFILE_ETDUMP}) {
    const char* bytes = nullptr;
    size_t length = 0;
    EXPECT(xir_profile_render(profile, format, &bytes, &length) == XIR_OK && length > 100);
    EXPECT(std::string_view(bytes, length).find("aten::mean.out") != std::string_view::npos);
  }
  xir_profile_free(profile);
}

XIR_TEST(c_interface_tells_where_events_come_from) {
  Loaded debug("xir_debug_info");
  xir_profile* profile = nullptr;
  EXPECT(xir_profile_new(&profile) == XIR_OK);
  xir_value_info info;
  EXPECT(xir_program_input(debug.program, "forward", 0, &info) == XIR_OK);
  std::vector<float> zeros(info.nbytes / sizeof(float));
  EXPECT(xir_method_set_input(debug.method, 0, zeros.data(), info.nbytes, info.sizes, info.rank) ==
         XIR_OK);
  EXPECT(xir_method_execute_profiled(debug.method, profile) == XIR_OK);
  size_t num_events = 0, told = 0;
  EXPECT(xir_profile_execution(profile, 0, nullptr, &num_events) == XIR_OK);
  for (size_t i = 0; i < num_events; ++i) {
    xir_event event;
    EXPECT(xir_profile_event(profile, 0, i, &event) == XIR_OK);
    for (size_t k = 0; k < event.num_origins; ++k) {
      xir_origin origin;
      EXPECT(xir_profile_origin(profile, 0, i, k, &origin) == XIR_OK);
      told +=
          origin.line > 0 && std::string_view(origin.file).find(".py") != std::string_view::npos;
    }
  }
  EXPECT(told > 0);
  xir_profile_free(profile);
}

XIR_TEST(c_interface_has_profiles_of_one_method) {
  const Blob file = WithSecondMethod(ReadGolden("stock_small.pte"));
  const xir_source source = xir_source_copied(file.data(), file.size());
  xir_options options = XIR_OPTIONS_INIT;
  const std::vector<std::string> paths = PythonLibraryPaths();
  std::vector<const char*> pointers;
  for (const std::string& each : paths) pointers.push_back(each.c_str());
  options.xnnpack_paths = pointers.data();
  options.num_xnnpack_paths = pointers.size();
  xir_program* program = nullptr;
  xir_profile* profile = nullptr;
  EXPECT(xir_program_load(&source, &options, &program) == XIR_OK);
  EXPECT(xir_profile_new(&profile) == XIR_OK);
  runner::Array image = ReadGoldenArray("stock_small.input_0.npy");
  for (const char* name : {"forward", "second"}) {
    xir_method* method = nullptr;
    EXPECT(xir_method_load(program, name, &method) == XIR_OK);
    EXPECT(xir_method_set_input(method, 0, image.data.data(), image.data.size(),
                                image.shape.dims.data(), image.shape.rank) == XIR_OK);
    const bool first = std::string_view(name) == "forward";
    EXPECT(xir_method_execute_profiled(method, profile) == (first ? XIR_OK : XIR_INVALID_ARGUMENT));
    xir_method_free(method);
  }
  EXPECT(LastError("the profile is of method 'forward', not of 'second'"));
  EXPECT(xir_profile_num_executions(profile) == 1);
  xir_profile_free(profile);
  xir_program_free(program);
}

XIR_TEST(c_interface_refuses_misused_profiles_and_kernels) {
  xir_event event;
  xir_origin origin;
  size_t length = 0;
  const char* bytes = nullptr;
  EXPECT(xir_profile_new(nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_method_execute_profiled(nullptr, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(LastError("method is null"));
  EXPECT(xir_profile_num_executions(nullptr) == 0);
  EXPECT(xir_profile_execution(nullptr, 0, nullptr, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_profile_event(nullptr, 0, 0, &event) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_profile_origin(nullptr, 0, 0, 0, &origin) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_profile_render(nullptr, XIR_PROFILE_TABLE, &bytes, &length) == XIR_INVALID_ARGUMENT);
  xir_profile_free(nullptr);
  xir_profile* profile = nullptr;
  EXPECT(xir_profile_new(&profile) == XIR_OK);
  EXPECT(xir_profile_execution(profile, 0, nullptr, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(LastError("execution 0 of 0 does not exist"));
  EXPECT(xir_profile_event(profile, 0, 0, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_profile_render(profile, XIR_PROFILE_TABLE, nullptr, &length) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_profile_render(profile, XIR_PROFILE_TABLE, &bytes, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_profile_render(profile, static_cast<xir_profile_format>(9), &bytes, &length) ==
         XIR_INVALID_ARGUMENT);
  EXPECT(LastError("no format 9"));
  EXPECT(xir_profile_render(profile, XIR_PROFILE_TABLE, &bytes, &length) == XIR_OK && length == 0);
  xir_profile_free(profile);

  xir_kernels* kernels = nullptr;
  EXPECT(xir_kernels_create(nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_kernels_load_library(nullptr, XIR_TEST_KERNEL_LIBRARY) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_kernels_count(nullptr) == 0 && xir_kernels_name(nullptr, 0) == nullptr);
  EXPECT(xir_kernels_create(&kernels) == XIR_OK && xir_kernels_count(kernels) == 0);
  EXPECT(xir_kernels_load_library(kernels, nullptr) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_kernels_load_library(kernels, "/none.so") == XIR_NOT_FOUND);
  EXPECT(LastError("library '/none.so': cannot load it"));
  EXPECT(xir_kernels_load_library(kernels, XIR_TEST_OTHER_KERNEL_LIBRARY) == XIR_UNSUPPORTED);
  EXPECT(xir_kernels_count(kernels) == 0);
  EXPECT(xir_kernels_load_library(kernels, XIR_TEST_KERNEL_LIBRARY) == XIR_OK);
  const size_t count = xir_kernels_count(kernels);
  EXPECT(count > 0 && xir_kernels_name(kernels, count - 1) != nullptr);
  EXPECT(xir_kernels_name(kernels, count) == nullptr);
  EXPECT(xir_kernels_load_library(kernels, XIR_TEST_KERNEL_LIBRARY) == XIR_INVALID_ARGUMENT);
  EXPECT(LastError("there are two kernels for"));
  EXPECT(xir_kernels_count(kernels) == count);
  // What the handle's program needs of them outlives it.
  xir_options options = XIR_OPTIONS_INIT;
  options.kernels = kernels;
  xir_program* program = nullptr;
  EXPECT(LoadGolden("stock_portable", &options, &program) == XIR_OK);
  xir_kernels_free(kernels);
  xir_method* method = nullptr;
  EXPECT(xir_method_load(program, "forward", &method) == XIR_OK);
  xir_method_free(method);
  xir_program_free(program);
}

XIR_TEST(c_interface_takes_shorter_options) {
  xir_options options = XIR_OPTIONS_INIT;
  options.size = offsetof(xir_options, max_memory);
  options.threads = 1;
  options.max_memory = 1;  // behind the end: not read
  const std::string path = GoldenPath("stock_portable");
  const xir_source source = xir_source_path(path.c_str());
  xir_program* program = nullptr;
  EXPECT(xir_program_load(&source, &options, &program) == XIR_OK);
  xir_program_free(program);
}

XIR_TEST(c_interface_keeps_packed_weights) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("xir_capi_" + std::to_string(getpid()) + ".packed"))
                               .string();
  std::filesystem::remove(path);
  xir_options options = XIR_OPTIONS_INIT;
  options.packed_weights = path.c_str();
  const auto state_of = [&](const std::string& golden) {
    const Loaded loaded(golden, &options);
    xir_packed_weights state{};
    EXPECT(xir_program_packed_weights(loaded.program, &state) == XIR_OK);
    EXPECT(std::string_view(state.remark).empty());
    return state;
  };
  const xir_packed_weights first = state_of("stock_small"), second = state_of("stock_small");
  EXPECT(first.nbytes > 0 && first.read == 0 && first.written == 1);
  EXPECT(second.read == 1 && second.written == 0);
  // Another program's weights stay beside them, unless the file may not have as much.
  EXPECT(state_of("stock_q8").written == 1);
  EXPECT(state_of("stock_small").read == 1);
  options.packed_weights_limit = 1;
  EXPECT(state_of("stock_qd8").written == 1);
  EXPECT(state_of("stock_small").read == 0);
  std::filesystem::remove(path);

  options.packed_weights = "/no such folder/weights";
  const Loaded loaded("stock_small", &options);
  xir_packed_weights state{};
  EXPECT(xir_program_packed_weights(loaded.program, &state) == XIR_OK);
  EXPECT(state.written == 0 &&
         std::string_view(state.remark).find("it cannot be written") != std::string_view::npos);
  EXPECT(xir_program_packed_weights(nullptr, &state) == XIR_INVALID_ARGUMENT);
  EXPECT(xir_program_packed_weights(loaded.program, nullptr) == XIR_INVALID_ARGUMENT);
}

XIR_TEST(outputs_are_bound) {
  for (const std::string name : {"stock_small", "stock_portable", "stock_dynamic", "stock_q8"}) {
    runner::Array input = ReadGoldenArray(name + ".input_0.npy");
    Loaded plain(name), bound(name);
    EXPECT(plain.SetInput(&input) == XIR_OK && xir_method_execute(plain.method) == XIR_OK);
    xir_value_info info;
    EXPECT(xir_program_output(plain.program, "forward", 0, &info) == XIR_OK);
    // Whole pages away from the end, where the operator writes itself; at the end of a page, where
    // it cannot; and back to where the file has it.
    alignas(4096) static uint8_t pages[3 * 4096];
    uint8_t* const end = pages + 2 * 4096 - info.nbytes;
    for (uint8_t* place : {pages, end, pages, static_cast<uint8_t*>(nullptr)}) {
      std::memset(pages, 0xEE, sizeof(pages));
      int in_place = -1;
      EXPECT(xir_method_bind_output(bound.method, 0, place, info.nbytes, &in_place) == XIR_OK);
      EXPECT(in_place == (place == pages ? 1 : 0));
      for (int repeat = 0; repeat < 2; ++repeat) {
        EXPECT(bound.SetInput(&input) == XIR_OK && xir_method_execute(bound.method) == XIR_OK);
        xir_tensor got, wanted;
        EXPECT(xir_method_output(bound.method, 0, &got) == XIR_OK);
        EXPECT(xir_method_output(plain.method, 0, &wanted) == XIR_OK);
        EXPECT(got.nbytes == wanted.nbytes && std::memcmp(got.data, wanted.data, got.nbytes) == 0);
        if (place == nullptr) continue;
        EXPECT(std::memcmp(place, wanted.data, got.nbytes) == 0);
        EXPECT(place[info.nbytes] == 0xEE);
      }
    }
  }
}

XIR_TEST(executions_are_cancelled) {
  runner::Array input = ReadGoldenArray("stock_small.input_0.npy");
  Loaded loaded("stock_small");
  xir_method_cancel(loaded.method);
  EXPECT(loaded.SetInput(&input) == XIR_OK);
  EXPECT(xir_method_execute(loaded.method) == XIR_CANCELLED);
  EXPECT(LastError("cancelled before instruction 0"));
  // The request is used up.
  EXPECT(loaded.SetInput(&input) == XIR_OK);
  EXPECT(xir_method_execute(loaded.method) == XIR_OK);
  // From another thread, while it runs.
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) xir_method_cancel(loaded.method);
  });
  xir_code code = XIR_OK;
  for (int i = 0; i < 10'000 && code == XIR_OK; ++i) {
    EXPECT(loaded.SetInput(&input) == XIR_OK);
    code = xir_method_execute(loaded.method);
  }
  done = true;
  other.join();
  EXPECT(code == XIR_CANCELLED);
}

// Threads that the application lends run XNNPACK's operators.
XIR_TEST(threads_of_the_caller) {
  struct Threads {
    std::vector<std::thread> threads;
    std::atomic<int> tasks{0};
  } mine;
  const xir_executor executor{&mine, 1, [](void* context, void (*task)(void*), void* argument) {
                                auto* self = static_cast<Threads*>(context);
                                ++self->tasks;
                                self->threads.emplace_back(task, argument);
                              }};
  xir_thread_pool* pool = nullptr;
  EXPECT(xir_thread_pool_on(&executor, &pool) == XIR_OK);
  xir_options options = XIR_OPTIONS_INIT;
  options.thread_pool = pool;
  {
    runner::Array input = ReadGoldenArray("stock_small.input_0.npy");
    Loaded loaded("stock_small", &options), plain("stock_small");
    EXPECT(loaded.SetInput(&input) == XIR_OK && xir_method_execute(loaded.method) == XIR_OK);
    EXPECT(plain.SetInput(&input) == XIR_OK && xir_method_execute(plain.method) == XIR_OK);
    xir_tensor got, wanted;
    EXPECT(xir_method_output(loaded.method, 0, &got) == XIR_OK);
    EXPECT(xir_method_output(plain.method, 0, &wanted) == XIR_OK);
    EXPECT(got.nbytes == wanted.nbytes);
  }
  xir_thread_pool_free(pool);
  for (std::thread& thread : mine.threads) thread.join();
  EXPECT(mine.tasks > 0);
}

}  // namespace xir::testing
