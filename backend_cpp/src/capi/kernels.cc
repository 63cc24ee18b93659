#include <algorithm>
#include <utility>

#include "capi/handles.h"
#include "xir/kernel_checks.h"

using namespace xir::capi;
using xir::Code;
using xir::Fail;
using xir::KernelArgs;
using xir::Result;
using xir::Status;
using xir::Tensor;
using xir::Value;

namespace {

namespace k = xir::kernels;

// Whether an argument is what its parameter says, and how that reads.
struct Parameter {
  bool (*accepts)(const Value& value);
  std::string_view name;
};

template <typename T>
constexpr Parameter kParameterOf{k::Argument<T>::Accepts, k::Argument<T>::kName};

const Parameter* FindParameter(xir_parameter parameter) {
  switch (parameter) {
    case XIR_PARAMETER_TENSOR:
      return &kParameterOf<const Tensor&>;
    case XIR_PARAMETER_OPTIONAL_TENSOR:
      return &kParameterOf<const Tensor*>;
    case XIR_PARAMETER_RESULT:
      return &kParameterOf<Tensor&>;
    case XIR_PARAMETER_INT:
      return &kParameterOf<int64_t>;
    case XIR_PARAMETER_BOOLEAN:
      return &kParameterOf<bool>;
    case XIR_PARAMETER_NUMBER:
      return &kParameterOf<k::Scalar>;
    case XIR_PARAMETER_INTS:
      return &kParameterOf<k::Ints>;
    case XIR_PARAMETER_ANY:
      return &kParameterOf<k::Unused>;
  }
  return nullptr;
}

Result<std::vector<Value*>> Bind(const std::vector<xir_parameter>& parameters, KernelArgs args) {
  if (args.size() < parameters.size()) {
    return Fail(Code::kInvalidProgram, "it has ", args.size(), " arguments, not ",
                parameters.size());
  }
  std::vector<Value*> results;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = *FindParameter(parameters[i]);
    if (!parameter.accepts(*args[i])) {
      return Fail(Code::kInvalidProgram, "argument ", i, " is a ", KindName(*args[i]), ", not ",
                  parameter.name);
    }
    if (parameters[i] == XIR_PARAMETER_RESULT) results.push_back(args[i]);
  }
  const size_t arity = parameters.size();
  return k::WrittenValues(args.subspan(0, arity), results,
                          args.subspan(arity, args.size() - arity));
}

// An argument of a call; null beyond the last.
Value* At(const xir_call* call, size_t index) {
  return call != nullptr && index < call->args.size() ? call->args[index] : nullptr;
}

xir_code WrongKind(size_t index, std::string_view wanted) {
  return Report(Fail(Code::kInvalidArgument, "argument ", index, " is not ", wanted));
}

// What adding to the registry came to; the handle's names are the registry's afterwards.
xir_code Added(xir_kernels* kernels, const Status& status) {
  kernels->names = kernels->registry->names();
  return Report(status);
}

}  // namespace

xir_code xir_kernels_create(xir_kernels** kernels) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(kernels);
    *kernels = new xir_kernels{std::make_shared<xir::KernelRegistry>(), {}};
    return XIR_OK;
  });
}

void xir_kernels_free(xir_kernels* kernels) { delete kernels; }

xir_code xir_kernels_add(xir_kernels* kernels, const char* name, const xir_parameter* parameters,
                         size_t num_parameters, xir_kernel kernel, void* context) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(kernels);
    XIR_REQUIRE(name);
    XIR_REQUIRE(kernel);
    if (num_parameters > 0) XIR_REQUIRE(parameters);
    const std::vector<xir_parameter> list(parameters, parameters + num_parameters);
    for (const xir_parameter each : list) {
      if (FindParameter(each) == nullptr) {
        return Report(
            Fail(Code::kInvalidArgument, "parameter kind ", static_cast<int>(each), " is unknown"));
      }
    }
    xir::RegisteredKernel registered;
    registered.bind = [list](KernelArgs args) { return Bind(list, args); };
    registered.run = [kernel, context](xir::KernelContext& execution, KernelArgs args) -> Status {
      xir_call call{&execution, args, {}, {}};
      const xir_code code = kernel(context, &call);
      if (!call.thrown.ok()) return std::move(call.thrown);
      if (code == XIR_OK) return {};
      if (call.message.empty()) call.message = "the kernel failed";
      return Status(CodeOf(code), std::move(call.message));
    };
    return Added(kernels, kernels->registry->Add(name, std::move(registered)));
  });
}

xir_code xir_kernels_load_library(xir_kernels* kernels, const char* path) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(kernels);
    XIR_REQUIRE(path);
    return Added(kernels, kernels->registry->LoadLibrary(path));
  });
}

size_t xir_kernels_count(const xir_kernels* kernels) {
  return kernels == nullptr ? 0 : kernels->names.size();
}

const char* xir_kernels_name(const xir_kernels* kernels, size_t index) {
  return index < xir_kernels_count(kernels) ? kernels->names[index].c_str() : nullptr;
}

xir_code xir_call_tensor(const xir_call* call, size_t index, xir_tensor* tensor) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(tensor);
    const Value* value = At(call, index);
    if (value == nullptr || !k::Argument<const Tensor*>::Accepts(*value)) {
      return WrongKind(index, "a tensor");
    }
    *tensor = value->is_none() ? xir_tensor{} : Describe(*value->get<Tensor>());
    return XIR_OK;
  });
}

xir_code xir_call_int(const xir_call* call, size_t index, int64_t* number) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(number);
    const Value* value = At(call, index);
    if (value == nullptr || !k::Argument<k::Scalar>::Accepts(*value) ||
        value->get<double>() != nullptr) {
      return WrongKind(index, "an int");
    }
    *number = k::Scalar(*value).to<int64_t>();
    return XIR_OK;
  });
}

xir_code xir_call_double(const xir_call* call, size_t index, double* number) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(number);
    const Value* value = At(call, index);
    if (value == nullptr || !k::Argument<k::Scalar>::Accepts(*value)) {
      return WrongKind(index, "a number");
    }
    *number = k::Scalar(*value).to<double>();
    return XIR_OK;
  });
}

xir_code xir_call_ints(const xir_call* call, size_t index, int64_t* values, size_t capacity,
                       size_t* count) {
  return Reported([&]() -> xir_code {
    XIR_REQUIRE(count);
    Value* value = At(call, index);
    if (value == nullptr || !k::Argument<k::Ints>::Accepts(*value)) {
      return WrongKind(index, "a list of ints");
    }
    const k::Ints ints = k::Argument<k::Ints>::Get(*value);
    *count = ints.size();
    if (capacity > 0) XIR_REQUIRE(values);
    std::copy_n(ints.begin(), std::min(capacity, ints.size()), values);
    return XIR_OK;
  });
}

xir_code xir_call_resize(xir_call* call, size_t index, const int64_t* sizes, size_t rank) {
  return Reported([&]() -> xir_code {
    Value* value = At(call, index);
    if (value == nullptr || value->get<Tensor>() == nullptr) return WrongKind(index, "a tensor");
    auto shape = MakeShape(sizes, rank);
    if (!shape.ok()) return Report(std::move(shape).status());
    Status resized = k::ResizeResult(*value->get<Tensor>(), shape.value());
    if (!resized.ok()) call->message = resized.message();
    return Report(resized);
  });
}

void xir_call_parallel_for(xir_call* call, size_t count, void (*task)(void* argument, size_t i),
                           void* argument) {
  if (call == nullptr || task == nullptr) return;
  Status status = xir::Guarded([&]() -> Status {
    call->context->ParallelFor(count, [task, argument](size_t i) { task(argument, i); });
    return {};
  });
  if (call->thrown.ok()) call->thrown = std::move(status);
}

int xir_call_cancelled(const xir_call* call) {
  return call != nullptr && call->context->cancelled() ? 1 : 0;
}

xir_code xir_call_fail(xir_call* call, xir_code code, const char* message) {
  return Reported([&]() -> xir_code {
    if (call != nullptr && message != nullptr) call->message = message;
    return code;
  });
}
