// What instances of a method share, and what each has for itself.

#include <atomic>
#include <cstring>
#include <thread>

#include "golden.h"
#include "graphs.h"
#include "program/decode.h"
#include "testing.h"
#include "verify/verify_graph.h"
#include "xir/library.h"
#include "xnnpack/shared_weights.h"

namespace xir::testing {
namespace {

using program::ProgramT;

std::shared_ptr<const Program> Open(const Blob& file) {
  LoadOptions options;
  options.xnnpack_paths = PythonLibraryPaths();
  options.threads = 1;
  auto program = Program::FromBytes(file, options);
  EXPECT_OK(program.ok() ? Status() : std::move(program).status());
  return program.ok() ? std::move(program).value() : nullptr;
}

// Runs an instance on the golden input; the first output's bytes.
Result<std::vector<uint8_t>> Run(Method* method, const runner::Array& input) {
  XIR_RETURN_IF_ERROR(
      method->SetInput(0, const_cast<uint8_t*>(input.data.data()), input.data.size(), input.shape));
  XIR_RETURN_IF_ERROR(method->Execute());
  const Tensor& output = *method->output(0).get<Tensor>();
  return std::vector<uint8_t>(output.as<uint8_t>(), output.as<uint8_t>() + output.nbytes());
}

// Two linear layers, one after the other, whose filters are one constant in the file: 256 rows of
// 32, and 32 rows of 256.
Blob LinearsOfOneConstant() {
  using Type = GraphMaker::Datatype;
  GraphMaker g;
  const uint32_t hidden = g.Internal(Type::FP32, {1, 256});
  graph::XNNFullyConnectedT node;
  node.bias_id = UINT32_MAX;
  node.input1_id = g.Input(Type::FP32, {1, 32});
  node.filter_id = g.Constant(Type::FP32, {256, 32});
  node.output_id = hidden;
  g.Node(graph::XNodeUnion::XNNFullyConnected, node);
  node.input1_id = hidden;
  node.filter_id = g.Constant(Type::FP32, {32, 256});
  node.output_id = g.Output(Type::FP32, {1, 32});
  g.Node(graph::XNodeUnion::XNNFullyConnected, node);
  Blob file = g.Program();
  const auto* data = program::GetProgram(file.data())->backend_delegate_data()->Get(0)->data();
  const auto* buffers = graph::GetXNNGraph(data->data())->constant_buffer();
  const auto* table = reinterpret_cast<const uint8_t*>(buffers->Get(1));
  auto* slot = const_cast<uint8_t*>(buffers->Data()) + 2 * sizeof(flatbuffers::uoffset_t);
  flatbuffers::WriteScalar(slot, static_cast<flatbuffers::uoffset_t>(table - slot));
  return file;
}

}  // namespace

// Their packed weights differ, though XNNPACK asks for both by one address and with one seed.
XIR_TEST(filters_at_one_address_are_not_shared) {
  const Blob file = LinearsOfOneConstant();
  WorkBudget budget(UINT64_MAX);
  const auto program = DecodeProgram(Bytes(file), {}, {UINT64_MAX}, &budget);
  EXPECT_OK(program.ok() ? Status() : Fail(Code::kInternal, "it is refused"));
  const auto graph = VerifyGraph(program.value().methods[0].delegates[0].bytes, program.value(),
                                 {UINT64_MAX}, &budget);
  EXPECT_OK(graph.ok() ? Status() : Fail(Code::kInternal, "its graph is refused"));
  EXPECT(graph.value().constants[1].data() == graph.value().constants[2].data());
  EXPECT(DescribeWeights(graph.value()).empty());
}

XIR_TEST(instances_share_weights) {
  for (const std::string name :
       {"stock_small", "stock_many", "stock_q8", "stock_qd8", "stock_qb4"}) {
    const auto program = Open(ReadGolden(name + ".pte"));
    const runner::Array input = ReadGoldenArray(name + ".input_0.npy");
    EXPECT(program->packed_bytes() == 0);
    auto first = program->LoadMethod("forward");
    EXPECT_OK(first.ok() ? Status() : std::move(first).status());
    const size_t packed = program->packed_bytes();
    EXPECT(packed > 0);
    auto second = program->LoadMethod("forward");
    EXPECT_OK(second.ok() ? Status() : std::move(second).status());
    EXPECT(program->packed_bytes() == packed);
    auto of_first = Run(first.value().get(), input);
    EXPECT(of_first.ok());
    first.value().reset();
    auto of_second = Run(second.value().get(), input);
    EXPECT(of_second.ok() && of_second.value() == of_first.value());
  }
}

XIR_TEST(methods_share_weights) {
  for (const std::string name :
       {"stock_small", "stock_many", "stock_q8", "stock_qd8", "stock_qb4"}) {
    const auto program = Open(WithSecondMethod(ReadGolden(name + ".pte")));
    const runner::Array input = ReadGoldenArray(name + ".input_0.npy");
    auto first = program->LoadMethod("forward");
    EXPECT(first.ok());
    const size_t packed = program->packed_bytes();
    auto second = program->LoadMethod("second");
    EXPECT(second.ok());
    EXPECT(packed > 0 && program->packed_bytes() == packed);
    auto of_first = Run(first.value().get(), input);
    first.value().reset();
    auto of_second = Run(second.value().get(), input);
    EXPECT(of_first.ok() && of_second.ok() && of_second.value() == of_first.value());
  }
}

// The same constants, and other scales of activations, which XNNPACK multiplies into what it packs.
XIR_TEST(methods_share_no_weights_that_differ) {
  const Blob golden = ReadGolden("stock_q8.pte");
  const auto rescale = [](graph::XNNGraphT* graph) {
    for (const auto& value : graph->xvalues) {
      auto* quantized = value->xvalue_union.AsXNNQuantizedTensorValue();
      if (quantized == nullptr || quantized->tensor_value->constant_buffer_idx != 0) continue;
      if (auto* params = quantized->quant_params.AsPerTensorQuant()) params->scale *= 1.5F;
    }
  };
  const runner::Array input = ReadGoldenArray("stock_q8.input_0.npy");
  std::vector<std::vector<uint8_t>> expected;
  for (const Blob& file : {EditGraph(golden, rescale), golden}) {
    auto method = Open(file)->LoadMethod("forward");
    auto output = Run(method.value().get(), input);
    EXPECT(output.ok());
    expected.push_back(std::move(output).value());
  }
  EXPECT(expected[0] != expected[1]);
  // Only the first method's graph is changed.
  const auto program = Open(EditGraph(WithSecondMethod(golden), rescale));
  for (const size_t i : {0, 1}) {
    auto method = program->LoadMethod(i == 0 ? "forward" : "second");
    EXPECT(method.ok());
    auto output = Run(method.value().get(), input);
    EXPECT(output.ok() && output.value() == expected[i]);
  }
}

XIR_TEST(instances_have_memory_of_their_own) {
  const auto program = Open(ReadGolden("stock_dynamic.pte"));
  const runner::Array full = ReadGoldenArray("stock_dynamic.input_0.npy");
  auto first = program->LoadMethod("forward");
  auto second = program->LoadMethod("forward");
  auto of_first = Run(first.value().get(), full);
  runner::Array one = full;
  one.shape[0] = 1;
  EXPECT(Run(second.value().get(), one).ok());
  const Tensor& output = *first.value()->output(0).get<Tensor>();
  EXPECT(output.shape[0] == full.shape[0]);
  EXPECT(std::memcmp(output.data, of_first.value().data(), output.nbytes()) == 0);
}

XIR_TEST(instances_outlive_their_program) {
  auto program = Open(ReadGolden("stock_small.pte"));
  auto method = program->LoadMethod("forward");
  program.reset();
  EXPECT(Run(method.value().get(), ReadGoldenArray("stock_small.input_0.npy")).ok());
}

XIR_TEST(metadata_is_read_without_packing) {
  const Blob unknown = EditProgram(ReadGolden("stock_small.pte"), [](ProgramT* p) {
    p->execution_plan[0]->operators[0]->name = "aten::nothing";
  });
  const auto program = Open(unknown);
  const auto metadata = program->method_metadata("forward");
  EXPECT(metadata.ok());
  EXPECT(metadata.value().num_delegates == 2);
  EXPECT(metadata.value().kernel_names == std::vector<std::string>{"aten::nothing.out"});
  EXPECT(metadata.value().inputs.size() == 1 && metadata.value().inputs[0].kind == "tensor");
  EXPECT(metadata.value().inputs[0].shape == ReadGoldenArray("stock_small.input_0.npy").shape);
  EXPECT(metadata.value().inputs[0].dim_order == std::vector<uint8_t>({0, 1, 2, 3}));
  EXPECT(program->packed_bytes() == 0);
  EXPECT_ERROR(program->method_metadata("backward"), "it has: forward");
  EXPECT_ERROR(program->LoadMethod("forward"), "no kernel for 'aten::nothing.out'");
}

XIR_TEST(threads_load_run_and_unload) {
  for (const char* name : {"stock_small", "stock_q8", "stock_qd8"}) {
    const Blob file = ReadGolden(std::string(name) + ".pte");
    const runner::Array input = ReadGoldenArray(std::string(name) + ".input_0.npy");
    auto program = Open(file);
    auto alone = program->LoadMethod("forward");
    const std::vector<uint8_t> expected = Run(alone.value().get(), input).value();
    alone.value().reset();
    program = Open(file);  // with nothing packed yet
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        // Odd threads have a program of their own.
        const auto own = t % 2 == 0 ? program : Open(file);
        for (int repeat = 0; repeat < 4; ++repeat) {
          if (own->method_metadata("forward").value().inputs.size() != 1) ++wrong;
          auto method = own->LoadMethod("forward");
          if (!method.ok()) {
            ++wrong;
            continue;
          }
          for (int run = 0; run < 3; ++run) {
            auto output = Run(method.value().get(), input);
            if (!output.ok() || output.value() != expected) ++wrong;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT(wrong == 0);
  }
}

}  // namespace xir::testing
