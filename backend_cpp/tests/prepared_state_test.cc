// What kernels prepare when a method loads is for the numbers that they are called with.

#include <algorithm>

#include "graphs.h"
#include "testing.h"

namespace xir::testing {
namespace {

using program::EValueT;
using program::ExecutionPlanT;
using program::ProgramT;
using program::TensorT;

constexpr int32_t kInput = 0, kResult = 1, kFour = 8, kGroups = 9;

template <typename T>
int32_t Add(ExecutionPlanT* plan, T content) {
  auto value = std::make_unique<EValueT>();
  value->val.Set(std::move(content));
  plan->values.push_back(std::move(value));
  return static_cast<int32_t>(plan->values.size()) - 1;
}

int32_t AddInt(ExecutionPlanT* plan, int64_t number) {
  program::IntT content;
  content.int_val = number;
  return Add(plan, content);
}

int32_t AddInts(ExecutionPlanT* plan, int32_t item) {
  program::IntListT content;
  content.items = {item};
  return Add(plan, content);
}

// In an arena at `offset`, or with the content of a constant.
int32_t AddTensor(ExecutionPlanT* plan, std::vector<int32_t> sizes, uint32_t offset,
                  uint32_t constant) {
  TensorT tensor;
  tensor.scalar_type = program::ScalarType::Float;
  for (size_t i = 0; i < sizes.size(); ++i) tensor.dim_order.push_back(static_cast<uint8_t>(i));
  tensor.sizes = std::move(sizes);
  tensor.data_buffer_idx = constant;
  if (constant == 0) {
    tensor.allocation_info = std::make_unique<program::AllocationDetailsT>();
    tensor.allocation_info->memory_id = 1;
    tensor.allocation_info->memory_offset_low = offset;
  }
  return Add(plan, std::move(tensor));
}

void AddCall(ExecutionPlanT* plan, const char* name, const char* overload,
             std::vector<int32_t> args) {
  auto op = std::make_unique<program::OperatorT>();
  op->name = name;
  op->overload = overload;
  plan->operators.push_back(std::move(op));
  program::KernelCallT call;
  call.op_index = static_cast<int32_t>(plan->operators.size()) - 1;
  call.args = std::move(args);
  auto instruction = std::make_unique<program::InstructionT>();
  instruction->instr_args.Set(call);
  plan->chains[0]->instructions.push_back(std::move(instruction));
}

// The number of a constant that an operator of the golden program reads.
uint32_t TableOf(const ExecutionPlanT& plan) {
  for (const auto& value : plan.values) {
    const TensorT* tensor = value->val.AsTensor();
    if (tensor != nullptr && tensor->data_buffer_idx != 0 && tensor->sizes.size() == 2 &&
        tensor->sizes[0] * tensor->sizes[1] >= 16) {
      return tensor->data_buffer_idx;
    }
  }
  Report(__FILE__, __LINE__, "the golden program has no such constant");
  return 0;
}

// A convolution of one dimension in as many groups as value kGroups says, which is `groups` in the
// file. Its filter is a constant. `edit` adds instructions that come before it.
Blob Convolving(
    int64_t groups, const std::function<void(ExecutionPlanT*)>& edit = [](ExecutionPlanT*) {}) {
  return EditProgram(ReadGolden("stock_portable.pte"), [&](ProgramT* p) {
    ExecutionPlanT& plan = *p->execution_plan[0];
    const uint32_t table = TableOf(plan);
    plan.values.clear();
    plan.operators.clear();
    plan.chains[0]->instructions.clear();
    plan.chains[0]->stacktrace.clear();
    plan.non_const_buffer_sizes = {0, 256};
    plan.inputs = {AddTensor(&plan, {1, 8, 4}, 0, 0)};
    plan.outputs = {AddTensor(&plan, {1, 8, 4}, 128, 0)};
    const int32_t weight = AddTensor(&plan, {8, 2, 1}, 0, table);
    const int32_t none = Add(&plan, program::NullT());
    const int32_t ones = AddInts(&plan, AddInt(&plan, 1));
    const int32_t zeros = AddInts(&plan, AddInt(&plan, 0));
    EXPECT(AddInt(&plan, 4) == kFour && AddInt(&plan, groups) == kGroups);
    const int32_t transposed = Add(&plan, program::BoolT());
    edit(&plan);
    AddCall(
        &plan, "aten::convolution", "out",
        {kInput, weight, none, ones, zeros, ones, transposed, zeros, kGroups, kResult, kResult});
  });
}

std::vector<float> ResultOf(const Blob& file) {
  auto method = LoadForward(file);
  if (!method.ok()) {
    Report(__FILE__, __LINE__, std::move(method).status().message());
    return {};
  }
  std::vector<float> input(32);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 7);
  Shape shape;
  shape.rank = 3;
  shape[0] = 1, shape[1] = 8, shape[2] = 4;
  EXPECT_OK(method.value()->SetInput(0, input.data(), input.size() * sizeof(float), shape));
  EXPECT_OK(method.value()->Execute());
  const float* result = method.value()->output(0).get<Tensor>()->as<float>();
  return std::vector<float>(result, result + 32);
}

}  // namespace

XIR_TEST(states_are_not_made_of_numbers_that_change) {
  const std::vector<float> expected = ResultOf(Convolving(4));
  EXPECT(std::any_of(expected.begin(), expected.end(), [](float x) { return x != 0; }));
  const Blob moved = Convolving(1, [](ExecutionPlanT* plan) {
    program::MoveCallT move;
    move.move_from = kFour;
    move.move_to = kGroups;
    auto instruction = std::make_unique<program::InstructionT>();
    instruction->instr_args.Set(move);
    plan->chains[0]->instructions.push_back(std::move(instruction));
  });
  EXPECT(ResultOf(moved) == expected);
  const Blob computed = Convolving(1, [](ExecutionPlanT* plan) {
    AddCall(plan, "executorch_prim::mul", "Scalar", {kFour, kGroups, kGroups, kGroups});
  });
  EXPECT(ResultOf(computed) == expected);
}

}  // namespace xir::testing
