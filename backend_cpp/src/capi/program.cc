#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "capi/handles.h"
#include "xir/random.h"

namespace xir::capi {
namespace {

thread_local std::string g_message;
thread_local std::string g_remark;

constexpr xir_code kCodes[] = {XIR_INVALID_PROGRAM, XIR_UNSUPPORTED, XIR_INVALID_ARGUMENT,
                               XIR_NOT_FOUND,       XIR_RESOURCE,    XIR_INTERNAL,
                               XIR_CANCELLED,       XIR_MISSING_DATA};

class CallbackExecutor final : public Executor {
 public:
  explicit CallbackExecutor(const xir_executor& calls) : calls_(calls) {}
  size_t num_threads() const override { return calls_.num_threads; }
  void Schedule(void (*task)(void*), void* context) override {
    calls_.schedule(calls_.context, task, context);
  }

 private:
  xir_executor calls_;
};

xir_kind KindOf(std::string_view name) {
  return name == "tensor"   ? XIR_TENSOR
         : name == "int"    ? XIR_INT
         : name == "bool"   ? XIR_BOOLEAN
         : name == "double" ? XIR_DOUBLE
         : name == "none"   ? XIR_NONE
                            : XIR_OTHER;
}

xir_value_info Describe(const ValueInfo& from) {
  xir_value_info info{};
  info.kind = KindOf(from.kind);
  if (info.kind != XIR_TENSOR) return info;
  info.dtype = static_cast<xir_dtype>(from.dtype);
  info.rank = from.shape.rank;
  std::copy_n(from.shape.dims.begin(), info.rank, info.sizes);
  std::copy(from.dim_order.begin(), from.dim_order.end(), info.dim_order);
  info.dynamic = from.dynamic ? 1 : 0;
  info.nbytes = static_cast<size_t>(from.shape.numel()) * ElementSize(from.dtype);
  return info;
}

// What one of a method's inputs or outputs is, or how many there are.
xir_code ReadInfo(const xir_program* program, const char* method,
                  std::vector<ValueInfo> MethodMetadata::*list, size_t index, size_t* count,
                  xir_value_info* info) {
  XIR_REQUIRE(program);
  XIR_REQUIRE(method);
  auto metadata = program->program->method_metadata(method);
  if (!metadata.ok()) return Report(std::move(metadata).status());
  const std::vector<ValueInfo>& values = metadata.value().*list;
  if (count != nullptr) *count = values.size();
  if (info == nullptr) return XIR_OK;
  if (index >= values.size()) {
    return Report(
        Fail(Code::kInvalidArgument, "value ", index, " of ", values.size(), " does not exist"));
  }
  *info = Describe(values[index]);
  return XIR_OK;
}

}  // namespace

xir_code Report(const Status& status) {
  if (status.ok()) return XIR_OK;
  try {
    g_message = status.message();
  } catch (...) {
    g_message = "out of memory";  // so short that it takes none
  }
  return kCodes[static_cast<size_t>(status.code())];
}

xir_code ReportNull(const char* what) {
  return Report(Fail(Code::kInvalidArgument, what, " is null"));
}

Code CodeOf(xir_code code) {
  for (size_t i = 0; i < std::size(kCodes); ++i) {
    if (kCodes[i] == code) return static_cast<Code>(i);
  }
  return Code::kInternal;
}

Result<Shape> MakeShape(const int64_t* sizes, size_t rank) {
  if (rank > kMaxRank || (rank > 0 && sizes == nullptr)) {
    return Fail(Code::kInvalidArgument, "a shape without sizes, or of rank ", rank, " beyond ",
                kMaxRank);
  }
  Shape shape;
  shape.rank = rank;
  std::copy_n(sizes, rank, shape.dims.begin());
  return shape;
}

xir_tensor Describe(const Tensor& tensor) {
  xir_tensor out{};
  out.dtype = static_cast<xir_dtype>(tensor.dtype);
  out.rank = tensor.rank();
  std::copy_n(tensor.shape.dims.begin(), out.rank, out.sizes);
  std::copy_n(tensor.dim_order.begin(), out.rank, out.dim_order);
  out.data = tensor.data;
  out.nbytes = tensor.nbytes();
  return out;
}

namespace {

template <typename Visit>
xir_code WithOutput(const xir_method* method, size_t index, const Visit& visit) {
  XIR_REQUIRE(method);
  const Method& loaded = *method->method;
  if (index >= loaded.num_outputs()) {
    return Report(Fail(Code::kInvalidArgument, "output ", index, " of ", loaded.num_outputs(),
                       " does not exist"));
  }
  const Value& value = loaded.output(index);
  if (visit(value)) return XIR_OK;
  return Report(Fail(Code::kInvalidArgument, "output ", index, " is a ", KindName(value)));
}

xir_code SetTensor(xir_method* method, size_t index, void* data, size_t nbytes,
                   const int64_t* sizes, size_t rank, bool writable) {
  XIR_REQUIRE(method);
  auto shape = MakeShape(sizes, rank);
  if (!shape.ok()) return Report(std::move(shape).status());
  return Report(method->method->SetInput(index, data, nbytes, shape.value(), writable));
}

template <typename T>
xir_code SetNumber(xir_method* method, size_t index, T value) {
  XIR_REQUIRE(method);
  return Report(method->method->SetInput(index, value));
}

xir_code Store(Result<std::shared_ptr<ThreadPool>> made, xir_thread_pool** pool) {
  *pool = nullptr;
  if (!made.ok()) return Report(std::move(made).status());
  *pool = new xir_thread_pool{std::move(made).value()};
  return XIR_OK;
}

xir_code Store(Result<std::unique_ptr<Method>> loaded, xir_method** method) {
  *method = nullptr;
  if (!loaded.ok()) return Report(std::move(loaded).status());
  *method = new xir_method{std::move(loaded).value()};
  return XIR_OK;
}

xir_code Store(Result<std::shared_ptr<State>> made, xir_state** state) {
  *state = nullptr;
  if (!made.ok()) return Report(std::move(made).status());
  auto buffers = made.value()->buffers();
  *state = new xir_state{std::move(made).value(), std::move(buffers)};
  return XIR_OK;
}

}  // namespace
}  // namespace xir::capi

using namespace xir::capi;
using xir::Code;
using xir::Fail;

uint32_t xir_api_version(void) { return XIR_API_VERSION; }
const char* xir_error_message(void) { return g_message.c_str(); }

xir_code xir_program_load(const xir_source* source, const xir_options* options,
                          xir_program** program) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(source);
    XIR_REQUIRE(program);
    *program = nullptr;
    auto from = MakeSource(*source);
    if (!from.ok()) return Report(std::move(from).status());
    auto made = MakeOptions(options);
    if (!made.ok()) return Report(std::move(made).status());
    auto loaded = xir::Program::Load(from.value(), std::move(made).value());
    if (!loaded.ok()) return Report(std::move(loaded).status());
    auto names = loaded.value()->method_names();
    *program = new xir_program{std::move(loaded).value(), std::move(names)};
    return XIR_OK;
  });
}

void xir_program_free(xir_program* program) { delete program; }

size_t xir_program_num_methods(const xir_program* program) {
  return program == nullptr ? 0 : program->names.size();
}

const char* xir_program_method_name(const xir_program* program, size_t index) {
  return index < xir_program_num_methods(program) ? program->names[index].c_str() : nullptr;
}

xir_code xir_program_num_inputs(const xir_program* program, const char* method, size_t* count) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(count);
    return ReadInfo(program, method, &xir::MethodMetadata::inputs, 0, count, nullptr);
  });
}

xir_code xir_program_num_outputs(const xir_program* program, const char* method, size_t* count) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(count);
    return ReadInfo(program, method, &xir::MethodMetadata::outputs, 0, count, nullptr);
  });
}

xir_code xir_program_input(const xir_program* program, const char* method, size_t index,
                           xir_value_info* info) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(info);
    return ReadInfo(program, method, &xir::MethodMetadata::inputs, index, nullptr, info);
  });
}

xir_code xir_program_output(const xir_program* program, const char* method, size_t index,
                            xir_value_info* info) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(info);
    return ReadInfo(program, method, &xir::MethodMetadata::outputs, index, nullptr, info);
  });
}

xir_code xir_method_load(const xir_program* program, const char* name, xir_method** method) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(program);
    XIR_REQUIRE(name);
    XIR_REQUIRE(method);
    return Store(program->program->LoadMethod(name), method);
  });
}

void xir_method_free(xir_method* method) { delete method; }

xir_code xir_program_packed_weights(const xir_program* program, xir_packed_weights* state) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(program);
    XIR_REQUIRE(state);
    xir::PackedFileState file = program->program->packed_file();
    g_remark = std::move(file.remark);
    *state = {program->program->packed_bytes(), file.read ? 1 : 0, file.written ? 1 : 0,
              g_remark.c_str()};
    return XIR_OK;
  });
}

xir_code xir_method_set_input(xir_method* method, size_t index, void* data, size_t nbytes,
                              const int64_t* sizes, size_t rank) {
  return Reported([&]() -> xir_code {
    return SetTensor(method, index, data, nbytes, sizes, rank, /*writable=*/true);
  });
}

xir_code xir_method_set_const_input(xir_method* method, size_t index, const void* data,
                                    size_t nbytes, const int64_t* sizes, size_t rank) {
  return Reported([&]() -> xir_code {
    return SetTensor(method, index, const_cast<void*>(data), nbytes, sizes, rank, false);
  });
}

xir_code xir_method_set_tensor(xir_method* method, size_t index, const xir_tensor* tensor,
                               int writable) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(method);
    XIR_REQUIRE(tensor);
    auto shape = MakeShape(tensor->sizes, tensor->rank);
    if (!shape.ok()) return Report(std::move(shape).status());
    xir::Tensor given;
    given.dtype = static_cast<xir::DType>(tensor->dtype);
    given.shape = shape.value();
    std::copy_n(tensor->dim_order, tensor->rank, given.dim_order.begin());
    given.data = tensor->data;
    given.capacity = tensor->nbytes;
    given.writable = writable != 0;
    return Report(method->method->SetInput(index, given));
  });
}

xir_code xir_method_set_int(xir_method* method, size_t index, int64_t value) {
  return Reported([&]() -> xir_code { return SetNumber(method, index, value); });
}
xir_code xir_method_set_boolean(xir_method* method, size_t index, int value) {
  return Reported([&]() -> xir_code { return SetNumber(method, index, value != 0); });
}
xir_code xir_method_set_double(xir_method* method, size_t index, double value) {
  return Reported([&]() -> xir_code { return SetNumber(method, index, value); });
}

xir_code xir_method_bind_output(xir_method* method, size_t index, void* data, size_t nbytes,
                                int* in_place) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(method);
    auto binding = method->method->BindOutput(index, data, nbytes);
    if (!binding.ok()) return Report(std::move(binding).status());
    if (in_place != nullptr) *in_place = binding.value() == xir::Method::Binding::kInPlace ? 1 : 0;
    return XIR_OK;
  });
}

xir_code xir_method_execute(xir_method* method) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(method);
    return Report(method->method->Execute());
  });
}

xir_code xir_method_limit_seconds(xir_method* method, double max_seconds) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(method);
    return Report(method->method->LimitSeconds(max_seconds));
  });
}

void xir_method_cancel(xir_method* method) {
  if (method != nullptr) method->method->Cancel();
}

size_t xir_method_num_outputs(const xir_method* method) {
  return method == nullptr ? 0 : method->method->num_outputs();
}

xir_code xir_method_output(const xir_method* method, size_t index, xir_tensor* tensor) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(tensor);
    return WithOutput(method, index, [&](const xir::Value& value) {
      const auto* found = value.get<xir::Tensor>();
      if (found != nullptr) *tensor = Describe(*found);
      return found != nullptr;
    });
  });
}

xir_code xir_method_output_int(const xir_method* method, size_t index, int64_t* number) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(number);
    return WithOutput(method, index, [&](const xir::Value& value) {
      if (const auto* flag = value.get<bool>()) *number = *flag ? 1 : 0;
      if (const auto* integer = value.get<int64_t>()) *number = *integer;
      return value.get<bool>() != nullptr || value.get<int64_t>() != nullptr;
    });
  });
}

xir_code xir_method_output_double(const xir_method* method, size_t index, double* number) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(number);
    return WithOutput(method, index, [&](const xir::Value& value) {
      const auto* real = value.get<double>();
      if (real != nullptr) *number = *real;
      return real != nullptr;
    });
  });
}

xir_code xir_state_new(const xir_program* program, xir_state** state) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(program);
    XIR_REQUIRE(state);
    return Store(program->program->NewState(), state);
  });
}

xir_code xir_method_state(const xir_method* method, xir_state** state) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(method);
    XIR_REQUIRE(state);
    return Store(xir::Result<std::shared_ptr<xir::State>>(method->method->state()), state);
  });
}

void xir_state_free(xir_state* state) { delete state; }

xir_code xir_method_load_with_state(const xir_program* program, const char* name, xir_state* state,
                                    xir_method** method) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(program);
    XIR_REQUIRE(name);
    XIR_REQUIRE(state);
    XIR_REQUIRE(method);
    return Store(program->program->LoadMethod(name, state->state), method);
  });
}

size_t xir_state_num_buffers(const xir_state* state) {
  return state == nullptr ? 0 : state->buffers.size();
}

xir_code xir_state_buffer(const xir_state* state, size_t index, const char** name,
                          xir_value_info* info) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(state);
    if (index >= state->buffers.size()) {
      return Report(Fail(Code::kInvalidArgument, "buffer ", index, " of ", state->buffers.size(),
                         " does not exist"));
    }
    const xir::BufferInfo& buffer = state->buffers[index];
    if (name != nullptr) *name = buffer.name.c_str();
    if (info != nullptr) {
      *info = Describe(xir::ValueInfo{"tensor", buffer.dtype, buffer.shape, buffer.shape, false,
                                      buffer.dim_order});
    }
    return XIR_OK;
  });
}

xir_code xir_state_read(const xir_state* state, const char* name, void* data, size_t nbytes) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(state);
    XIR_REQUIRE(name);
    XIR_REQUIRE(data);
    return Report(state->state->Read(name, data, nbytes));
  });
}

xir_code xir_state_write(xir_state* state, const char* name, const void* data, size_t nbytes) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(state);
    XIR_REQUIRE(name);
    XIR_REQUIRE(data);
    return Report(state->state->Write(name, data, nbytes));
  });
}

xir_code xir_state_reset(xir_state* state) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(state);
    state->state->Reset();
    return XIR_OK;
  });
}

void xir_seed_random(uint64_t seed) { xir::SeedRandom(seed); }

xir_code xir_thread_pool_shared(size_t threads, xir_thread_pool** pool) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(pool);
    return Store(xir::ThreadPool::Shared(threads), pool);
  });
}

xir_code xir_thread_pool_on(const xir_executor* executor, xir_thread_pool** pool) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(executor);
    XIR_REQUIRE(executor->schedule);
    XIR_REQUIRE(pool);
    return Store(xir::ThreadPool::On(std::make_shared<CallbackExecutor>(*executor)), pool);
  });
}

void xir_thread_pool_free(xir_thread_pool* pool) { delete pool; }
