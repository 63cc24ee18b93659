// Memory that a caller lends is the caller's again when Execute returns, and moves copy bytes.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "core/memory_limit.h"
#include "graphs.h"
#include "testing.h"

namespace xir::testing {
namespace {

using program::EValueT;
using program::ExecutionPlanT;
using program::ProgramT;
using program::TensorT;

constexpr int32_t kSize = 4;
// Where a value's memory is.
constexpr int64_t kNowhere = -1;

std::unique_ptr<EValueT> TensorValue(std::vector<int32_t> sizes, int64_t offset,
                                     bool dynamic = false) {
  TensorT tensor;
  tensor.scalar_type = program::ScalarType::Float;
  for (size_t i = 0; i < sizes.size(); ++i) tensor.dim_order.push_back(static_cast<uint8_t>(i));
  tensor.sizes = std::move(sizes);
  tensor.shape_dynamism =
      dynamic ? program::TensorShapeDynamism::DynamicBound : program::TensorShapeDynamism::Static;
  if (offset != kNowhere) {
    tensor.allocation_info = std::make_unique<program::AllocationDetailsT>();
    tensor.allocation_info->memory_id = 1;
    tensor.allocation_info->memory_offset_low = static_cast<uint32_t>(offset);
  }
  auto value = std::make_unique<EValueT>();
  value->val.Set(std::move(tensor));
  return value;
}

template <typename T>
std::unique_ptr<EValueT> ValueOf(T content) {
  auto value = std::make_unique<EValueT>();
  value->val.Set(std::move(content));
  return value;
}

void AddMove(ExecutionPlanT* plan, int32_t from, int32_t to) {
  program::MoveCallT move;
  move.move_from = from;
  move.move_to = to;
  auto instruction = std::make_unique<program::InstructionT>();
  instruction->instr_args.Set(move);
  plan->chains[0]->instructions.push_back(std::move(instruction));
}

// A program of one input, value 0, one output, value 1, and what `edit` adds. Values are vectors of
// four floats in an arena.
Blob Moving(const std::function<void(ExecutionPlanT*)>& edit) {
  return EditProgram(ReadGolden("stock_small.pte"), [&](ProgramT* p) {
    ExecutionPlanT& plan = *p->execution_plan[0];
    plan.values.clear();
    plan.delegates.clear();
    plan.operators.clear();
    plan.chains[0]->instructions.clear();
    plan.non_const_buffer_sizes = {0, 64};
    plan.inputs = {0};
    plan.outputs = {1};
    plan.values.push_back(TensorValue({kSize}, 0));
    plan.values.push_back(TensorValue({kSize}, 16));
    edit(&plan);
  });
}

// Runs on heap memory of exactly the input's size, which is freed before this returns.
Status RunOn(Method* method, float first) {
  const std::unique_ptr<float[]> input(new float[kSize]);
  for (int i = 0; i < kSize; ++i) input[i] = first + static_cast<float>(i);
  Shape shape;
  shape.rank = 1;
  shape[0] = kSize;
  XIR_RETURN_IF_ERROR(method->SetInput(0, input.get(), kSize * sizeof(float), shape));
  return method->Execute();
}

float At(const Method& method, size_t output, int i) {
  return method.output(output).get<Tensor>()->as<float>()[i];
}

// A file of `text` below a scratch root.
void WriteText(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

XIR_TEST(moved_inputs_are_copied) {
  // The second run returns what the first one left in value 2.
  const Blob file = Moving([](ExecutionPlanT* p) {
    p->values.push_back(TensorValue({kSize}, 32));
    AddMove(p, 2, 1);
    AddMove(p, 0, 2);
  });
  auto method = LoadForward(file);
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  EXPECT_OK(RunOn(method.value().get(), 1));
  EXPECT(At(*method.value(), 0, 3) == 0);
  EXPECT_OK(RunOn(method.value().get(), 100));
  EXPECT(At(*method.value(), 0, 0) == 1 && At(*method.value(), 0, 3) == 4);
}

XIR_TEST(moves_into_inputs_leave_the_caller_alone) {
  const Blob file = Moving([](ExecutionPlanT* p) {
    p->values.push_back(TensorValue({kSize}, 32));
    AddMove(p, 2, 0);
    AddMove(p, 0, 1);
  });
  auto method = LoadForward(file);
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  float input[kSize] = {1, 2, 3, 4};
  Shape shape;
  shape.rank = 1;
  shape[0] = kSize;
  EXPECT_OK(method.value()->SetInput(0, input, sizeof(input), shape, /*writable=*/false));
  EXPECT_OK(method.value()->Execute());
  EXPECT(input[0] == 1 && input[3] == 4);
  EXPECT(At(*method.value(), 0, 0) == 0);
}

XIR_TEST(moves_need_memory_to_go_to) {
  const auto refused = [](const std::function<void(ExecutionPlanT*)>& edit, const char* text) {
    EXPECT_ERROR(LoadForward(Moving(edit)), text);
  };
  refused(
      [](ExecutionPlanT* p) {
        p->values.push_back(TensorValue({kSize}, kNowhere));
        AddMove(p, 0, 2);
      },
      "it moves value 0 to 2, which has no memory of its own");
  refused(
      [](ExecutionPlanT* p) {
        p->values[0] = TensorValue({kSize}, kNowhere);
        AddMove(p, 1, 0);
      },
      "no memory of its own");
  refused(
      [](ExecutionPlanT* p) {
        p->values.push_back(TensorValue({2, 2}, 32));
        AddMove(p, 0, 2);
      },
      "of another shape");
  refused(
      [](ExecutionPlanT* p) {
        p->values.push_back(TensorValue({kSize + 1}, 32));
        AddMove(p, 0, 2);
      },
      "of another shape");
  refused(
      [](ExecutionPlanT* p) {
        program::TensorListT list;
        list.items = {0};
        p->values.push_back(ValueOf(list));
        list.items = {1};
        p->values.push_back(ValueOf(list));
        AddMove(p, 2, 3);
      },
      "no number and no tensor");
  refused(
      [](ExecutionPlanT* p) {
        p->values.push_back(ValueOf(program::IntT()));
        p->values.push_back(ValueOf(program::IntT()));
        p->inputs.push_back(3);
        AddMove(p, 2, 3);
      },
      "which is an input");
}

XIR_TEST(moves_fit_at_run_time) {
  // A dynamic tensor fits where its shape does, not where its bound would.
  const Blob file = Moving([](ExecutionPlanT* p) {
    p->values[0] = TensorValue({8}, 32, /*dynamic=*/true);
    AddMove(p, 0, 1);
  });
  auto method = LoadForward(file);
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  EXPECT_OK(RunOn(method.value().get(), 1));
  EXPECT(At(*method.value(), 0, 3) == 4);
  float input[8] = {};
  Shape shape;
  shape.rank = 1;
  shape[0] = 8;
  EXPECT_OK(method.value()->SetInput(0, input, sizeof(input), shape));
  EXPECT_ERROR(method.value()->Execute(), "instruction 0: the shape is fixed at [4], not [8]");
}

XIR_TEST(returned_inputs_outlive_the_loan) {
  for (const int64_t place : {int64_t{0}, kNowhere}) {
    const Blob file = Moving([&](ExecutionPlanT* p) {
      p->values[0] = TensorValue({kSize}, place);
      p->outputs = {0};
    });
    auto method = LoadForward(file);
    if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
    for (const float first : {1.0f, 100.0f}) {
      EXPECT_OK(RunOn(method.value().get(), first));
      EXPECT(At(*method.value(), 0, 3) == first + 3);
    }
  }
}

XIR_TEST(failed_inputs_change_nothing) {
  const Blob file = Moving([](ExecutionPlanT* p) {
    p->values[0] = TensorValue({kSize}, 0, /*dynamic=*/true);
    AddMove(p, 0, 1);
    p->values[1] = TensorValue({kSize}, 16, /*dynamic=*/true);
  });
  auto method = LoadForward(file);
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  Method& forward = *method.value();
  const std::unique_ptr<float[]> two(new float[2]{1, 2});
  Shape shape;
  shape.rank = 1;
  shape[0] = 2;
  EXPECT_OK(forward.SetInput(0, two.get(), 2 * sizeof(float), shape));
  shape[0] = 4;
  EXPECT_ERROR(forward.SetInput(0, two.get(), 2 * sizeof(float), shape), "takes 16 bytes, not 8");
  EXPECT_ERROR(forward.SetInput(0, reinterpret_cast<uint8_t*>(two.get()) + 1, 16, shape),
               "not aligned");
  EXPECT_OK(forward.Execute());
  EXPECT(forward.output(0).get<Tensor>()->shape[0] == 2 && At(forward, 0, 1) == 2);
  // A first call that fails gives nothing.
  EXPECT_ERROR(forward.SetInput(0, nullptr, 16, shape), "takes 16 bytes");
  EXPECT_ERROR(forward.Execute(), "input 0 was not given");
  // An empty tensor needs no memory.
  shape[0] = 0;
  EXPECT_OK(forward.SetInput(0, nullptr, 0, shape));
  EXPECT_OK(forward.Execute());
}

XIR_TEST(writes_reach_inputs_at_the_end_of_a_page) {
  // Such an input is copied, so that XNNPACK does not read beyond its page.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* pages = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* input = reinterpret_cast<float*>(static_cast<uint8_t*>(pages) + page) - kSize;
  input[0] = 5;
  // aten::fill_.Scalar-like: any kernel that writes to its first argument.
  const Blob file = EditProgram(ReadGolden("stock_small.pte"), [&](ProgramT* p) {
    ExecutionPlanT& plan = *p->execution_plan[0];
    plan.values.clear();
    plan.delegates.clear();
    plan.operators.clear();
    plan.chains[0]->instructions.clear();
    plan.non_const_buffer_sizes = {0, 64};
    plan.values.push_back(TensorValue({kSize}, 0));
    plan.values.push_back(TensorValue({kSize}, 16));
    plan.inputs = {0};
    plan.outputs = {0};
    auto op = std::make_unique<program::OperatorT>();
    op->name = "aten::relu";
    op->overload = "out";
    plan.operators.push_back(std::move(op));
    program::KernelCallT call;
    call.op_index = 0;
    call.args = {1, 0, 0};
    auto instruction = std::make_unique<program::InstructionT>();
    instruction->instr_args.Set(call);
    plan.chains[0]->instructions.push_back(std::move(instruction));
  });
  auto method = LoadForward(file);
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  Shape shape;
  shape.rank = 1;
  shape[0] = kSize;
  EXPECT_OK(method.value()->SetInput(0, input, kSize * sizeof(float), shape));
  EXPECT_OK(method.value()->Execute());
  EXPECT(input[0] == 0);
  munmap(pages, page);
}

// A result may be an input, in memory that is smaller than the bound. The delegate gives that
// result its shape before it finds the memory too small, and the copy of the input is no larger.
XIR_TEST(failed_results_write_no_more_than_was_lent) {
  GraphMaker g;
  graph::XNNNode1x1T node;
  node.input_id = g.Input(graph::XNNDatatype::FP32, {8});
  node.output_id = g.Output(graph::XNNDatatype::FP32, {8});
  g.Node(graph::XNodeUnion::XNNAbs, node);
  const auto program = program::UnPackProgram(g.Program().data());
  program->execution_plan[0]->inputs = {0, 1};
  flatbuffers::FlatBufferBuilder builder;
  program::FinishProgramBuffer(builder, program::CreateProgram(builder, program.get()));
  auto method =
      LoadForward(Blob(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()));
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* pages = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* small = reinterpret_cast<float*>(static_cast<uint8_t*>(pages) + page) - 2;
  small[0] = 5;
  const std::vector<float> large(8, -1.0f);
  Shape shape;
  shape.rank = 1;
  shape[0] = 8;
  EXPECT_OK(method.value()->SetInput(0, const_cast<float*>(large.data()), 32, shape));
  shape[0] = 2;
  EXPECT_OK(method.value()->SetInput(1, small, 8, shape));
  EXPECT_ERROR(method.value()->Execute(), "shape [8] takes 32 bytes, and its memory has 8");
  EXPECT(small[0] == 5);
  munmap(pages, page);
}

// An input that is returned and has no memory in the program is kept in some of its own.
XIR_TEST(returned_inputs_say_how_much_memory_they_have) {
  const Blob file = Moving([](ExecutionPlanT* p) {
    p->values[0] = TensorValue({kSize}, kNowhere);
    p->outputs = {0};
  });
  auto method = LoadForward(file);
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  EXPECT_OK(RunOn(method.value().get(), 1));
  const Tensor& output = *method.value()->output(0).get<Tensor>();
  EXPECT(output.nbytes() == kSize * sizeof(float) && output.capacity >= output.nbytes());
}

// Outputs that the file leaves to the caller have memory of their own, of each method's, until they
// are bound, or where what is bound to them ends a page.
XIR_TEST(outputs_without_a_place_have_memory) {
  const Blob file = Moving([](ExecutionPlanT* p) {
    p->values.push_back(TensorValue({kSize}, kNowhere));
    p->values.push_back(TensorValue({kSize}, kNowhere));
    p->outputs = {2, 3};
    AddMove(p, 0, 2);
    AddMove(p, 1, 3);
    AddMove(p, 0, 3);
  });
  auto method = LoadForward(file);
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  EXPECT_OK(RunOn(method.value().get(), 7));
  EXPECT(At(*method.value(), 0, 0) == 7 && At(*method.value(), 1, kSize - 1) == 10);
  const auto* first = method.value()->output(0).get<Tensor>();
  const auto* second = method.value()->output(1).get<Tensor>();
  EXPECT(first->capacity >= first->nbytes() && first->data != second->data);
  alignas(16) float bound[kSize] = {};
  EXPECT(method.value()->BindOutput(0, bound, sizeof(bound)).ok());
  EXPECT_OK(RunOn(method.value().get(), 3));
  EXPECT(bound[0] == 3);
  EXPECT_ERROR(method.value()->BindOutput(0, second->data, second->nbytes()).status(),
               "is the method's own");
}

XIR_TEST(memory_of_outputs_is_limited) {
  const Blob file = Moving([](ExecutionPlanT* p) {
    p->non_const_buffer_sizes = {0, int64_t{600} << 20};
    p->values.push_back(TensorValue({100 << 20}, kNowhere));
    p->outputs = {2};
    AddMove(p, 2, 2);
  });
  LoadOptions options;
  options.max_memory = uint64_t{900} << 20;
  EXPECT_ERROR(Program::FromBytes(file, options), "with the arenas they take more than the limit");
}

XIR_TEST(arenas_are_committed_when_touched) {
  constexpr int64_t kArena = int64_t{512} << 20;
  const Blob file = Moving([](ExecutionPlanT* p) {
    p->non_const_buffer_sizes = {0, kArena};
    AddMove(p, 0, 1);
  });
  const size_t before = ResidentBytes();
  auto method = LoadForward(file);
  if (!method.ok()) return Report(__FILE__, __LINE__, std::move(method).status().message());
  EXPECT_OK(RunOn(method.value().get(), 1));
  EXPECT(ResidentBytes() < before + static_cast<size_t>(kArena) / 4);
}

XIR_TEST(control_groups_limit_memory) {
  std::string root = TemporaryPattern("xir_groups");
  EXPECT(mkdtemp(root.data()) != nullptr);
  const std::string make = "mkdir -p " + root + "/proc/self " + root +
                           "/sys/fs/cgroup/memory/a/b " + root + "/sys/fs/cgroup/unified/a";
  EXPECT(std::system(make.c_str()) == 0);
  const uint64_t physical = ReadAvailableMemory(root);
  EXPECT(physical > 0);
  WriteText(root + "/proc/self/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
            "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:4 - cgroup cgroup rw,memory\n"
            "41 31 0:38 /c /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  WriteText(root + "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "70000\n");
  WriteText(root + "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  WriteText(root + "/sys/fs/cgroup/unified/a/memory.max", "50000\n");
  WriteText(root + "/sys/fs/cgroup/unified/memory.max", "max\n");

  WriteText(root + "/proc/self/cgroup", "5:devices:/a\n4:cpu,memory:/a/b\n");
  EXPECT(ReadAvailableMemory(root) == 70000);
  WriteText(root + "/proc/self/cgroup", "4:memory:/x\n0::/c/a\n");
  EXPECT(ReadAvailableMemory(root) == 50000);
  WriteText(root + "/proc/self/cgroup", "0::/c\n");
  EXPECT(ReadAvailableMemory(root) == physical);
  WriteText(root + "/proc/self/cgroup", "damaged\n::\n");
  EXPECT(ReadAvailableMemory(root) == physical);
  EXPECT(std::system(("rm -r " + root).c_str()) == 0);
}

}  // namespace xir::testing
