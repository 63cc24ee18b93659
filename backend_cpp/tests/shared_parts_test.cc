// Files whose tables share lists, strings and data, so that what they unfold to grows with the
// square of their size. Each ends in one error, after little work and in little memory.

#include <sys/resource.h>

#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "graphs.h"
#include "testing.h"
#include "xir/program.h"

namespace xir::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// So many share a part, and so long it is. More sharers would be too many tables.
constexpr size_t kSharers = 8'000;
constexpr size_t kMany = 100'000;
constexpr char kShared[] = "so much of the file is shared";

struct Plan {
  std::vector<Offset<program::EValue>> values;
  std::vector<Offset<program::Operator>> operators;
  std::vector<Offset<program::BackendDelegate>> delegates;
  std::vector<Offset<program::Instruction>> instructions;
};

struct Parts {
  std::vector<Offset<program::NamedData>> named_data;
  std::vector<Offset<program::BackendDelegateInlineData>> delegate_data;
};

using Build = std::function<void(FlatBufferBuilder*, Plan*, Parts*)>;

Blob Write(const Build& build) {
  FlatBufferBuilder b;
  Plan plan;
  Parts parts;
  build(&b, &plan, &parts);
  const auto chain =
      program::CreateChain(b, 0, 0, b.CreateVector(plan.instructions), /*stacktrace=*/0);
  const auto chains = b.CreateVector(std::vector{chain});
  const auto name = b.CreateString("forward");
  const auto values = b.CreateVector(plan.values);
  const auto operators = b.CreateVector(plan.operators);
  const auto delegates = b.CreateVector(plan.delegates);
  const auto sizes = b.CreateVector(std::vector<int64_t>{0, 64});
  program::ExecutionPlanBuilder method(b);
  method.add_name(name);
  method.add_values(values);
  method.add_chains(chains);
  method.add_operators(operators);
  method.add_delegates(delegates);
  method.add_non_const_buffer_sizes(sizes);
  const auto plans = b.CreateVector(std::vector{method.Finish()});
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

void ExpectQuickRefusal(const Build& build) {
  const Blob file = Write(build);
  EXPECT(file.size() < 2 << 20);
  const double start = ProcessorSeconds();
  const long peak = PeakMiB();
  EXPECT_ERROR(LoadForward(file), kShared);
  // Under a sanitizer, on a busy machine.
  EXPECT(ProcessorSeconds() - start < 2);
  EXPECT(PeakMiB() - peak < 128);
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

// Delegates that are one table, of a graph of one node and of many bytes.
void AddDelegates(size_t count, FlatBufferBuilder* b, Plan* plan, Parts* parts) {
  GraphMaker g;
  graph::XNNNode1x1T node;
  node.input_id = g.Input(graph::XNNDatatype::FP32, {1});
  node.output_id = g.Output(graph::XNNDatatype::FP32, {1});
  g.Node(graph::XNodeUnion::XNNAbs, node);
  g.graph()->input_ids.resize(kMany);
  const Blob graph = g.Flatbuffer();
  b->ForceVectorAlignment(graph.size(), 1, 16);
  parts->delegate_data.push_back(
      program::CreateBackendDelegateInlineData(*b, b->CreateVector(graph)));
  const auto id = b->CreateString("XnnpackBackend");
  const auto where =
      program::CreateBackendDelegateDataReference(*b, program::DataLocation::Inline, /*index=*/0);
  plan->delegates.resize(count, program::CreateBackendDelegate(*b, id, where));
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
    b->ForceVectorAlignment(bytes.size(), 1, 16);
    parts->delegate_data.push_back(
        program::CreateBackendDelegateInlineData(*b, b->CreateVector(bytes)));
    const auto id = b->CreateString("XnnpackBackend");
    const auto where =
        program::CreateBackendDelegateDataReference(*b, program::DataLocation::Inline, /*index=*/0);
    plan->delegates.push_back(program::CreateBackendDelegate(*b, id, where));
  });
}

}  // namespace xir::testing
