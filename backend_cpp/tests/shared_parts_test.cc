// Files whose tables share lists, strings and data, so that what they unfold to grows with the
// square of their size. Each ends in one error, after little work and in little memory.

#include <sys/resource.h>

#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "data_generated.h"
#include "graphs.h"
#include "program/decode.h"
#include "testing.h"
#include "verify/verify_graph.h"
#include "xir/program.h"
#include "xir/source.h"

namespace xir::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// So many share a part, and so long it is. More sharers would be too many tables.
constexpr size_t kSharers = 8'000;
constexpr size_t kMany = 100'000;
constexpr char kShared[] = "so much of the file is shared";

struct Plan {
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<Offset<program::FrameList>> frames;
  std::vector<Offset<program::EValue>> values;
  std::vector<Offset<program::Operator>> operators;
  std::vector<Offset<program::BackendDelegate>> delegates;
  std::vector<Offset<program::Instruction>> instructions;
};

struct Parts {
  std::string method = "forward";
  // Of methods beside "forward", which have nothing but these.
  std::vector<Offset<flatbuffers::String>> more_methods;
  Offset<flatbuffers::Vector<int64_t>> arenas;
  std::vector<Offset<program::NamedData>> named_data;
  std::vector<Offset<program::BackendDelegateInlineData>> delegate_data;
};

using Build = std::function<void(FlatBufferBuilder*, Plan*, Parts*)>;

Blob Write(const Build& build) {
  FlatBufferBuilder b;
  Plan plan;
  Parts parts;
  build(&b, &plan, &parts);
  const auto chain = program::CreateChain(b, 0, 0, b.CreateVector(plan.instructions),
                                          plan.frames.empty() ? 0 : b.CreateVector(plan.frames));
  const auto chains = b.CreateVector(std::vector{chain});
  const auto name = b.CreateString(parts.method);
  const auto inputs = b.CreateVector(plan.inputs), outputs = b.CreateVector(plan.outputs);
  const auto values = b.CreateVector(plan.values);
  const auto operators = b.CreateVector(plan.operators);
  const auto delegates = b.CreateVector(plan.delegates);
  const auto sizes =
      parts.arenas.IsNull() ? b.CreateVector(std::vector<int64_t>{0, 64}) : parts.arenas;
  program::ExecutionPlanBuilder method(b);
  method.add_name(name);
  method.add_values(values);
  method.add_inputs(inputs);
  method.add_outputs(outputs);
  method.add_chains(chains);
  method.add_operators(operators);
  method.add_delegates(delegates);
  method.add_non_const_buffer_sizes(sizes);
  std::vector methods{method.Finish()};
  for (const auto& each : parts.more_methods) {
    program::ExecutionPlanBuilder more(b);
    more.add_name(each);
    more.add_non_const_buffer_sizes(sizes);
    methods.push_back(more.Finish());
  }
  const auto plans = b.CreateVector(methods);
  const auto named = b.CreateVector(parts.named_data);
  const auto data = b.CreateVector(parts.delegate_data);
  const auto segments = b.CreateVector(std::vector{program::CreateDataSegment(b)});
  program::ProgramBuilder program(b);
  program.add_execution_plan(plans);
  program.add_backend_delegate_data(data);
  program.add_named_data(named);
  program.add_segments(segments);
  program::FinishProgramBuffer(b, program.Finish());
  return Blob(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
}

double ProcessorSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

long PeakMiB() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// Runs `act` on a small file, and looks at what that takes.
void ExpectLittle(const Build& build, const std::function<void(const Blob& file)>& act) {
  const Blob file = Write(build);
  EXPECT(file.size() < 2 << 20);
  const double start = ProcessorSeconds();
  const long peak = PeakMiB();
  act(file);
  // Under a sanitizer, on a busy machine.
  EXPECT(ProcessorSeconds() - start < 2);
  EXPECT(PeakMiB() - peak < 128);
}

void ExpectQuickRefusal(const Build& build, const char* text = kShared) {
  ExpectLittle(build, [&](const Blob& file) { EXPECT_ERROR(LoadForward(file), text); });
}

Offset<program::EValue> IntValue(FlatBufferBuilder* b) {
  return program::CreateEValue(*b, program::KernelTypes::Int, program::CreateInt(*b, 1).Union());
}

// A list of as many numbers, all of them `number`.
template <typename T>
Offset<flatbuffers::Vector<T>> Long(FlatBufferBuilder* b, T number) {
  return b->CreateVector(std::vector<T>(kMany, number));
}

// Values that are one table.
void AddValues(FlatBufferBuilder* b, Plan* plan, program::KernelTypes kind, Offset<void> value) {
  plan->values.push_back(IntValue(b));
  plan->values.resize(1 + kSharers, program::CreateEValue(*b, kind, value));
}

void AddInstructions(FlatBufferBuilder* b, Plan* plan, program::InstructionArguments kind,
                     Offset<void> call) {
  plan->instructions.resize(kSharers, program::CreateInstruction(*b, kind, call));
}

}  // namespace

// Writers align a list's elements, and an empty one has none.
XIR_TEST(empty_lists_lie_anywhere) {
  const auto empty = [](FlatBufferBuilder* b) {
    b->StartVector(0, sizeof(uint32_t));
    return b->EndVector(0);
  };
  const Blob file = Write([&](FlatBufferBuilder* b, Plan* plan, Parts*) {
    // Each is four bytes, so one of two lies where no int64 and no double could.
    const flatbuffers::uoffset_t lists[] = {empty(b), empty(b)};
    for (const flatbuffers::uoffset_t list : lists) {
      const auto ints = program::CreateIntList(*b, Offset<flatbuffers::Vector<int64_t>>(list));
      const auto reals = program::CreateDoubleList(*b, Offset<flatbuffers::Vector<double>>(list));
      plan->values.push_back(
          program::CreateEValue(*b, program::KernelTypes::IntList, ints.Union()));
      plan->values.push_back(
          program::CreateEValue(*b, program::KernelTypes::DoubleList, reals.Union()));
    }
  });
  size_t misaligned = 0;
  for (const auto* value : *program::GetProgram(file.data())->execution_plan()->Get(0)->values()) {
    const auto* list = value->val_as_IntList();
    if (list != nullptr) misaligned += reinterpret_cast<uintptr_t>(list->items()->Data()) % 8 != 0;
  }
  EXPECT(misaligned == 1);
  EXPECT_OK(LoadForward(file));
}

XIR_TEST(lists_are_not_shared_without_end) {
  using program::KernelTypes;
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    AddValues(b, plan, KernelTypes::IntList,
              program::CreateIntList(*b, Long<int64_t>(b, 0)).Union());
  });
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    AddValues(b, plan, KernelTypes::DoubleList,
              program::CreateDoubleList(*b, Long<double>(b, 0)).Union());
  });
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    AddValues(b, plan, KernelTypes::BoolList,
              program::CreateBoolList(*b, Long<uint8_t>(b, 0)).Union());
  });
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    AddValues(b, plan, KernelTypes::OptionalTensorList,
              program::CreateOptionalTensorList(*b, Long<int32_t>(b, -1)).Union());
  });
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    AddValues(b, plan, KernelTypes::String,
              program::CreateString(*b, b->CreateString(std::string(kMany, 'x'))).Union());
  });
}

// Each has memory of its own, and the method may change each: whoever compared every two of them
// would take the square of the file's size.
XIR_TEST(many_inputs_are_told_apart_in_little_time) {
  constexpr size_t kInputs = 30'000;
  const Blob file = Write([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    const auto sizes = b->CreateVector(std::vector<int32_t>{1});
    const auto order = b->CreateVector(std::vector<uint8_t>{0});
    const auto place = program::CreateAllocationDetails(*b, 1, 0);
    program::TensorBuilder tensor(*b);
    tensor.add_scalar_type(program::ScalarType::Float);
    tensor.add_sizes(sizes);
    tensor.add_dim_order(order);
    tensor.add_allocation_info(place);
    const auto value =
        program::CreateEValue(*b, program::KernelTypes::Tensor, tensor.Finish().Union());
    plan->values = {value, value};
    plan->inputs.resize(kInputs, 0);
    plan->instructions.push_back(
        program::CreateInstruction(*b, program::InstructionArguments::MoveCall,
                                   program::CreateMoveCall(*b, /*move_from=*/1, 0).Union()));
    b->CreateString(std::string(900'000, ' '));  // so many inputs are in proportion to the file
  });
  const auto method = LoadForward(file);
  EXPECT(method.ok());
  std::vector<float> memory(kInputs);
  Shape one;
  one.rank = 1;
  one[0] = 1;
  for (size_t i = 0; i < kInputs; ++i) {
    EXPECT_OK(method.value()->SetInput(i, &memory[i], sizeof(float), one));
  }
  const double start = ProcessorSeconds();
  EXPECT_OK(method.value()->Execute());
  EXPECT(ProcessorSeconds() - start < 1);
}

// Whoever compared each name with those before it would take the square of the file's size.
XIR_TEST(many_missing_kernels_are_named_in_little_time) {
  constexpr size_t kNames = 9'000;
  const Blob file = Write([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    for (uint32_t i = 0; i < kNames; ++i) {
      const auto name = b->CreateString("none::" + std::to_string(100'000 + i));
      plan->operators.push_back(program::CreateOperator(*b, name));
      plan->instructions.push_back(
          program::CreateInstruction(*b, program::InstructionArguments::KernelCall,
                                     program::CreateKernelCall(*b, static_cast<int>(i)).Union()));
    }
  });
  const double start = ProcessorSeconds();
  EXPECT_ERROR(LoadForward(file), "'none::108999'; compile the model");
  EXPECT(ProcessorSeconds() - start < 1);
}

XIR_TEST(calls_are_not_shared_without_end) {
  using program::InstructionArguments;
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    plan->values.push_back(IntValue(b));
    const auto name = b->CreateString("aten::add");
    plan->operators.push_back(program::CreateOperator(*b, name, b->CreateString("out")));
    AddInstructions(b, plan, InstructionArguments::KernelCall,
                    program::CreateKernelCall(*b, 0, Long<int32_t>(b, 0)).Union());
  });
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    plan->values.push_back(IntValue(b));
    plan->operators.push_back(
        program::CreateOperator(*b, b->CreateString(std::string(kMany, 'x'))));
    AddInstructions(b, plan, InstructionArguments::KernelCall,
                    program::CreateKernelCall(*b, 0).Union());
  });
}

namespace {

// Delegates that are one table.
void AddDelegates(size_t count, const Blob& graph, const std::string& backend, FlatBufferBuilder* b,
                  Plan* plan, Parts* parts) {
  b->ForceVectorAlignment(graph.size(), 1, 16);
  parts->delegate_data.push_back(
      program::CreateBackendDelegateInlineData(*b, b->CreateVector(graph)));
  const auto id = b->CreateString(backend);
  const auto where =
      program::CreateBackendDelegateDataReference(*b, program::DataLocation::Inline, /*index=*/0);
  plan->delegates.resize(count, program::CreateBackendDelegate(*b, id, where));
}

// The same of a graph of one node and of many bytes.
void AddDelegates(size_t count, FlatBufferBuilder* b, Plan* plan, Parts* parts) {
  GraphMaker g;
  graph::XNNNode1x1T node;
  node.input_id = g.Input(graph::XNNDatatype::FP32, {1});
  node.output_id = g.Output(graph::XNNDatatype::FP32, {1});
  g.Node(graph::XNodeUnion::XNNAbs, node);
  g.graph()->input_ids.resize(kMany);
  AddDelegates(count, g.Flatbuffer(), "XnnpackBackend", b, plan, parts);
}

}  // namespace

XIR_TEST(delegates_are_not_shared_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts* parts) {
    AddDelegates(kSharers, b, plan, parts);
  });
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts* parts) {
    AddDelegates(1, b, plan, parts);
    plan->values.push_back(IntValue(b));
    AddInstructions(b, plan, program::InstructionArguments::DelegateCall,
                    program::CreateDelegateCall(*b, 0, Long<int32_t>(b, 0)).Union());
  });
}

XIR_TEST(ids_of_delegates_are_not_shared_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts* parts) {
    AddDelegates(kSharers, Blob(1), std::string(kMany, 'x'), b, plan, parts);
  });
}

XIR_TEST(keys_are_not_shared_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts* parts) {
    plan->values.push_back(IntValue(b));
    const auto key = b->CreateString(std::string(kMany, 'x'));
    parts->named_data.resize(1, program::CreateNamedData(*b, key, /*segment_index=*/0));
    // A graph whose constants all have the one key.
    FlatBufferBuilder inner;
    const auto inner_key = inner.CreateString(std::string(kMany, 'x'));
    const std::vector<Offset<graph::ConstantDataOffset>> constants(
        kSharers, graph::CreateConstantDataOffset(inner, UINT64_MAX, 0, inner_key));
    const auto data = inner.CreateVector(constants);
    const auto nodes = inner.CreateVector(std::vector<Offset<graph::XNode>>());
    const auto values = inner.CreateVector(std::vector<Offset<graph::XValue>>());
    graph::XNNGraphBuilder graph(inner);
    graph.add_xnodes(nodes);
    graph.add_xvalues(values);
    graph.add_constant_data(data);
    graph::FinishXNNGraphBuffer(inner, graph.Finish());
    const Blob bytes(inner.GetBufferPointer(), inner.GetBufferPointer() + inner.GetSize());
    AddDelegates(1, bytes, "XnnpackBackend", b, plan, parts);
  });
}

XIR_TEST(names_are_not_nested_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan*, Parts* parts) {
    for (const auto& key : NestedStrings(b, 3000)) {
      parts->named_data.push_back(program::CreateNamedData(*b, key, /*segment_index=*/0));
    }
  });
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan*, Parts* parts) {
    parts->more_methods = NestedStrings(b, 3000);
  });
}

XIR_TEST(arenas_are_not_shared_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan*, Parts* parts) {
    parts->arenas = Long<int64_t>(b, 0);
    for (int i = 0; i < 30; ++i) parts->more_methods.push_back(b->CreateString(std::to_string(i)));
  });
}

XIR_TEST(lists_of_arenas_are_aligned) {
  size_t refused = 0;
  for (const bool shifted : {false, true}) {
    const Blob file = Write([&](FlatBufferBuilder* b, Plan*, Parts* parts) {
      // Something to align the file by.
      b->CreateVector(std::vector<int64_t>{0});
      if (shifted) b->CreateVector(std::vector<uint32_t>());
      b->StartVector(2, sizeof(uint32_t));
      b->PushElement(uint32_t{0});
      b->PushElement(uint32_t{0});
      parts->arenas = b->EndVector(1);
    });
    const Status status = ToStatus(LoadForward(file));
    refused += FailsWith(status, "a list is not aligned in the file") ? 1 : 0;
  }
  EXPECT(refused == 1);
}

XIR_TEST(lists_of_doubles_are_aligned) {
  size_t refused = 0;
  for (const bool shifted : {false, true}) {
    const Blob file = Write([&](FlatBufferBuilder* b, Plan* plan, Parts*) {
      b->CreateVector(std::vector<int64_t>{0});
      if (shifted) b->CreateVector(std::vector<uint32_t>());
      b->StartVector(2, sizeof(uint32_t));
      b->PushElement(uint32_t{0});
      b->PushElement(uint32_t{0});
      const auto list =
          program::CreateDoubleList(*b, Offset<flatbuffers::Vector<double>>(b->EndVector(1)));
      plan->values.push_back(
          program::CreateEValue(*b, program::KernelTypes::DoubleList, list.Union()));
    });
    const Status status = ToStatus(LoadForward(file));
    refused += FailsWith(status, "a list is not aligned in the file") ? 1 : 0;
  }
  EXPECT(refused == 1);
}

XIR_TEST(overloads_are_not_shared_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    const auto name = b->CreateString("aten::add");
    plan->operators.push_back(
        program::CreateOperator(*b, name, b->CreateString(std::string(kMany, 'x'))));
    AddInstructions(b, plan, program::InstructionArguments::KernelCall,
                    program::CreateKernelCall(*b, 0).Union());
  });
}

namespace {

// An element in the first arena, with a name if it is a buffer.
Offset<program::EValue> TensorValue(FlatBufferBuilder* b, const std::string& name = "",
                                    std::vector<int32_t> sizes = {}) {
  const auto extra = name.empty() ? Offset<program::ExtraTensorInfo>()
                                  : program::CreateExtraTensorInfo(*b, 0, b->CreateString(name));
  std::vector<uint8_t> order;
  while (order.size() < sizes.size()) order.push_back(static_cast<uint8_t>(order.size()));
  const auto dims = b->CreateVector(sizes);
  const auto dim_order = b->CreateVector(order);
  const auto place = program::CreateAllocationDetails(*b, /*memory_id=*/1);
  program::TensorBuilder tensor(*b);
  tensor.add_scalar_type(program::ScalarType::Byte);
  tensor.add_sizes(dims);
  tensor.add_dim_order(dim_order);
  tensor.add_allocation_info(place);
  if (!extra.IsNull()) tensor.add_extra_tensor_info(extra);
  return program::CreateEValue(*b, program::KernelTypes::Tensor, tensor.Finish().Union());
}

// Calls of an operator that there is; all are one table.
void CallAbs(FlatBufferBuilder* b, Plan* plan, size_t count, const std::vector<int32_t>& args) {
  const auto name = b->CreateString("aten::abs");
  plan->operators.push_back(program::CreateOperator(*b, name, b->CreateString("out")));
  const auto call = program::CreateKernelCall(*b, 0, b->CreateVector(args));
  plan->instructions.resize(
      count,
      program::CreateInstruction(*b, program::InstructionArguments::KernelCall, call.Union()));
}

}  // namespace

XIR_TEST(lists_are_not_arguments_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    plan->values.push_back(TensorValue(b));
    const auto list = program::CreateTensorList(*b, b->CreateVector(std::vector<int32_t>(20'000)));
    plan->values.push_back(
        program::CreateEValue(*b, program::KernelTypes::TensorList, list.Union()));
    CallAbs(b, plan, 1, std::vector<int32_t>(20'000, 1));
  });
}

XIR_TEST(names_of_buffers_are_not_shared_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    plan->values.resize(kSharers, TensorValue(b, std::string(kMany, 'x')));
  });
}

XIR_TEST(names_of_methods_are_not_copied_for_each_delegate) {
  ExpectLittle(
      [](FlatBufferBuilder* b, Plan* plan, Parts* parts) {
        parts->method = std::string(kMany, 'x');
        AddDelegates(kSharers, Blob(1), "none", b, plan, parts);
      },
      [](const Blob& file) { EXPECT(!Program::FromBytes(file, {}).ok()); });
}

// Each may be moved to, and each is described to callers.
XIR_TEST(inputs_and_outputs_are_not_repeated_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    plan->values.resize(2, TensorValue(b));
    AddInstructions(b, plan, program::InstructionArguments::MoveCall,
                    program::CreateMoveCall(*b, 0, 1).Union());
    plan->inputs.resize(kMany, 1);
  });
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    plan->values.push_back(TensorValue(b));
    plan->outputs.resize(kMany, 0);
  });
}

// A caller takes each output as a tensor of its own.
XIR_TEST(outputs_count_towards_the_limit_of_memory) {
  LoadOptions options;
  options.max_memory = 1 << 20;
  const auto load = [&](size_t outputs) {
    const Blob file = Write([&](FlatBufferBuilder* b, Plan* plan, Parts* parts) {
      plan->values.push_back(TensorValue(b, "", {1 << 19}));
      plan->outputs.resize(outputs, 0);
      parts->arenas = b->CreateVector(std::vector<int64_t>{0, 1 << 19});
    });
    return ToStatus(Program::FromBytes(file, options));
  };
  EXPECT_OK(load(2));
  EXPECT_ERROR(load(3), "outputs: they take more than the limit of 1048576 bytes");
}

XIR_TEST(graphs_do_not_claim_values_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts* parts) {
    GraphMaker g;
    graph::XNNNode1x1T node;
    node.input_id = g.Input(graph::XNNDatatype::FP32, {1});
    node.output_id = g.Output(graph::XNNDatatype::FP32, {1});
    g.Node(graph::XNodeUnion::XNNAbs, node);
    g.graph()->num_externs = 4096;
    AddDelegates(kSharers / 8, g.Flatbuffer(), "XnnpackBackend", b, plan, parts);
    // Room for as many tables.
    parts->named_data.push_back(
        program::CreateNamedData(*b, b->CreateString(std::string(kMany, 'x'))));
  });
}

XIR_TEST(constants_do_not_overlap_without_end) {
  ExpectQuickRefusal([](FlatBufferBuilder* b, Plan* plan, Parts* parts) {
    GraphMaker g;
    graph::XNNNode1x1T node;
    node.input_id = g.Input(graph::XNNDatatype::FP32, {1});
    node.output_id = g.Output(graph::XNNDatatype::FP32, {1});
    g.Node(graph::XNodeUnion::XNNAbs, node);
    FlatBufferBuilder inner;
    inner.ForceVectorAlignment(kMany, 1, 16);
    const auto buffer = graph::CreateBuffer(inner, inner.CreateVector(Blob(kMany)));
    const auto buffers = inner.CreateVector(std::vector(kSharers, buffer));
    const auto none = inner.CreateVector(std::vector<Offset<graph::XNode>>());
    const auto values = inner.CreateVector(std::vector<Offset<graph::XValue>>());
    graph::XNNGraphBuilder graph(inner);
    graph.add_xvalues(values);
    graph.add_xnodes(none);
    graph.add_constant_buffer(buffers);
    graph::FinishXNNGraphBuffer(inner, graph.Finish());
    const Blob bytes(inner.GetBufferPointer(), inner.GetBufferPointer() + inner.GetSize());
    AddDelegates(1, bytes, "XnnpackBackend", b, plan, parts);
  });
}

namespace {

Result<Profile> ProfileOf(const Blob& file) {
  XIR_ASSIGN_OR_RETURN(const auto program, Program::FromBytes(file, {}));
  XIR_ASSIGN_OR_RETURN(const auto method, program->LoadMethod("forward"));
  return method->ExecuteProfiled();
}

}  // namespace

// What is beyond the budget is not known of instructions.
XIR_TEST(places_of_instructions_are_not_shared_without_end) {
  ExpectLittle(
      [](FlatBufferBuilder* b, Plan* plan, Parts*) {
        plan->values.push_back(TensorValue(b));
        plan->values.push_back(TensorValue(b));
        CallAbs(b, plan, kSharers / 2, {0, 1, 1});
        const auto frame = program::CreateFrame(*b, b->CreateString(std::string(kMany, 'x')));
        const auto frames = program::CreateFrameList(*b, b->CreateVector(std::vector{frame}));
        plan->frames.resize(plan->instructions.size(), frames);
      },
      [](const Blob& file) {
        const auto profile = ProfileOf(file);
        EXPECT(profile.ok());
        const std::vector<ProfileEvent>& events = profile.value().events;
        EXPECT(events.size() == kSharers / 2);
        EXPECT(events.front().origins.size() == 1 && events.back().origins.empty());
      });
}

// It takes 64 MiB, and says so.
XIR_TEST(loops_are_not_profiled_without_end) {
  const Blob file = Write([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    plan->values.push_back(TensorValue(b));
    plan->values.push_back(TensorValue(b));
    plan->values.push_back(program::CreateEValue(*b, program::KernelTypes::Bool,
                                                 program::CreateBool(*b, false).Union()));
    CallAbs(b, plan, 1, {0, 1, 1});
    plan->instructions.push_back(program::CreateInstruction(
        *b, program::InstructionArguments::JumpFalseCall,
        program::CreateJumpFalseCall(*b, /*cond_value_index=*/2, 0).Union()));
  });
  const long peak = PeakMiB();
  EXPECT_ERROR(ProfileOf(file), "calls takes over 64 MiB");
  EXPECT(PeakMiB() - peak < 256);
}

XIR_TEST(names_of_external_data_are_not_shared_without_end) {
  const std::string name(kMany, 'x');
  const Blob file = Write([&](FlatBufferBuilder* b, Plan* plan, Parts*) {
    const auto extra = program::CreateExtraTensorInfo(*b, 0, b->CreateString(name),
                                                      program::TensorDataLocation::External);
    program::TensorBuilder tensor(*b);
    tensor.add_scalar_type(program::ScalarType::Float);
    tensor.add_extra_tensor_info(extra);
    AddValues(b, plan, program::KernelTypes::Tensor, tensor.Finish().Union());
  });
  FlatBufferBuilder b;
  // A tensor without dimensions, as those of the program are.
  const auto layout = data::CreateTensorLayout(b, /*scalar_type=*/6);
  const auto entry = data::CreateNamedData(b, b.CreateString(name), 0, layout);
  const auto segments = b.CreateVector(std::vector{data::CreateDataSegment(b, 0, 4)});
  data::FinishFlatTensorBuffer(
      b, data::CreateFlatTensor(b, /*version=*/0, segments, b.CreateVector(std::vector{entry})));
  LoadOptions options;
  const Blob data = WriteDataFile(b, Blob(4));
  options.data = {Source::Copied(data)};
  EXPECT_ERROR(Program::FromBytes(file, options), kShared);
}

namespace {

// A graph of many constants of the same bytes, whose scales are the same ones as well.
Blob SharedScales(bool in_buffer) {
  constexpr uint32_t kChannels = 20'000, kValues = 2'000;
  FlatBufferBuilder b;
  // A list may have more than the channels take.
  const auto scale = b.CreateVector(std::vector<float>(in_buffer ? 1 : 9 * kChannels, 1));
  const auto quantization =
      in_buffer ? graph::CreatePerChannelQuant(b, 0, 0, /*scale_buffer_idx=*/2, kChannels)
                : graph::CreatePerChannelQuant(b, scale, 0, 0, kChannels);
  const auto dims = b.CreateVector(std::vector<uint32_t>{kChannels, 1});
  std::vector<Offset<graph::XValue>> values;
  for (uint32_t id = 0; id < kValues; ++id) {
    graph::XNNTensorValueBuilder tensor(b);
    tensor.add_datatype(graph::XNNDatatype::QCInt8);
    tensor.add_num_dims(2);
    tensor.add_dims(dims);
    tensor.add_constant_buffer_idx(1);
    tensor.add_external_id(UINT32_MAX);
    tensor.add_id_out(id);
    const auto value = graph::CreateXNNQuantizedTensorValue(
        b, tensor.Finish(), graph::XNNQuantParams::PerChannelQuant, quantization.Union());
    values.push_back(
        graph::CreateXValue(b, graph::XValueUnion::XNNQuantizedTensorValue, value.Union()));
  }
  b.ForceVectorAlignment(4 * kChannels, 1, 16);
  const auto bytes = b.CreateVector(Blob(4 * kChannels));
  const auto buffer = graph::CreateBuffer(b, bytes);
  const auto buffers = b.CreateVector(std::vector{buffer, buffer, buffer});
  const auto nodes = b.CreateVector(std::vector<Offset<graph::XNode>>());
  const auto all = b.CreateVector(values);
  graph::XNNGraphBuilder graph(b);
  graph.add_xvalues(all);
  graph.add_xnodes(nodes);
  graph.add_constant_buffer(buffers);
  graph::FinishXNNGraphBuffer(b, graph.Finish());
  return Blob(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
}

}  // namespace

XIR_TEST(scales_are_not_shared_without_end) {
  for (const bool in_buffer : {false, true}) {
    ExpectQuickRefusal([&](FlatBufferBuilder* b, Plan* plan, Parts* parts) {
      AddDelegates(1, SharedScales(in_buffer), "XnnpackBackend", b, plan, parts);
    });
  }
}

// Wherever the budget ends, that is an error, until there is enough.
XIR_TEST(each_charge_may_be_one_too_many) {
  for (const char* golden : {"stock_small.pte", "stock_q8.pte", "stock_qb4.pte"}) {
    const Blob file = ReadGolden(golden);
    const auto verify = [&](uint64_t left) -> Status {
      WorkBudget budget(/*file_size=*/0);
      XIR_RETURN_IF_ERROR(budget.Charge(WorkBudget::kFree - left));
      XIR_ASSIGN_OR_RETURN(const auto view, DecodeProgram(Bytes(file), {}, {UINT64_MAX}, &budget));
      for (const DelegateDescription& delegate : view.methods[0].delegates) {
        XIR_RETURN_IF_ERROR(ToStatus(VerifyGraph(delegate.bytes, view, {UINT64_MAX}, &budget)));
      }
      return {};
    };
    constexpr uint64_t kStep = 8;
    uint64_t left = 0;
    for (; left < WorkBudget::kFree; left += kStep) {
      const Status status = verify(left);
      if (status.ok()) break;
      if (!FailsWith(status, kShared)) return Report(__FILE__, __LINE__, status.message());
    }
    EXPECT(left < WorkBudget::kFree);
  }
}

// The sum of the outputs' bytes is no number.
XIR_TEST(outputs_of_more_bytes_than_can_be_counted_are_refused) {
  LoadOptions options;
  options.max_memory = UINT64_MAX;
  const Blob file = Write([](FlatBufferBuilder* b, Plan* plan, Parts*) {
    const auto sizes = b->CreateVector(std::vector<int32_t>{INT32_MAX, INT32_MAX});
    const auto order = b->CreateVector(std::vector<uint8_t>{0, 1});
    program::TensorBuilder tensor(*b);
    tensor.add_sizes(sizes);
    tensor.add_dim_order(order);
    plan->values.push_back(
        program::CreateEValue(*b, program::KernelTypes::Tensor, tensor.Finish().Union()));
    plan->outputs.resize(8, 0);
  });
  EXPECT_ERROR(Program::FromBytes(file, options), "outputs: they take more than the limit of");
}

}  // namespace xir::testing
