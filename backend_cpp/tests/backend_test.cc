// Backends of an application's own, beside XNNPACK and from shared libraries.

#include "xir/delegate.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "golden.h"
#include "testing.h"
#include "xir/library.h"

namespace xir::testing {
namespace {

using program::ProgramT;

int g_backends = 0;
int g_prepared = 0;
int g_delegates = 0;
int g_executions = 0;

struct FillPlan final : DelegatePlan {
  float value = 0;

  Result<std::vector<Value*>> Bind(KernelArgs args) const override {
    auto* result = args.empty() ? nullptr : args[args.size() - 1]->get<Tensor>();
    if (args.size() < 2 || result == nullptr || result->dtype != DType::kFloat) {
      return Fail(Code::kInvalidProgram, "its last argument is no float32 tensor");
    }
    return std::vector<Value*>{args[args.size() - 1]};
  }
};

struct FillDelegate final : Delegate {
  explicit FillDelegate(const FillPlan& plan) : plan(plan) {}

  Status Execute(KernelContext& context, KernelArgs args) override {
    ++g_executions;
    Tensor& result = *args[args.size() - 1]->get<Tensor>();
    context.ParallelFor(static_cast<size_t>(result.numel()),
                        [&](size_t i) { result.as<float>()[i] = plan.value; });
    return {};
  }
  Result<std::vector<DelegateOperator>> Operators() const override {
    return std::vector<DelegateOperator>{{"Fill (F32)", "", 0, DelegateOperator::kNoHandle, 64, 0}};
  }
  Status ReadOperatorTimes(std::vector<uint64_t>* microseconds) const override {
    *microseconds = {7};
    return {};
  }

  const FillPlan& plan;
};

// Fills its delegates' results with the option "value".
struct FillBackend final : Backend {
  explicit FillBackend(const BackendOptions& options) {
    ++g_backends;
    EXPECT(options.thread_pool != nullptr && options.max_memory > 0);
  }

  size_t packed_bytes() const override { return 1000; }

  Result<std::unique_ptr<const DelegatePlan>> Prepare(const DelegateData& data) override {
    ++g_prepared;
    XIR_RETURN_IF_ERROR(data.Charge(data.bytes.size()));
    const auto* value = std::find_if(data.specs.begin(), data.specs.end(),
                                     [](const CompileSpec& spec) { return spec.key == "value"; });
    if (value == data.specs.end()) {
      return Fail(Code::kInvalidProgram, "it has no option 'value', and ", data.bytes.size(),
                  " bytes");
    }
    auto plan = std::make_unique<FillPlan>();
    plan->value =
        std::strtof(std::string(value->value.begin(), value->value.end()).c_str(), nullptr);
    return std::unique_ptr<const DelegatePlan>(std::move(plan));
  }

  Result<std::vector<std::unique_ptr<Delegate>>> Instantiate(Span<const PlannedDelegate> delegates,
                                                             bool) override {
    std::vector<std::unique_ptr<Delegate>> made;
    for (const PlannedDelegate& each : delegates) {
      ++g_delegates;
      made.push_back(std::make_unique<FillDelegate>(*static_cast<const FillPlan*>(each.plan)));
    }
    return made;
  }
};

std::shared_ptr<KernelRegistry> Registry() {
  auto registry = std::make_shared<KernelRegistry>();
  EXPECT_OK(registry->Add(MakeBackend<FillBackend>("FillBackend")));
  return registry;
}

// The golden program, one of its two delegates another backend's.
Blob With(size_t delegate, const std::string& id, const std::string& value) {
  return EditProgram(ReadGolden("stock_small.pte"), [&](ProgramT* program) {
    program::BackendDelegateT& edited = *program->execution_plan[0]->delegates[delegate];
    edited.id = id;
    edited.compile_specs.clear();
    if (value.empty()) return;
    auto spec = std::make_unique<program::CompileSpecT>();
    spec->key = "value";
    spec->value.assign(value.begin(), value.end());
    edited.compile_specs.push_back(std::move(spec));
  });
}

Result<std::shared_ptr<const Program>> Load(const Blob& file,
                                            std::shared_ptr<KernelRegistry> registry) {
  LoadOptions options;
  options.xnnpack_paths = PythonLibraryPaths();
  options.threads = 1;
  options.kernels = std::move(registry);
  return Program::FromBytes(file, options);
}

Result<std::unique_ptr<Method>> LoadMethod(const Blob& file,
                                           std::shared_ptr<KernelRegistry> registry) {
  XIR_ASSIGN_OR_RETURN(const auto program, Load(file, std::move(registry)));
  return program->LoadMethod("forward");
}

Status GiveInput(Method* method) {
  static runner::Array input = ReadGoldenArray("stock_small.input_0.npy");
  return method->SetInput(0, input.data.data(), input.data.size(), input.shape);
}

}  // namespace

XIR_TEST(two_backends_run_one_program) {
  g_backends = g_prepared = g_delegates = g_executions = 0;
  const auto program = Load(With(1, "FillBackend", "2.5"), Registry());
  EXPECT(program.ok());
  if (!program.ok()) return;
  EXPECT(g_backends == 1 && g_prepared == 1 && g_delegates == 0);
  auto first = program.value()->LoadMethod("forward");
  auto second = program.value()->LoadMethod("forward");
  EXPECT(first.ok() && second.ok());
  if (!first.ok() || !second.ok()) return;
  EXPECT(g_backends == 1 && g_prepared == 1 && g_delegates == 2);
  EXPECT(first.value()->num_delegates() == 2);
  EXPECT(program.value()->packed_bytes() > 1000);  // XNNPACK's too
  for (Method* method : {first.value().get(), second.value().get()}) {
    EXPECT_OK(GiveInput(method));
    EXPECT_OK(method->Execute());
    const Tensor& output = *method->output(0).get<Tensor>();
    EXPECT(output.numel() > 0 &&
           std::all_of(output.as<float>(), output.as<float>() + output.numel(),
                       [](float value) { return value == 2.5f; }));
  }
  EXPECT(g_executions == 2);
}

XIR_TEST(a_backends_operators_are_profiled) {
  auto method = LoadMethod(With(1, "FillBackend", "1"), Registry());
  EXPECT_OK(GiveInput(method.value().get()));
  const auto profile = method.value()->ExecuteProfiled();
  EXPECT(profile.ok());
  if (!profile.ok()) return;
  size_t own = 0, other = 0;
  for (const ProfileEvent& event : profile.value().events) {
    if (event.kind != ProfileEvent::Kind::kOperator) continue;
    ++(event.delegate == 1 ? own : other);
    if (event.delegate != 1) continue;
    EXPECT(event.name == "Fill (F32)" && event.duration == 7 && event.result_bytes == 64);
  }
  EXPECT(own == 1 && other > 0);
}

XIR_TEST(what_a_backend_refuses) {
  EXPECT_ERROR(Load(With(0, "FillBackend", ""), Registry()),
               "method 'forward': delegate 0: it has no option 'value', and ");
  EXPECT_ERROR(Load(With(0, "FillBackend", "1"), nullptr), "it is for 'FillBackend', which");
  const Blob one_argument = EditProgram(With(1, "FillBackend", "1"), [](ProgramT* program) {
    for (const auto& instruction : program->execution_plan[0]->chains[0]->instructions) {
      auto* call = instruction->instr_args.AsDelegateCall();
      if (call != nullptr && call->delegate_index == 1) call->args.resize(1);
    }
  });
  EXPECT_ERROR(LoadMethod(one_argument, Registry()),
               "delegate 1: its last argument is no float32 tensor");
}

XIR_TEST(a_backend_may_take_the_place_of_xnnpack) {
  auto registry = std::make_shared<KernelRegistry>();
  EXPECT_OK(registry->Add(MakeBackend<FillBackend>("XnnpackBackend")));
  EXPECT_ERROR(registry->Add(MakeBackend<FillBackend>("XnnpackBackend")),
               "there are two backends for 'XnnpackBackend', one in the application");
  EXPECT_ERROR(registry->Add(TypedBackend{"A", nullptr}), "no function that makes it");
  EXPECT_ERROR(LoadMethod(ReadGolden("stock_small.pte"), registry), "no option 'value'");
}

XIR_TEST(backends_of_a_library) {
  auto registry = std::make_shared<KernelRegistry>();
  EXPECT_OK(registry->LoadLibrary(XIR_TEST_KERNEL_LIBRARY));
  EXPECT(registry->FindBackend("NoneBackend") == nullptr);
  EXPECT(registry->FindBackend("RefusingBackend") != nullptr);
  EXPECT_ERROR(Load(With(0, "RefusingBackend", ""), registry),
               "delegate 0: this backend refuses everything");
}

}  // namespace xir::testing
