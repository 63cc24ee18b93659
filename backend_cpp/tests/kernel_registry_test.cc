// Kernels of an application's own: registered, and from shared libraries.

#include "xir/kernel_registry.h"
#include "xir/library.h"

#include <algorithm>
#include <string>

#include "golden.h"
#include "testing.h"
#include "xir/kernel_checks.h"

namespace xir::testing {
namespace {

using kernels::MakeKernel;

// How often each part of a kernel with a state ran.
int g_prepared = 0;
int g_run_with_state = 0;

struct Doubled final : KernelState {
  float factor = 2;
};

Result<std::shared_ptr<const KernelState>> PrepareDouble(const Tensor&, const Tensor&, Tensor&) {
  ++g_prepared;
  return std::shared_ptr<const KernelState>(std::make_shared<Doubled>());
}

Status Double(KernelContext& context, const Tensor& x, const Tensor&, Tensor& out) {
  const auto* state = static_cast<const Doubled*>(context.state());
  if (state == nullptr) return Fail(Code::kInternal, "no state");
  ++g_run_with_state;
  XIR_RETURN_IF_ERROR(kernels::ResizeResult(out, x.shape));
  for (int64_t i = 0; i < x.numel(); ++i) out.as<float>()[i] = x.as<float>()[i] * state->factor;
  return {};
}

Status Refuse(const Tensor&, int64_t, Tensor&) { return {}; }

// The golden program, its multiplication under another name.
Blob Renamed(const std::string& name) {
  return EditProgram(ReadGolden("stock_portable.pte"), [&](program::ProgramT* program) {
    for (const auto& op : program->execution_plan[0]->operators) {
      if (op->name == "aten::mul") op->name = name;
    }
  });
}

// The same without what comes behind the multiplication.
Blob EndingWith(const std::string& name) {
  return EditProgram(Renamed(name), [&](program::ProgramT* program) {
    auto& plan = *program->execution_plan[0];
    auto& instructions = plan.chains[0]->instructions;
    const auto renamed = [&](const auto& instruction) {
      const auto* call = instruction->instr_args.AsKernelCall();
      return call != nullptr && plan.operators[static_cast<size_t>(call->op_index)]->name == name;
    };
    const auto last = std::find_if(instructions.begin(), instructions.end(), renamed);
    EXPECT(last != instructions.end());
    instructions.erase(last + 1, instructions.end());
    plan.chains[0]->stacktrace.clear();
  });
}

Result<std::unique_ptr<Method>> Load(const Blob& file, std::shared_ptr<KernelRegistry> kernels) {
  LoadOptions options;
  options.xnnpack_paths = PythonLibraryPaths();
  options.threads = 2;
  options.kernels = std::move(kernels);
  XIR_ASSIGN_OR_RETURN(const auto program, Program::FromBytes(file, options));
  return program->LoadMethod("forward");
}

Result<std::vector<float>> Run(Result<std::unique_ptr<Method>> loaded) {
  XIR_ASSIGN_OR_RETURN(const auto method, std::move(loaded));
  runner::Array input = ReadGoldenArray("stock_portable.input_0.npy");
  XIR_RETURN_IF_ERROR(method->SetInput(0, input.data.data(), input.data.size(), input.shape));
  XIR_RETURN_IF_ERROR(method->Execute());
  const Tensor& output = *method->output(0).get<Tensor>();
  return std::vector<float>(output.as<float>(), output.as<float>() + output.numel());
}

}  // namespace

XIR_TEST(kernels_of_a_library) {
  auto kernels = std::make_shared<KernelRegistry>();
  EXPECT_OK(kernels->LoadLibrary(XIR_TEST_KERNEL_LIBRARY));
  EXPECT(
      (kernels->names() == std::vector<std::string>{"aten::mul.out", "test::product_and_one.out"}));
  // The program's own operator, and one whose portable kernel gives way, compute the same.
  const auto custom = Run(Load(Renamed("test::product_and_one"), kernels));
  const auto replaced = Run(Load(ReadGolden("stock_portable.pte"), kernels));
  const auto portable = Run(Load(ReadGolden("stock_portable.pte"), nullptr));
  EXPECT(custom.ok() && replaced.ok() && portable.ok());
  if (!custom.ok() || !replaced.ok() || !portable.ok()) return;
  EXPECT(custom.value() == replaced.value());
  EXPECT(custom.value() != portable.value());
  EXPECT_ERROR(Load(Renamed("test::none"), kernels), "there is no kernel for 'test::none.out'");
}

XIR_TEST(libraries_that_are_refused) {
  KernelRegistry kernels;
  EXPECT_ERROR(kernels.LoadLibrary(std::string(XIR_TEST_DATA) + "/none.so"), "cannot load it");
  EXPECT_ERROR(kernels.LoadLibrary(std::string(XIR_TEST_DATA) + "/stock_small.pte"),
               "stock_small.pte': cannot load it");
  EXPECT_ERROR(kernels.LoadLibrary("libm.so.6"), "it has no function xir_kernel_library");
  EXPECT_ERROR(kernels.LoadLibrary(XIR_TEST_OTHER_KERNEL_LIBRARY),
               "it was built for kernels of version 999");
  EXPECT(kernels.names().empty());
}

XIR_TEST(kernels_have_one_definition) {
  KernelRegistry kernels;
  EXPECT_OK(kernels.Add(MakeKernel<Double>("aten::mul.out")));
  EXPECT_ERROR(kernels.Add(MakeKernel<Double>("aten::mul.out")),
               "there are two kernels for 'aten::mul.out'");
  EXPECT_ERROR(kernels.Add(MakeKernel<Double>("")), "no name");
  EXPECT_ERROR(kernels.Add("a::b", RegisteredKernel()), "lacks a function");
  // All of a library or nothing.
  EXPECT_ERROR(kernels.LoadLibrary(XIR_TEST_KERNEL_LIBRARY), "one in the application and one in '");
  EXPECT(kernels.names() == std::vector<std::string>{"aten::mul.out"});
}

XIR_TEST(kernels_prepare_once_a_load) {
  auto kernels = std::make_shared<KernelRegistry>();
  EXPECT_OK(kernels->Add(MakeKernel<Double, PrepareDouble>("test::double.out")));
  g_prepared = g_run_with_state = 0;
  EXPECT_OK(Run(Load(Renamed("test::double"), kernels)));
  EXPECT(g_prepared == 1 && g_run_with_state == 1);
}

// One that is cancelled while it runs returns early; what it left is no result, and the next
// execution is not concerned.
XIR_TEST(kernels_stop_when_they_are_cancelled) {
  for (const bool fails : {false, true}) {
    Method* running = nullptr;
    int calls = 0;
    auto kernels = std::make_shared<KernelRegistry>();
    RegisteredKernel kernel(MakeKernel<Refuse>("test::stop.out"));
    kernel.bind = [](KernelArgs args) {
      return Result<std::vector<Value*>>(std::vector<Value*>{args[2]});
    };
    kernel.run = [&](KernelContext& context, KernelArgs) {
      if (++calls > 1) return Status();
      running->Cancel();
      EXPECT(context.cancelled());
      return fails ? Fail(Code::kInternal, "stopped early") : Status();
    };
    EXPECT_OK(kernels->Add("test::stop.out", kernel));
    auto loaded = Load(EndingWith("test::stop"), kernels);
    EXPECT_OK(loaded.ok() ? Status() : std::move(loaded).status());
    const auto method = std::move(loaded).value();
    running = method.get();
    runner::Array input = ReadGoldenArray("stock_portable.input_0.npy");
    const auto execute = [&] {
      EXPECT_OK(method->SetInput(0, input.data.data(), input.data.size(), input.shape));
      return method->Execute();
    };
    const Status first = execute();
    EXPECT(!first.ok() && first.code() == Code::kCancelled);
    EXPECT_OK(execute());
    EXPECT(calls == 2);
  }
}

XIR_TEST(kernels_check_what_a_program_passes) {
  auto kernels = std::make_shared<KernelRegistry>();
  EXPECT_OK(kernels->Add(MakeKernel<Refuse>("test::refuse.out")));
  EXPECT_ERROR(Load(Renamed("test::refuse"), kernels),
               "operator 'test::refuse.out': argument 1 is a tensor, not an int");
}

}  // namespace xir::testing
