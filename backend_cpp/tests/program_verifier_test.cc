// One thing broken at a time in a valid program; each is refused for what it is.

#include <functional>
#include <numeric>

#include "xir/library.h"

#include "graphs.h"
#include "runtime/place.h"
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
      "stock_small.pte", [](ProgramT* p) { p->named_data.clear(); }, "is missing");
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
  // Also where there is nothing: strides are products of some sizes.
  ExpectPlanRefused(
      [](ExecutionPlanT* p) {
        TensorT* tensor = Planned(p);
        tensor->sizes.assign(4, INT32_MAX);
        tensor->sizes[0] = 0;
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

XIR_TEST(jumps_backwards_out_of_the_chain_are_refused) {
  ExpectPlanRefused(
      [](ExecutionPlanT* p) {
        auto condition = std::make_unique<program::EValueT>();
        condition->val.Set(program::BoolT());
        p->values.push_back(std::move(condition));
        program::JumpFalseCallT jump;
        jump.cond_value_index = static_cast<int32_t>(p->values.size()) - 1;
        jump.destination_instruction = -1;
        p->chains[0]->instructions[0]->instr_args.Set(jump);
      },
      "it jumps to instruction -1");
}

XIR_TEST(options_of_delegates_need_a_name_and_no_value) {
  const auto with_option = [](const char* name) {
    return [name](ExecutionPlanT* p) {
      p->delegates[0]->compile_specs.push_back(std::make_unique<program::CompileSpecT>());
      p->delegates[0]->compile_specs.back()->key = name;
    };
  };
  ExpectPlanRefused(with_option(""), "an option has no name");
  EXPECT_OK(LoadForward(EditProgram(ReadGolden("stock_small.pte"), [&](ProgramT* p) {
    with_option("workspace")(p->execution_plan[0].get());
  })));
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
  options.xnnpack_paths = PythonLibraryPaths();
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

namespace {

using program::ScalarType;
using Type = graph::XNNDatatype;

// A program whose delegate computes the absolute value of a vector, changed; value 0 is its input,
// value 1 its result. `more` adds to the graph.
Blob Absolute(
    const std::function<void(ProgramT*)>& edit,
    const std::function<void(GraphMaker*)>& more = [](GraphMaker*) {}) {
  GraphMaker g;
  graph::XNNNode1x1T node;
  node.input_id = g.Input(Type::FP32, {4});
  node.output_id = g.Output(Type::FP32, {4});
  g.Node(graph::XNodeUnion::XNNAbs, node);
  more(&g);
  const auto program = program::UnPackProgram(g.Program().data());
  edit(program.get());
  flatbuffers::FlatBufferBuilder builder;
  program::FinishProgramBuffer(builder, program::CreateProgram(builder, program.get()));
  return Blob(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
}

void ExpectAbsoluteRefused(const std::function<void(ExecutionPlanT*)>& edit, const char* text) {
  EXPECT_ERROR(LoadForward(Absolute([&](ProgramT* p) { edit(p->execution_plan[0].get()); })), text);
}

TensorT* TensorAt(ExecutionPlanT* plan, size_t index) {
  return plan->values[index]->val.AsTensor();
}

template <typename T>
void AddInstruction(ExecutionPlanT* plan, T content) {
  auto instruction = std::make_unique<program::InstructionT>();
  instruction->instr_args.Set(std::move(content));
  plan->chains[0]->instructions.push_back(std::move(instruction));
}

template <typename T>
int32_t AddValue(ExecutionPlanT* plan, T content) {
  auto value = std::make_unique<program::EValueT>();
  value->val.Set(std::move(content));
  plan->values.push_back(std::move(value));
  return static_cast<int32_t>(plan->values.size()) - 1;
}

void AddMove(ExecutionPlanT* plan, int32_t from, int32_t to) {
  program::MoveCallT move;
  move.move_from = from;
  move.move_to = to;
  AddInstruction(plan, move);
}

}  // namespace

XIR_TEST(delegates_refused) {
  EXPECT_OK(LoadForward(Absolute([](ProgramT*) {})));
  EXPECT_OK(LoadForward(
      Absolute([](ProgramT* p) { p->execution_plan[0]->delegates[0]->id = "XirXnnpackBackend"; })));
  ExpectAbsoluteRefused([](ExecutionPlanT* p) { p->delegates[0]->id.clear(); }, "no id or no data");
  ExpectAbsoluteRefused([](ExecutionPlanT* p) { p->delegates[0]->processed.reset(); },
                        "no id or no data");
  ExpectAbsoluteRefused([](ExecutionPlanT* p) { p->name.clear(); }, "a method has no name");
  EXPECT_ERROR(LoadForward(Absolute([](ProgramT* p) { p->backend_delegate_data.clear(); })),
               "its data is missing");
  EXPECT_ERROR(
      LoadForward(Absolute([](ProgramT* p) { p->backend_delegate_data[0]->data.clear(); })),
      "its data is missing");
  ExpectAbsoluteRefused(
      [](ExecutionPlanT* p) {
        p->chains[0]->instructions[0]->instr_args.AsDelegateCall()->args.clear();
      },
      "it has no arguments");
  ExpectAbsoluteRefused(
      [](ExecutionPlanT* p) {
        TensorAt(p, 0)->sizes = {2, 2};
        TensorAt(p, 0)->dim_order = {0, 1};
      },
      "argument 0 has another shape in the graph");
}

XIR_TEST(tensors_in_other_places_refused) {
  const auto extra = [](const std::function<void(program::ExtraTensorInfoT*)>& edit,
                        const char* text) {
    ExpectAbsoluteRefused(
        [&](ExecutionPlanT* p) {
          TensorAt(p, 0)->extra_tensor_info = std::make_unique<program::ExtraTensorInfoT>();
          edit(TensorAt(p, 0)->extra_tensor_info.get());
        },
        text);
  };
  using Info = program::ExtraTensorInfoT;
  extra([](Info* i) { i->location = program::TensorDataLocation::External; }, "has no name");
  extra([](Info* i) { i->device_type = program::DeviceType::CUDA; }, "another device");
  extra([](Info* i) { i->mutable_data_segments_idx = 1; }, "a second mutable data segment");
  ExpectAbsoluteRefused(
      [](ExecutionPlanT* p) {
        // 3 · 2^62 bytes
        TensorAt(p, 0)->scalar_type = ScalarType::Byte;
        TensorAt(p, 0)->sizes = {INT32_MAX, INT32_MAX, 3};
        TensorAt(p, 0)->dim_order = {0, 1, 2};
      },
      "overflows");
  ExpectAbsoluteRefused(
      [](ExecutionPlanT* p) {
        // What a tensor of an arena begins with is copied: more than the file is large.
        p->non_const_buffer_sizes[1] = 1 << 28;
        TensorAt(p, 1)->sizes = {1 << 26};
        TensorAt(p, 1)->data_buffer_idx = 1;
      },
      "so much of the file is shared");
  ExpectAbsoluteRefused([](ExecutionPlanT* p) { p->values.clear(); }, "value 0 does not exist");
}

XIR_TEST(arenas_elsewhere_refused) {
  ExpectAbsoluteRefused([](ExecutionPlanT* p) { p->non_const_buffer_sizes.assign(4, INT64_MAX); },
                        "the limit is");
  // Places of results end where 64 bits do, whatever the caller allows.
  const Blob large = Absolute([](ProgramT* p) {
    ExecutionPlanT* plan = p->execution_plan[0].get();
    const auto add_result = [&](const std::vector<int32_t>& sizes) {
      TensorT result = *TensorAt(plan, 1);
      result.scalar_type = ScalarType::Byte;
      result.sizes = sizes;
      result.dim_order.resize(sizes.size());
      std::iota(result.dim_order.begin(), result.dim_order.end(), uint8_t{0});
      result.allocation_info.reset();
      plan->outputs.push_back(AddValue(plan, std::move(result)));
    };
    add_result({INT32_MAX, INT32_MAX, 2});
    add_result({INT32_MAX, INT32_MAX, 2});
    add_result({32, (1 << 29) - 1});
  });
  EXPECT_ERROR(LoadForward(large, /*max_memory=*/UINT64_MAX), "they take more than the limit");
  const Blob with_arenas = Absolute([](ProgramT* p) {
    p->execution_plan[0]->non_const_buffer_sizes[1] = 1 << 30;
    TensorAt(p->execution_plan[0].get(), 1)->allocation_info.reset();
  });
  EXPECT_ERROR(LoadForward(with_arenas, /*max_memory=*/1 << 30),
               "with the arenas they take more than the limit");
  const auto on = [](program::DeviceType type) {
    return Absolute([=](ProgramT* p) {
      auto device = std::make_unique<program::NonConstBufferDeviceT>();
      device->device_type = type;
      p->execution_plan[0]->non_const_buffer_device.push_back(std::move(device));
    });
  };
  EXPECT_OK(LoadForward(on(program::DeviceType::CPU)));
  EXPECT_ERROR(LoadForward(on(program::DeviceType::CUDA)), "an arena is on another device");
}

XIR_TEST(moves_and_frees_of_other_values) {
  EXPECT_OK(LoadForward(Absolute([](ProgramT* p) {
    ExecutionPlanT* plan = p->execution_plan[0].get();
    const int32_t nothing = AddValue(plan, program::NullT());
    AddMove(plan, nothing, AddValue(plan, program::NullT()));
    const int32_t flag = AddValue(plan, program::BoolT());
    AddMove(plan, flag, AddValue(plan, program::BoolT()));
    // A result that has no memory until the caller gives it some.
    TensorT result = *TensorAt(plan, 0);
    const int32_t given = AddValue(plan, std::move(result));
    plan->outputs.push_back(given);
    AddMove(plan, 1, given);
    TensorT empty = *TensorAt(plan, 0);
    empty.sizes = {0};
    const int32_t no_bytes = AddValue(plan, TensorT(empty));
    AddMove(plan, no_bytes, AddValue(plan, std::move(empty)));
  })));
  ExpectAbsoluteRefused(
      [](ExecutionPlanT* p) {
        TensorT neither = *TensorAt(p, 0);  // no input and no result: no caller places it
        AddMove(p, 1, AddValue(p, std::move(neither)));
      },
      "which has no memory of its own");
  ExpectAbsoluteRefused(
      [](ExecutionPlanT* p) {
        program::FreeCallT free;
        free.value_index = 99;
        AddInstruction(p, free);
      },
      "it frees a value that does not exist");
  ExpectAbsoluteRefused(
      [](ExecutionPlanT* p) { p->operators.push_back(std::make_unique<program::OperatorT>()); },
      "operator 0 has no name");
}

// Dtypes that hold what a graph reads and writes, and those that do not.
XIR_TEST(arguments_of_delegates_hold_their_datatypes) {
  const auto load = [](Type datatype, ScalarType dtype) {
    return LoadForward(
        Absolute([&](ProgramT* p) { TensorAt(p->execution_plan[0].get(), 2)->scalar_type = dtype; },
                 [&](GraphMaker* g) { g->Input(datatype, {4}); }));
  };
  EXPECT_OK(load(Type::QInt8, ScalarType::Char));
  EXPECT_OK(load(Type::QInt8, ScalarType::QInt8));
  EXPECT_OK(load(Type::QUInt8, ScalarType::Byte));
  EXPECT_OK(load(Type::QUInt8, ScalarType::QUInt8));
  EXPECT_OK(load(Type::Int32, ScalarType::Int));
  EXPECT_OK(load(Type::QInt32, ScalarType::Int));
  EXPECT_OK(load(Type::QInt32, ScalarType::QInt32));
  for (const Type type : {Type::QInt8, Type::QUInt8, Type::Int32, Type::QInt32}) {
    EXPECT_ERROR(load(type, ScalarType::Float), "is a float32 tensor, but the graph has it as");
  }
  EXPECT_ERROR(load(Type::Int32, ScalarType::Long), "but the graph has it as Int32");

  const auto positions = [](ScalarType dtype) {
    GraphMaker g;
    graph::XNNArgMaxPooling2dT pool;
    pool.pooling_height = pool.pooling_width = 2;
    pool.input_id = g.Input(Type::FP32, {1, 2, 2, 1});
    pool.output_value_id = g.Output(Type::FP32, {1, 1, 1, 1});
    pool.output_index_id = g.Output(Type::Int32, {1, 1, 1, 1});
    g.Node(graph::XNodeUnion::XNNArgMaxPooling2d, pool);
    const auto program = program::UnPackProgram(g.Program().data());
    TensorAt(program->execution_plan[0].get(), 2)->scalar_type = dtype;
    flatbuffers::FlatBufferBuilder builder;
    program::FinishProgramBuffer(builder, program::CreateProgram(builder, program.get()));
    return LoadForward(
        Blob(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()));
  };
  EXPECT_OK(positions(ScalarType::Long));
  EXPECT_ERROR(positions(ScalarType::Float), "but the graph has it as Int32");
}

// A delegate's argument is at byte 0 of its arena.
XIR_TEST(results_of_delegates_lie_apart_from_their_arguments) {
  const auto result_at = [](uint32_t offset) {
    return LoadForward(EditProgram(ReadGolden("stock_small.pte"), [&](ProgramT* p) {
      ExecutionPlanT* plan = p->execution_plan[0].get();
      const auto& call = *plan->chains[0]->instructions[2]->instr_args.AsDelegateCall();
      TensorAt(plan, call.args[0])->allocation_info->memory_offset_low = 0;
      TensorAt(plan, call.args[1])->allocation_info->memory_offset_low = offset;
    }));
  };
  EXPECT_ERROR(result_at(0), "of which it writes at least one, have memory in common");
  EXPECT_ERROR(result_at(48), "of which it writes at least one, have memory in common");
  EXPECT_OK(result_at(64));
}

XIR_TEST(delegates_do_not_write_what_they_read) {
  GraphMaker g;
  graph::XNNNode1x1T node;
  node.input_id = g.Input(graph::XNNDatatype::FP32, {2});
  node.output_id = g.Output(graph::XNNDatatype::FP32, {2});
  g.Node(graph::XNodeUnion::XNNAbs, node);
  const Blob file = g.Program();
  EXPECT_OK(LoadForward(file));
  const auto program = program::UnPackProgram(file.data());
  ExecutionPlanT* plan = program->execution_plan[0].get();
  auto& args = plan->chains[0]->instructions[0]->instr_args.AsDelegateCall()->args;
  auto place = std::make_unique<program::AllocationDetailsT>();
  place->memory_id = 1;
  TensorAt(plan, static_cast<size_t>(args[1]))->allocation_info = std::move(place);
  plan->non_const_buffer_sizes = {0, 64};
  args[0] = args[1];
  flatbuffers::FlatBufferBuilder builder;
  program::FinishProgramBuffer(builder, program::CreateProgram(builder, program.get()));
  EXPECT_ERROR(
      LoadForward(Blob(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize())),
      "have memory in common");
}

XIR_TEST(overlaps) {
  const auto found = [](std::vector<PlacedValue> values) {
    return FindOverlap(std::move(values)).has_value();
  };
  const bool written = true, read = false;
  EXPECT(found({{{1, 0, 32}, 0, read}, {{1, 16, 48}, 1, written}}));
  EXPECT(found({{{1, 0, 32}, 0, written}, {{1, 16, 48}, 1, read}}));
  EXPECT(found({{{1, 16, 20}, 0, written}, {{1, 0, 64}, 1, written}}));
  EXPECT(found({{{1, 0, 32}, 0, read}, {{1, 0, 32}, 1, written}}));
  EXPECT(found({{{1, 0, 32}, 0, written}, {{1, 0, 8}, 1, read}}));
  EXPECT(!found({{{1, 0, 32}, 0, read}, {{1, 16, 48}, 1, read}}));
  EXPECT(!found({{{1, 0, 32}, 0, read}, {{2, 16, 48}, 1, written}}));
  EXPECT(!found({{{1, 0, 32}, 0, read}, {{1, 32, 48}, 1, written}}));
  EXPECT(!found({{{1, 0, 32}, 0, written}, {{1, 16, 16}, 1, read}}));
  // The one that reaches farthest is not the one before.
  EXPECT(found({{{1, 0, 64}, 0, read}, {{1, 8, 16}, 1, read}, {{1, 32, 40}, 2, written}}));
  EXPECT(found({{{1, 0, 64}, 0, written}, {{1, 64, 72}, 1, read}, {{1, 68, 70}, 2, written}}));
}

}  // namespace xir::testing
