// What a portable kernel is: a function with typed arguments, registered under its operator's name.
//
//   Status Softmax(const Tensor& self, int64_t dim, bool half_to_float, Tensor& out);
//   constexpr PortableKernel kRows[] = {MakeKernel<Softmax>("aten::_softmax.out")};
//
// The parameter types say what a program may pass (arguments.h); whether it does is settled once,
// when the method loads.
#pragma once

#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/arguments.h"
#include "xir/kernel.h"

namespace xir {

struct PortableKernel {
  std::string_view name;
  // What each argument is to be: Argument<P>::kName.
  Span<const std::string_view> parameters;
  // Checks the arguments' kinds; answers the tensors that the kernel writes.
  Result<std::vector<Value*>> (*bind)(KernelArgs args);
  // Trusts their kinds; checks dtypes, shapes and values before it touches memory. Answers
  // kUnsupported, before it writes anything, for what is left to the fallback.
  Status (*run)(KernelArgs args);
};

namespace kernels {

// The tensors among `results`, which may be lists of them. None may be another argument as well:
// kernels size their results while they look at their operands. Behind all arguments ExecuTorch may
// repeat the results: a single one as it is, several as a list.
Result<std::vector<Value*>> WrittenTensors(KernelArgs arguments, KernelArgs results,
                                           KernelArgs repeated);

template <auto Run>
struct Boxed;

template <typename... Parameters, Status (*Run)(Parameters...)>
struct Boxed<Run> {
  static constexpr size_t kArity = sizeof...(Parameters);
  static constexpr std::string_view kParameters[] = {Argument<Parameters>::kName...};

  static Result<std::vector<Value*>> Bind(KernelArgs args) {
    if (args.size() < kArity) {
      return Fail(Code::kInvalidProgram, "it has ", args.size(), " arguments, not ", kArity);
    }
    return BindEach(args, std::index_sequence_for<Parameters...>());
  }

  static Status Call(KernelArgs args) {
    return CallWith(args, std::index_sequence_for<Parameters...>());
  }

 private:
  template <size_t... I>
  static Result<std::vector<Value*>> BindEach(KernelArgs args, std::index_sequence<I...>) {
    Status status;
    (CheckOne<Argument<Parameters>>(*args[I], I, &status), ...);
    XIR_RETURN_IF_ERROR(std::move(status));
    std::vector<Value*> results;
    ((Argument<Parameters>::kWritten ? results.push_back(args[I]) : void()), ...);
    const KernelArgs own = args.subspan(0, kArity);
    return WrittenTensors(own, results, args.subspan(kArity, args.size() - kArity));
  }

  template <typename Kind>
  static void CheckOne(const Value& value, size_t index, Status* status) {
    if (!status->ok() || Kind::Accepts(value)) return;
    *status = Fail(Code::kInvalidProgram, "argument ", index, " is a ", KindName(value), ", not ",
                   Kind::kName);
  }

  template <size_t... I>
  static Status CallWith(KernelArgs args, std::index_sequence<I...>) {
    return Run(Argument<Parameters>::Get(*args[I])...);
  }
};

template <auto Run>
constexpr PortableKernel MakeKernel(std::string_view name) {
  return {name, {Boxed<Run>::kParameters, Boxed<Run>::kArity}, Boxed<Run>::Bind, Boxed<Run>::Call};
}

}  // namespace kernels
}  // namespace xir
