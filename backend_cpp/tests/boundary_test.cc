// What comes from outside ends at the boundary: exceptions, threads that call back, memory that is
// too small or somebody else's, sizes that the model does not take, time without end.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>

#include "golden.h"
#include "kernels/registry.h"
#include "testing.h"
#include "xir/kernel_checks.h"
#include "xir/library.h"

namespace {

// The allocations of this thread that still succeed.
constexpr uint64_t kAll = UINT64_MAX;
thread_local uint64_t g_allocations_left = kAll;

void* Allocate(size_t size, size_t alignment) {
  if (g_allocations_left != kAll) {
    if (g_allocations_left == 0) return nullptr;
    --g_allocations_left;
  }
  void* memory = nullptr;
  alignment = std::max(alignment, sizeof(void*));
  return posix_memalign(&memory, alignment, std::max<size_t>(size, 1)) == 0 ? memory : nullptr;
}

void* AllocateOrThrow(size_t size, size_t alignment) {
  if (void* memory = Allocate(size, alignment)) return memory;
  throw std::bad_alloc();
}

// Not inlined, or GCC takes what `new` returned to be of another kind.
[[gnu::noinline]] void Release(void* memory) { std::free(memory); }

}  // namespace

// The tests' own, so that any allocation can be made to fail.
void* operator new(size_t size) { return AllocateOrThrow(size, 1); }
void* operator new[](size_t size) { return AllocateOrThrow(size, 1); }
void* operator new(size_t size, std::align_val_t at) {
  return AllocateOrThrow(size, static_cast<size_t>(at));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 1); }
void* operator new(size_t size, std::align_val_t at, const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<size_t>(at));
}
void operator delete(void* memory) noexcept { Release(memory); }
void operator delete[](void* memory) noexcept { Release(memory); }
void operator delete(void* memory, size_t) noexcept { Release(memory); }
void operator delete[](void* memory, size_t) noexcept { Release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Release(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { Release(memory); }

namespace xir::testing {
namespace {

using program::EValueT;
using program::ExecutionPlanT;
using program::ProgramT;
using program::TensorT;

constexpr int32_t kSize = 8;

// A vector of kSize floats at `offset` of the arena, or with the caller's memory below 0.
std::unique_ptr<EValueT> Vector(int64_t offset, bool open) {
  TensorT tensor;
  tensor.scalar_type = program::ScalarType::Float;
  tensor.dim_order = {0};
  tensor.sizes = {kSize};
  tensor.shape_dynamism =
      open ? program::TensorShapeDynamism::DynamicBound : program::TensorShapeDynamism::Static;
  if (offset >= 0) {
    tensor.allocation_info = std::make_unique<program::AllocationDetailsT>();
    tensor.allocation_info->memory_id = 1;
    tensor.allocation_info->memory_offset_low = static_cast<uint32_t>(offset);
  }
  auto value = std::make_unique<EValueT>();
  value->val.Set(std::move(tensor));
  return value;
}

void AddCall(ExecutionPlanT* plan, std::vector<int32_t> args) {
  program::KernelCallT call;
  call.args = std::move(args);
  auto instruction = std::make_unique<program::InstructionT>();
  instruction->instr_args.Set(std::move(call));
  plan->chains[0]->instructions.push_back(std::move(instruction));
}

// A program that hands its input, value 0, and its output, value 1, to the kernel "test::kernel".
Blob Calling(
    bool open = false, const std::function<void(ExecutionPlanT*)>& edit = [](ExecutionPlanT*) {}) {
  return EditProgram(ReadGolden("stock_small.pte"), [&](ProgramT* p) {
    ExecutionPlanT& plan = *p->execution_plan[0];
    plan.values.clear();
    plan.delegates.clear();
    plan.operators.clear();
    plan.chains[0]->instructions.clear();
    plan.non_const_buffer_sizes = {0, 256};
    plan.inputs = {0};
    plan.outputs = {1};
    plan.values.push_back(Vector(-1, open));
    plan.values.push_back(Vector(64, open));
    auto op = std::make_unique<program::OperatorT>();
    op->name = "test::kernel";
    plan.operators.push_back(std::move(op));
    AddCall(&plan, {0, 1});
    edit(&plan);
  });
}

using Body = std::function<Status(KernelContext&, Tensor& x, Tensor& out)>;

// The program with a kernel that writes to its second argument, or to both.
Result<std::shared_ptr<const Program>> Load(const Blob& file, Body body, LoadOptions options = {},
                                            bool writes_both = false) {
  auto kernels = std::make_shared<KernelRegistry>();
  RegisteredKernel kernel;
  kernel.bind = [=](KernelArgs args) -> Result<std::vector<Value*>> {
    return writes_both ? std::vector<Value*>{args[0], args[1]} : std::vector<Value*>{args[1]};
  };
  kernel.run = [=](KernelContext& context, KernelArgs args) {
    return body(context, *args[0]->get<Tensor>(), *args[1]->get<Tensor>());
  };
  XIR_RETURN_IF_ERROR(kernels->Add("test::kernel", std::move(kernel)));
  options.kernels = std::move(kernels);
  if (options.threads == 0) options.threads = 1;
  options.xnnpack_paths = PythonLibraryPaths();
  return Program::FromBytes({file.data(), file.size()}, std::move(options));
}

Shape Sizes(int64_t size) {
  Shape shape;
  shape.rank = 1;
  shape[0] = size;
  return shape;
}

Status Twice(KernelContext&, Tensor& x, Tensor& out) {
  XIR_RETURN_IF_ERROR(kernels::ResizeResult(out, x.shape));
  // From the end, and read again after it was written: in shared memory that is something else.
  for (int64_t i = 0; i < x.numel(); ++i) {
    out.as<float>()[i] = x.as<float>()[x.numel() - 1 - i] + x.as<float>()[0];
  }
  return {};
}

Status Run(Method* method, float* data, int64_t size = kSize) {
  XIR_RETURN_IF_ERROR(
      method->SetInput(0, data, static_cast<size_t>(size) * sizeof(float), Sizes(size)));
  return method->Execute();
}

std::unique_ptr<Method> MethodOf(const std::shared_ptr<const Program>& program) {
  auto method = program->LoadMethod("forward");
  EXPECT_OK(std::move(method).status());
  return method.ok() ? std::move(method).value() : nullptr;
}

std::shared_ptr<const Program> Opened(Result<std::shared_ptr<const Program>> program) {
  if (program.ok()) return std::move(program).value();
  Report(__FILE__, __LINE__, std::move(program).status().message());
  std::abort();
}

}  // namespace

XIR_TEST(results_do_not_exceed_what_was_lent) {
  // An open input of which the caller lends less than its largest size takes, for a kernel that
  // makes the largest of it; and the same of a bound output.
  const auto program = Opened(Load(
      Calling(/*open=*/true),
      [](KernelContext&, Tensor& x, Tensor& out) -> Status {
        Tensor& target = x.shape[0] == 2 ? x : out;
        XIR_RETURN_IF_ERROR(target.Resize(Sizes(kSize)));
        std::fill_n(target.as<float>(), target.numel(), 7.0f);
        return {};
      },
      {}, /*writes_both=*/true));
  const auto method = MethodOf(program);
  const std::unique_ptr<float[]> two(new float[2]());
  EXPECT_ERROR(Run(method.get(), two.get(), 2), "takes 32 bytes, and its memory has 8");
  EXPECT(two[0] == 0 && two[1] == 0);
  const std::unique_ptr<float[]> three(new float[3]());
  EXPECT_OK(method->BindOutput(0, two.get(), 2 * sizeof(float)));
  const Status bound = Run(method.get(), three.get(), 3);
  EXPECT(FailsWith(bound, "its memory has 8") || FailsWith(bound, "8 were bound"));
}

XIR_TEST(kernels_have_memory_for_the_shapes_that_they_are_given) {
  // The kernel changes a tensor in place, as large as it is, and does not resize it. Nothing has
  // written it before; its memory is less than its largest shape takes.
  const Body fill = [](KernelContext&, Tensor&, Tensor& out) -> Status {
    std::fill_n(out.as<float>(), out.numel(), 7.0f);
    return {};
  };
  const auto method = MethodOf(Opened(Load(Calling(/*open=*/true), fill)));
  alignas(64) static float memory[64];
  const auto bound = method->BindOutput(0, memory, 2 * sizeof(float));
  EXPECT(bound.ok() && bound.value() == Method::Binding::kInPlace);
  float input[kSize] = {};
  EXPECT_OK(Run(method.get(), input));
  EXPECT(std::all_of(memory + 2, memory + 64, [](float each) { return each == 0; }));
  // A tensor of rank 0 has no smaller shape.
  const Blob scalar = Calling(/*open=*/true, [](ExecutionPlanT* plan) {
    plan->values[1]->val.AsTensor()->sizes.clear();
    plan->values[1]->val.AsTensor()->dim_order.clear();
  });
  EXPECT_ERROR(MethodOf(Opened(Load(scalar, fill)))->BindOutput(0, memory, 2),
               "output 0 takes 4 bytes, not 2");
}

XIR_TEST(what_kernels_throw_is_a_failure) {
  enum class How { kNothing, kException, kOther, kMemory, kOnThreads };
  static std::atomic<How> how{How::kNothing};
  LoadOptions options;
  options.threads = 3;
  const auto program = Opened(Load(
      Calling(),
      [](KernelContext& context, Tensor& x, Tensor& out) -> Status {
        if (how == How::kException) throw std::runtime_error("oops\nand more");
        if (how == How::kOther) throw 1;
        if (how == How::kMemory) throw std::bad_alloc();
        context.ParallelFor(64, [](size_t i) {
          if (how == How::kOnThreads && i % 8 == 5) throw std::runtime_error("there");
        });
        return Twice(context, x, out);
      },
      options));
  const auto method = MethodOf(program), other = MethodOf(program);
  float input[kSize] = {};
  const auto fails = [&](How with, const char* text) {
    how = with;
    EXPECT_ERROR(Run(method.get(), input), text);
    how = How::kNothing;
    // The same method, another, and one on another thread go on.
    EXPECT_OK(Run(method.get(), input));
    EXPECT_OK(Run(other.get(), input));
    std::thread([&] { EXPECT_OK(Run(method.get(), input)); }).join();
  };
  fails(How::kException,
        "instruction 0 ('test::kernel'): an exception was thrown: oops\\x0aand more");
  fails(How::kOther, "no std::exception");
  fails(How::kMemory, "out of memory");
  fails(How::kOnThreads, "an exception was thrown: there");
}

XIR_TEST(callbacks_may_throw) {
  LoadOptions options;
  options.fallback = [](std::string_view) -> Kernel { throw std::runtime_error("no fallback"); };
  options.logger = [](LogLevel, std::string_view) { throw std::runtime_error("no log"); };
  options.interrupted = []() -> bool { throw std::runtime_error("no answer"); };
  const Blob unknown =
      Calling(false, [](ExecutionPlanT* plan) { plan->operators[0]->name = "test::unknown"; });
  EXPECT_ERROR(Opened(Load(unknown, Twice, options))->LoadMethod("forward"), "no fallback");
  const auto method = MethodOf(Opened(Load(Calling(), Twice, options)));
  float input[kSize] = {};
  EXPECT_OK(Run(method.get(), input));

  struct Throwing final : Allocator {
    void* Allocate(size_t, size_t) override { throw std::runtime_error("no memory"); }
    void Release(void*, size_t) override { throw std::runtime_error("never"); }
  };
  options.allocator = std::make_shared<Throwing>();
  EXPECT_ERROR(Opened(Load(Calling(), Twice, options))->LoadMethod("forward"), "no memory");
}

XIR_TEST(any_allocation_may_fail) {
  // Each allocation of a load and of an execution fails once; then everything is as if nothing had
  // been.
  for (const char* golden : {"stock_small.pte", "stock_portable.pte", "stock_state.pte"}) {
    const Blob file = ReadGolden(golden);
    LoadOptions options;
    options.threads = 1;
    options.xnnpack_paths = PythonLibraryPaths();
    auto kept = Program::FromBytes({file.data(), file.size()}, options);
    if (!kept.ok()) return Report(__FILE__, __LINE__, std::move(kept).status().message());
    size_t failed = 0;
    bool done = false;
    for (uint64_t n = 0; !done; n += 1 + n / 16) {
      Status status;
      {
        LoadOptions own = options;
        g_allocations_left = n;
        auto program = Program::FromBytes({file.data(), file.size()}, std::move(own));
        auto method = kept.value()->LoadMethod("forward");
        auto described = kept.value()->method_metadata("forward");
        status = std::move(program).status();
        if (status.ok()) status = std::move(described).status();
        if (status.ok()) status = std::move(method).status();
        if (status.ok()) {
          for (size_t i = 0; i < method.value()->num_inputs(); ++i) {
            const auto* tensor = method.value()->input(i).get<Tensor>();
            if (tensor == nullptr) continue;
            g_allocations_left = kAll;
            std::vector<uint8_t> zeros(tensor->nbytes());
            g_allocations_left = n;
            status = method.value()->SetInput(i, zeros.data(), zeros.size(), tensor->shape);
            if (status.ok()) status = method.value()->Execute();
          }
          done = status.ok();
        }
        g_allocations_left = kAll;
      }
      if (!status.ok()) ++failed;
      EXPECT(status.ok() || !status.message().empty());
      EXPECT_OK(kept.value()->LoadMethod("forward"));
    }
    EXPECT(failed > 20);
  }
}

XIR_TEST(kernels_do_not_run_their_own_method) {
  static Method* self = nullptr;
  static Status inner[3];
  const auto program = Opened(Load(Calling(), [](KernelContext& context, Tensor& x, Tensor& out) {
    if (self != nullptr) {
      float other[kSize] = {};
      inner[0] = self->Execute();
      inner[1] = self->SetInput(0, other, sizeof(other), Sizes(kSize));
      inner[2] = self->BindOutput(0, other, sizeof(other)).status();
    }
    return Twice(context, x, out);
  }));
  const auto method = MethodOf(program);
  self = method.get();
  float input[kSize] = {1, 2};
  EXPECT_OK(Run(method.get(), input));
  for (const Status& each : inner) {
    EXPECT(!each.ok() && FailsWith(each, "a kernel runs the method that it is called by"));
  }
  self = nullptr;
}

XIR_TEST(time_is_limited) {
  // A loop without end, of a kernel that takes a millisecond.
  const Blob endless = Calling(false, [](ExecutionPlanT* plan) {
    program::BoolT no;
    auto value = std::make_unique<EValueT>();
    value->val.Set(no);
    plan->values.push_back(std::move(value));
    program::JumpFalseCallT jump;
    jump.cond_value_index = 2;
    auto instruction = std::make_unique<program::InstructionT>();
    instruction->instr_args.Set(jump);
    plan->chains[0]->instructions.push_back(std::move(instruction));
  });
  using Clock = std::chrono::steady_clock;
  static std::atomic<int> asked{0};
  const auto slow = [](KernelContext& context, Tensor& x, Tensor& out) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Twice(context, x, out);
  };
  LoadOptions options;
  options.max_seconds = 0.1;
  float input[kSize] = {};
  const auto begin = Clock::now();
  const auto limited = MethodOf(Opened(Load(endless, slow, options)));
  EXPECT_ERROR(Run(limited.get(), input), "stopped after 0.1 seconds");
  EXPECT_OK(limited->LimitSeconds(0.05));
  EXPECT_ERROR(Run(limited.get(), input), "stopped after 0.05 seconds");
  EXPECT_ERROR(limited->LimitSeconds(-1), "a limit of -1 seconds");
  options.max_seconds = 0;
  options.interrupted = [] { return ++asked == 2; };
  const auto interrupted = MethodOf(Opened(Load(endless, slow, options)));
  EXPECT_ERROR(Run(interrupted.get(), input), "interrupted");
  EXPECT(asked == 2);
  EXPECT(Clock::now() - begin < std::chrono::seconds(20));
  // Who waits for an execution of another instance with the same state is stopped as well.
  options.interrupted = nullptr;
  const auto program = Opened(Load(endless, slow, options));
  const auto running = MethodOf(program);
  auto waiting = program->LoadMethod("forward", running->state());
  if (!waiting.ok()) return Report(__FILE__, __LINE__, "no second instance");
  EXPECT_OK(waiting.value()->LimitSeconds(0.05));
  std::atomic<bool> begun{false};
  std::thread other([&] {
    begun = true;
    EXPECT_ERROR(Run(running.get(), input), "cancelled");
  });
  while (!begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  float second[kSize] = {};
  EXPECT_ERROR(Run(waiting.value().get(), second), "stopped after 0.05 seconds");
  running->Cancel();
  other.join();
}

XIR_TEST(outputs_may_share_memory_with_inputs) {
  const auto method = MethodOf(Opened(Load(Calling(), Twice)));
  const float expected[kSize] = {9, 8, 7, 6, 5, 4, 3, 2};
  // In place, and overlapping in part on either side. Behind it is room that XNNPACK may read.
  alignas(64) static float memory[64];
  for (const int shift : {0, 3, -3}) {
    float* input = memory + 16;
    float* output = input + shift;
    auto bound = method->BindOutput(0, output, kSize * sizeof(float));
    if (!bound.ok()) return Report(__FILE__, __LINE__, "not bound");
    EXPECT(bound.value() == Method::Binding::kInPlace);
    for (int i = 0; i < kSize; ++i) input[i] = static_cast<float>(i + 1);
    EXPECT_OK(Run(method.get(), input));
    EXPECT(std::equal(output, output + kSize, expected));
  }
  EXPECT_OK(method->BindOutput(0, nullptr, 0));
  // The output of an execution, which is the method's memory, may be the next one's input.
  for (int i = 0; i < kSize; ++i) memory[i] = static_cast<float>(i + 1);
  EXPECT_OK(Run(method.get(), memory));
  auto* first = method->output(0).get<Tensor>()->as<float>();
  EXPECT(std::equal(first, first + kSize, expected));
  EXPECT_OK(Run(method.get(), first));
  const float again[kSize] = {11, 12, 13, 14, 15, 16, 17, 18};
  EXPECT(std::equal(again, again + kSize, method->output(0).get<Tensor>()->as<float>()));
  EXPECT_ERROR(method->BindOutput(0, first, kSize * sizeof(float)), "is the method's own");
}

XIR_TEST(a_changed_input_is_no_output) {
  const auto method = MethodOf(Opened(Load(
      Calling(),
      [](KernelContext& context, Tensor& x, Tensor& out) {
        Status status = Twice(context, x, out);
        x.as<float>()[0] = 100;
        return status;
      },
      {}, /*writes_both=*/true)));
  alignas(64) static float memory[64];
  EXPECT_OK(Run(method.get(), memory));
  EXPECT(memory[0] == 100);
  EXPECT_OK(method->BindOutput(0, memory, kSize * sizeof(float)));
  EXPECT_ERROR(Run(method.get(), memory + 4), "it writes to read-only memory");
}

XIR_TEST(outputs_do_not_share_memory) {
  const Blob two = Calling(false, [](ExecutionPlanT* plan) {
    plan->values.push_back(Vector(128, false));
    plan->outputs = {1, 2};
    AddCall(plan, {0, 2});
  });
  const auto method = MethodOf(Opened(Load(two, Twice)));
  alignas(64) static float memory[64];
  constexpr size_t kBytes = kSize * sizeof(float);
  EXPECT_OK(method->BindOutput(0, memory, kBytes));
  EXPECT_ERROR(method->BindOutput(1, memory + 4, kBytes),
               "the memory for output 1 overlaps the memory that is bound to output 0");
  EXPECT_ERROR(method->BindOutput(1, memory, kBytes), "overlaps");
  EXPECT_OK(method->BindOutput(1, memory + kSize, kBytes));
}

XIR_TEST(inputs_are_what_the_program_says) {
  const auto method = MethodOf(Opened(Load(Calling(/*open=*/true), Twice)));
  float input[2 * kSize] = {};
  Tensor given;
  given.shape = given.bound = Sizes(3);
  given.data = input;
  given.capacity = sizeof(input);
  EXPECT_OK(method->SetInput(0, given));
  EXPECT_OK(method->Execute());
  given.dtype = DType::kInt;
  EXPECT_ERROR(method->SetInput(0, given), "input 0 is float32, and int32 was given");
  given.dtype = DType::kFloat;
  given.shape = Sizes(kSize + 1);
  EXPECT_ERROR(method->SetInput(0, given), "input 0 has shape [8 at most], and [9] was given");
  given.shape.rank = 2;
  given.shape[0] = given.shape[1] = 1;
  EXPECT_ERROR(method->SetInput(0, given), "and [1, 1] was given");
  EXPECT_ERROR(method->SetInput(0, int64_t{3}), "input 0 is a tensor, and a int was given");
  EXPECT_ERROR(method->SetInput(1, input, sizeof(input), Sizes(3)), "input 1 of 1 does not exist");
}

XIR_TEST(names_are_utf8) {
  const auto refused = [](const char* text, const std::function<void(ExecutionPlanT*)>& edit) {
    EXPECT_ERROR(Load(Calling(false, edit), Twice), text);
  };
  refused("the name of method 0 is not UTF-8: 'for\\xffward'",
          [](ExecutionPlanT* plan) { plan->name = "for\xffward"; });
  refused("method 'forward': the name of operator 0 is not UTF-8: 'test::\\xc0\\x80'",
          [](ExecutionPlanT* plan) { plan->operators[0]->name = "test::\xc0\x80"; });
  refused("method 'forward': value 2 is not UTF-8: '\\xed\\xa0\\x80'", [](ExecutionPlanT* plan) {
    program::StringT text;
    text.string_val = "\xed\xa0\x80";
    auto value = std::make_unique<EValueT>();
    value->val.Set(std::move(text));
    plan->values.push_back(std::move(value));
  });
}

XIR_TEST(messages_are_one_line_of_utf8) {
  EXPECT(OneLine("a\nb\x7f\xff\xe2\x82\xac\xf4\x90\x80\x80") ==
         "a\\x0ab\\x7f\\xff\xe2\x82\xac\\xf4\\x90\\x80\\x80");
  EXPECT(OneLine("\xe2\x82") == "\\xe2\\x82" && OneLine("").empty());
  // A terminal's command, an end of a line, and a turn of direction.
  EXPECT(OneLine("\xc2\x9b\xe2\x80\xa8\xe2\x80\xae") == "\\xc2\\x9b\\xe2\\x80\\xa8\\xe2\\x80\\xae");
  EXPECT(OneLine("\xc2\xa0\xe2\x80\xa7\xe2\x80\xaf") == "\xc2\xa0\xe2\x80\xa7\xe2\x80\xaf");
}

XIR_TEST(messages_are_short_enough_to_be_read) {
  const std::string name(100'000, 'x');
  const std::string shown = std::string(200, 'x') + "..." + std::string(200, 'x');
  EXPECT(OneLine("method " + name + " and " + name) == "method " + shown + " and " + shown);
  EXPECT(OneLine(std::string(500, 'x')) == std::string(500, 'x'));
  // Many short names; and characters of three bytes, which stay whole.
  std::string names, euros;
  for (int i = 0; i < 5000; ++i) names += "name ";
  for (int i = 0; i < 5000; ++i) euros += "\xe2\x82\xac";
  EXPECT(OneLine(names).size() == 403 && OneLine(names).substr(0, 5) == "name ");
  EXPECT(OneLine(euros).size() == 66 * 3 + 3 + 66 * 3 && OneLine(OneLine(euros)) == OneLine(euros));
}

XIR_TEST(empty_tensors_take_no_time) {
  // Any number of lines, runs or groups, and not an element.
  const auto begin = std::chrono::steady_clock::now();
  const auto run = [](const char* name, std::vector<Value> values) {
    KernelContext context;
    std::vector<Value*> args;
    for (Value& value : values) args.push_back(&value);
    const TypedKernel* kernel = FindPortableKernel(name);
    if (kernel == nullptr) return Report(__FILE__, __LINE__, name);
    EXPECT_OK(kernel->bind({args.data(), args.size()}));
    EXPECT_OK(kernel->run(context, {args.data(), args.size()}));
  };
  alignas(8) static uint8_t nothing[64];
  const auto tensor = [](std::initializer_list<int64_t> sizes, DType dtype = DType::kFloat) {
    Tensor made;
    made.dtype = dtype;
    for (const int64_t size : sizes) made.shape[made.shape.rank++] = size;
    for (size_t i = 0; i < made.rank(); ++i) made.dim_order[i] = static_cast<uint8_t>(i);
    made.bound = made.shape;
    made.data = nothing;
    made.capacity = sizeof(nothing);
    return Value{made};
  };
  constexpr int64_t kMany = int64_t{1} << 30;
  run("aten::cumsum.out",
      {tensor({0, kMany, kMany}), Value{int64_t{0}}, Value{}, tensor({0, kMany, kMany})});
  run("aten::cumsum.out", {tensor({kMany, 0}, DType::kInt), Value{int64_t{1}}, Value{},
                           tensor({kMany, 0}, DType::kInt)});
  run("aten::_softmax.out",
      {tensor({kMany, 0}), Value{int64_t{1}}, Value{false}, tensor({kMany, 0})});
  run("aten::native_group_norm.out",
      {tensor({1, kMany, 0}), Value{}, Value{}, Value{int64_t{1}}, Value{kMany}, Value{int64_t{0}},
       Value{int64_t{1}}, Value{1e-5}, tensor({1, kMany, 0}), tensor({1, 1}), tensor({1, 1})});
  EXPECT(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}

}  // namespace xir::testing
