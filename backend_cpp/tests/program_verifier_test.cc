// One thing broken at a time in a valid program; each is refused for what it is.

#include <functional>

#include "xir/library.h"

#include "golden.h"
#include "testing.h"

namespace xir::testing {
namespace {

using program::ExecutionPlanT;
using program::ProgramT;
using program::TensorT;

void ExpectRefused(const char* golden, const std::function<void(ProgramT*)>& edit,
                   const char* text) {
  EXPECT_ERROR(LoadForward(EditProgram(ReadGolden(golden), edit)), text);
}

void ExpectPlanRefused(const std::function<void(ExecutionPlanT*)>& edit, const char* text) {
  ExpectRefused(
      "stock_small.pte", [&](ProgramT* p) { edit(p->execution_plan[0].get()); }, text);
}

TensorT* FirstTensor(ExecutionPlanT* plan, const std::function<bool(const TensorT&)>& wanted) {
  for (const auto& value : plan->values) {
    TensorT* tensor = value->val.AsTensor();
    if (tensor != nullptr && wanted(*tensor)) return tensor;
  }
  Report(__FILE__, __LINE__, "the golden program has no such tensor");
  return nullptr;
}

TensorT* Planned(ExecutionPlanT* plan) {
  return FirstTensor(plan, [](const TensorT& t) {
    return t.allocation_info != nullptr && t.sizes.size() == 4 && t.sizes[2] > 1;
  });
}

template <typename T>
T* FirstInstruction(ExecutionPlanT* plan, T* (program::InstructionArgumentsUnion::*as)()) {
  for (const auto& instruction : plan->chains[0]->instructions) {
    if (T* found = (instruction->instr_args.*as)()) return found;
  }
  Report(__FILE__, __LINE__, "the golden program has no such instruction");
  return nullptr;
}

}  // namespace

XIR_TEST(edits_alone_change_nothing) {
  for (const char* name :
       {"stock_small.pte", "stock_many.pte", "stock_q8.pte", "stock_portable.pte"}) {
    EXPECT_OK(LoadForward(EditProgram(ReadGolden(name), [](ProgramT*) {})));
  }
}

XIR_TEST(program_refused) {
  ExpectRefused(
      "stock_small.pte", [](ProgramT* p) { p->version = 1; }, "program version 1");
  ExpectRefused(
      "stock_small.pte", [](ProgramT* p) { p->execution_plan.clear(); }, "no method");
  ExpectRefused(
      "stock_small.pte", [](ProgramT* p) { p->segments.pop_back(); }, "does not exist");
  ExpectRefused(
      "stock_small.pte", [](ProgramT* p) { p->segments[0]->size = UINT64_MAX; }, "leaves the");
  ExpectRefused(
      "stock_portable.pte", [](ProgramT* p) { p->constant_segment->offsets[1] = UINT64_MAX; },
      "starts at byte");
  ExpectRefused(
      "stock_portable.pte", [](ProgramT* p) { p->constant_segment->offsets[1] += 1; },
      "not aligned to its elements");
  ExpectRefused(
      "stock_portable.pte", [](ProgramT* p) { p->constant_segment->offsets.resize(1); },
      "does not exist");
  ExpectRefused(
      "stock_small.pte", [](ProgramT* p) { p->named_data.clear(); }, "has no data named");
}

XIR_TEST(tensors_refused) {
  ExpectPlanRefused([](ExecutionPlanT* p) { Planned(p)->sizes[0] = -1; }, "is negative");
  ExpectPlanRefused([](ExecutionPlanT* p) { Planned(p)->sizes.pop_back(); },
                    "dimension order of 4");
  ExpectPlanRefused([](ExecutionPlanT* p) { Planned(p)->dim_order[1] = 0; }, "no permutation");
  ExpectPlanRefused([](ExecutionPlanT* p) { Planned(p)->dim_order[1] = 9; }, "no permutation");
  ExpectPlanRefused([](ExecutionPlanT* p) { Planned(p)->storage_offset = 4; }, "storage offset");
  ExpectPlanRefused([](ExecutionPlanT* p) { Planned(p)->layout = 1; }, "not strided");
  ExpectPlanRefused(
      [](ExecutionPlanT* p) { Planned(p)->scalar_type = static_cast<program::ScalarType>(99); },
      "element type 99");
  ExpectPlanRefused(
      [](ExecutionPlanT* p) {
        TensorT* tensor = Planned(p);
        tensor->sizes.assign(4, INT32_MAX);
      },
      "overflows");
  ExpectPlanRefused(
      [](ExecutionPlanT* p) {
        Planned(p)->sizes.assign(17, 1), Planned(p)->dim_order.assign(17, 0);
      },
      "rank 17");
  ExpectPlanRefused(
      [](ExecutionPlanT* p) {
        Planned(p)->shape_dynamism = program::TensorShapeDynamism::DynamicUnbound;
      },
      "no upper bound");
  ExpectPlanRefused([](ExecutionPlanT* p) { Planned(p)->allocation_info->memory_id = 0; },
                    "memory id 0");
  ExpectPlanRefused([](ExecutionPlanT* p) { Planned(p)->allocation_info->memory_id = 7; },
                    "memory id 7");
  ExpectPlanRefused(
      [](ExecutionPlanT* p) { Planned(p)->allocation_info->memory_offset_low = UINT32_MAX & ~15u; },
      "leaves arena");
  ExpectPlanRefused(
      [](ExecutionPlanT* p) { Planned(p)->allocation_info->memory_offset_high = UINT32_MAX; },
      "leaves arena");
  ExpectPlanRefused([](ExecutionPlanT* p) { Planned(p)->allocation_info->memory_offset_low += 2; },
                    "not aligned");
}

XIR_TEST(arenas_refused) {
  ExpectPlanRefused([](ExecutionPlanT* p) { p->non_const_buffer_sizes[1] = -1; }, "has -1 bytes");
  ExpectPlanRefused([](ExecutionPlanT* p) { p->non_const_buffer_sizes[1] = INT64_MAX; },
                    "the limit is");
  ExpectPlanRefused([](ExecutionPlanT* p) { p->non_const_buffer_sizes[1] = 16; }, "leaves arena");
}

XIR_TEST(instructions_refused) {
  using program::InstructionArgumentsUnion;
  const auto kernel = [](ExecutionPlanT* p) {
    return FirstInstruction(p, &InstructionArgumentsUnion::AsKernelCall);
  };
  const auto delegate = [](ExecutionPlanT* p) {
    return FirstInstruction(p, &InstructionArgumentsUnion::AsDelegateCall);
  };
  ExpectPlanRefused([&](ExecutionPlanT* p) { kernel(p)->op_index = 9; }, "operator 9");
  ExpectPlanRefused([&](ExecutionPlanT* p) { kernel(p)->op_index = -1; }, "operator -1");
  ExpectPlanRefused([&](ExecutionPlanT* p) { kernel(p)->args[0] = 99; }, "value 99");
  ExpectPlanRefused(
      [&](ExecutionPlanT* p) { kernel(p)->args.pop_back(), kernel(p)->args.pop_back(); },
      "arguments, not");
  ExpectPlanRefused([&](ExecutionPlanT* p) { std::swap(kernel(p)->args[0], kernel(p)->args[2]); },
                    "argument 0 is a bool");
  ExpectPlanRefused([&](ExecutionPlanT* p) { kernel(p)->args.back() = kernel(p)->args[0]; },
                    "does not repeat its results");
  ExpectPlanRefused([&](ExecutionPlanT* p) { p->operators[0]->name = "aten::nothing"; },
                    "no kernel for 'aten::nothing.out'");
  ExpectPlanRefused([&](ExecutionPlanT* p) { delegate(p)->delegate_index = 5; }, "delegate 5");
  ExpectPlanRefused([&](ExecutionPlanT* p) { delegate(p)->args.pop_back(); }, "no argument 1");
  ExpectPlanRefused(
      [&](ExecutionPlanT* p) { std::swap(delegate(p)->args[0], delegate(p)->args[1]); },
      "another shape in the graph");
  ExpectPlanRefused([&](ExecutionPlanT* p) { p->delegates[0]->id = "OtherBackend"; },
                    "it is for 'OtherBackend', which this runtime does not have");
  ExpectPlanRefused([&](ExecutionPlanT* p) { p->inputs[0] = 99; }, "inputs: value 99");
  ExpectPlanRefused([&](ExecutionPlanT* p) { p->outputs[0] = -1; }, "outputs: value -1");
}

XIR_TEST(loops_end) {
  const Blob looping = EditProgram(ReadGolden("stock_small.pte"), [](ProgramT* p) {
    ExecutionPlanT& plan = *p->execution_plan[0];
    auto condition = std::make_unique<program::EValueT>();
    condition->val.Set(program::BoolT());
    plan.values.push_back(std::move(condition));
    program::JumpFalseCallT jump;
    jump.cond_value_index = static_cast<int32_t>(plan.values.size()) - 1;
    jump.destination_instruction = 0;
    plan.chains[0]->instructions[0]->instr_args.Set(jump);
  });
  LoadOptions options;
  options.library_paths = PythonLibraryPaths();
  options.threads = 1;
  options.max_instructions = 1000;
  auto program = Program::FromBytes(looping, options);
  EXPECT(program.ok());
  auto method = program.value()->LoadMethod("forward");
  EXPECT(method.ok());
  runner::Array image = ReadGoldenArray("stock_small.input_0.npy");
  EXPECT_OK(method.value()->SetInput(0, image.data.data(), image.data.size(), image.shape));
  EXPECT_ERROR(method.value()->Execute(), "stopped after 1000 instructions");
}

XIR_TEST(moves_keep_kinds) {
  const auto with_move = [](int32_t from, int32_t to) {
    return EditProgram(ReadGolden("stock_small.pte"), [&](ProgramT* p) {
      program::MoveCallT move;
      move.move_from = from;
      move.move_to = to;
      p->execution_plan[0]->chains[0]->instructions[0]->instr_args.Set(move);
    });
  };
  EXPECT_OK(LoadForward(with_move(0, 0)));
  EXPECT_ERROR(LoadForward(with_move(0, 99)), "of another kind");
  const auto program = program::UnPackProgram(ReadGolden("stock_small.pte").data());
  const auto& values = program->execution_plan[0]->values;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]->val.AsTensor() == nullptr) {
      EXPECT_ERROR(LoadForward(with_move(0, static_cast<int32_t>(i))), "of another kind");
    }
  }
}

namespace {

// The call of an operator in the portable golden program, for `change` to change.
template <typename Change>
Blob WithCallChanged(const char* name, const Change& change) {
  return EditProgram(ReadGolden("stock_portable.pte"), [&](ProgramT* p) {
    for (const auto& instruction : p->execution_plan[0]->chains[0]->instructions) {
      auto* call = instruction->instr_args.AsKernelCall();
      if (call == nullptr) continue;
      const auto& op = *p->execution_plan[0]->operators[static_cast<size_t>(call->op_index)];
      if (op.name == name) change(call);
    }
  });
}

}  // namespace

XIR_TEST(constants_are_not_written) {
  // The addmm writes into the embedding's table, which is mapped read-only.
  int32_t table = 0;
  WithCallChanged("aten::embedding", [&](auto* call) { table = call->args[0]; });
  const Blob file = WithCallChanged("aten::addmm", [&](auto* call) {
    call->args[5] = table;
    if (call->args.size() > 6) call->args[6] = table;
  });
  const auto method = LoadForward(file);
  if (!method.ok()) return Report(__FILE__, __LINE__, "it does not load");
  runner::Array index = ReadGoldenArray("stock_portable.input_0.npy");
  EXPECT_OK(method.value()->SetInput(0, index.data.data(), index.data.size(), index.shape));
  EXPECT_ERROR(method.value()->Execute(), "read-only memory");
}

XIR_TEST(results_are_no_operands) {
  EXPECT_ERROR(LoadForward(WithCallChanged("aten::addmm",
                                           [](auto* call) {
                                             call->args[5] = call->args[2];
                                             if (call->args.size() > 6)
                                               call->args[6] = call->args[5];
                                           })),
               "a result is another argument as well");
}

}  // namespace xir::testing
