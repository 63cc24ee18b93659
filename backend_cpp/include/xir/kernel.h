// What a kernel is: a function with typed arguments, registered under its operator's name.
//
//   Status Axpy(const Tensor& x, const Tensor& y, double alpha, Tensor& out);
//   constexpr TypedKernel kKernels[] = {kernels::MakeKernel<Axpy>("my::axpy.out")};
//
// The parameters are those of the operator's out variant, in order. Their types say what a program
// may pass (kernel_arguments.h); whether it does is settled once, when the method loads. A kernel
// checks dtypes, shapes and values first (kernel_checks.h), because a program is not trusted.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "xir/kernel_arguments.h"
#include "xir/span.h"
#include "xir/status.h"
#include "xir/thread_pool.h"
#include "xir/value.h"

namespace xir {

// The arguments of an out-variant in its schema's order, the results last.
using KernelArgs = Span<Value* const>;

// What a kernel makes of its constant arguments once, when its method loads, such as packed
// weights. Shared by all instances of the method, so it does not change.
struct KernelState {
  virtual ~KernelState() = default;
  // Bytes that the state occupies. The states of a program share a budget, a small multiple of its
  // file's size; a call that would exceed it runs without state.
  virtual size_t nbytes() const { return 0; }
};

// The execution that a kernel is part of.
class KernelContext {
 public:
  KernelContext() = default;
  using Clock = std::chrono::steady_clock;
  KernelContext(ThreadPool* pool, const KernelState* state, const std::atomic<bool>* cancelled,
                Clock::time_point deadline = Clock::time_point::max())
      : pool_(pool), state_(state), cancelled_(cancelled), deadline_(deadline) {}

  // What the kernel's `prepare` returned for this call; null where it has none.
  const KernelState* state() const { return state_; }

  // Whether the execution should stop, by request or because its time is up. A long-running kernel
  // may poll this and return early, with its results in any state.
  bool cancelled() const {
    if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) return true;
    return deadline_ != Clock::time_point::max() && Clock::now() >= deadline_;
  }

  // How many parts of a ParallelFor may run at once, the calling thread's among them.
  size_t num_threads() const { return pool_ == nullptr ? 1 : pool_->num_threads(); }

  // Calls task(i) for each i of [0, count) once, in any order and from several threads; returns
  // when all have returned. Tasks must not call ParallelFor themselves.
  template <typename Task>
  void ParallelFor(size_t count, const Task& task) const {
    if (pool_ == nullptr || count <= 1) {
      for (size_t i = 0; i < count; ++i) task(i);
      return;
    }
    pool_->ParallelFor(
        count, [](const void* object, size_t i) { (*static_cast<const Task*>(object))(i); }, &task);
  }

 private:
  ThreadPool* pool_ = nullptr;
  const KernelState* state_ = nullptr;
  const std::atomic<bool>* cancelled_ = nullptr;
  Clock::time_point deadline_ = Clock::time_point::max();
};

// Runs one operator. Writes into the tensors among its arguments and resizes them where the shape
// is dynamic.
using Kernel = std::function<Status(KernelContext&, KernelArgs)>;

// Looks up an operator's name, such as "aten::add.out"; returns an empty function if it has none.
using KernelProvider = std::function<Kernel(std::string_view op)>;

struct TypedKernel {
  std::string_view name;
  // What each argument is to be: Argument<P>::kName.
  Span<const std::string_view> parameters;
  // Checks the arguments' kinds; returns the tensors and the numbers that the kernel writes.
  Result<std::vector<Value*>> (*bind)(KernelArgs args);
  // Relies on `bind` for the kinds; checks dtypes, shapes and values before it touches memory.
  // Returns kUnsupported, before it writes anything, for calls that it leaves to the fallback.
  Status (*run)(KernelContext& context, KernelArgs args);
  // Makes the state of one call when its method loads; null if the kernel has no state. Not called
  // if executions change one of the call's numbers. A tensor is constant if it has data and is not
  // writable. Returns a null state for constants that it cannot use. The kernel then runs without
  // state, as it does when it is passed another tensor than the one that the state was made of.
  Result<std::shared_ptr<const KernelState>> (*prepare)(KernelArgs args);
};

namespace kernels {

// The tensors among `results` and in lists of theirs, and then the numbers. No result may also be
// an operand: kernels resize results while they read operands. ExecuTorch may repeat the results
// after the last argument (`repeated`): a single one as it is, several as a list. What an operator
// changes in place stands before its results, and need not be repeated.
Result<std::vector<Value*>> WrittenValues(KernelArgs arguments, KernelArgs results,
                                          KernelArgs repeated);

// The parameters of a kernel, without its context.
template <typename... Parameters>
struct Signature {
  static constexpr size_t kArity = sizeof...(Parameters);
  static constexpr std::string_view kParameters[] = {Argument<Parameters>::kName...};

  static Result<std::vector<Value*>> Bind(KernelArgs args) {
    if (args.size() < kArity) {
      return Fail(Code::kInvalidProgram, "it has ", args.size(), " arguments, not ", kArity);
    }
    return BindEach(args, std::index_sequence_for<Parameters...>());
  }

  // function(leading…, arguments…)
  template <typename Function, typename... Leading>
  static auto Apply(Function function, KernelArgs args, Leading&... leading) {
    return ApplyEach(function, args, std::index_sequence_for<Parameters...>(), leading...);
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
    return WrittenValues(own, results, args.subspan(kArity, args.size() - kArity));
  }

  template <typename Kind>
  static void CheckOne(const Value& value, size_t index, Status* status) {
    if (!status->ok() || Kind::Accepts(value)) return;
    *status = Fail(Code::kInvalidProgram, "argument ", index, " is a ", KindName(value), ", not ",
                   Kind::kName);
  }

  template <typename Function, size_t... I, typename... Leading>
  static auto ApplyEach(Function function, KernelArgs args, std::index_sequence<I...>,
                        Leading&... leading) {
    return function(leading..., Argument<Parameters>::Get(*args[I])...);
  }
};

// A function as the runtime calls it.
template <typename Function, Function kFunction>
struct Boxed;

template <typename... Parameters, Status (*kFunction)(Parameters...)>
struct Boxed<Status (*)(Parameters...), kFunction> {
  using Arguments = Signature<Parameters...>;
  static Status Run(KernelContext&, KernelArgs args) { return Arguments::Apply(kFunction, args); }
};

template <typename... Parameters, Status (*kFunction)(KernelContext&, Parameters...)>
struct Boxed<Status (*)(KernelContext&, Parameters...), kFunction> {
  using Arguments = Signature<Parameters...>;
  static Status Run(KernelContext& context, KernelArgs args) {
    return Arguments::Apply(kFunction, args, context);
  }
};

using PreparedState = Result<std::shared_ptr<const KernelState>>;

template <typename... Parameters, PreparedState (*kFunction)(Parameters...)>
struct Boxed<PreparedState (*)(Parameters...), kFunction> {
  using Arguments = Signature<Parameters...>;
  static PreparedState Prepare(KernelArgs args) { return Arguments::Apply(kFunction, args); }
};

template <auto kRun>
constexpr TypedKernel MakeKernel(std::string_view name) {
  using Run = Boxed<decltype(kRun), kRun>;
  return {name,
          {Run::Arguments::kParameters, Run::Arguments::kArity},
          Run::Arguments::Bind,
          Run::Run,
          /*prepare=*/nullptr};
}

// A kernel with a state; kPrepare has the same parameters, the context left out.
template <auto kRun, auto kPrepare>
constexpr TypedKernel MakeKernel(std::string_view name) {
  using Run = Boxed<decltype(kRun), kRun>;
  using Prepare = Boxed<decltype(kPrepare), kPrepare>;
  static_assert(std::is_same_v<typename Run::Arguments, typename Prepare::Arguments>);
  TypedKernel kernel = MakeKernel<kRun>(name);
  kernel.prepare = Prepare::Prepare;
  return kernel;
}

}  // namespace kernels
}  // namespace xir
