// Mutable buffers: what instances keep, share and reset.

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "golden.h"
#include "testing.h"
#include "xir/xir.h"

namespace xir::testing {
namespace {

using program::ExecutionPlanT;
using program::ProgramT;
using program::TensorT;
using Floats = std::vector<float>;

std::shared_ptr<const Program> Open(const Blob& file) {
  LoadOptions options;
  options.threads = 1;
  auto program = Program::FromBytes(file, options);
  EXPECT_OK(program.ok() ? Status() : std::move(program).status());
  return program.ok() ? std::move(program).value() : nullptr;
}

std::unique_ptr<Method> Take(Result<std::unique_ptr<Method>> method) {
  EXPECT_OK(method.ok() ? Status() : std::move(method).status());
  return method.ok() ? std::move(method).value() : nullptr;
}

// The golden counter begins with 5, and adds one and its input, here zeros, each time.
float Count(Method* method) {
  Floats zeros(3);
  EXPECT_OK(method->SetInput(0, zeros.data(), 12, method->input(0).get<Tensor>()->shape));
  EXPECT_OK(method->Execute());
  return method->output(0).get<Tensor>()->as<float>()[0];
}

// The tensor that is the buffer.
TensorT* Buffer(ExecutionPlanT* plan) {
  for (const auto& value : plan->values) {
    TensorT* tensor = value->val.AsTensor();
    if (tensor != nullptr && tensor->extra_tensor_info != nullptr) return tensor;
  }
  Report(__FILE__, __LINE__, "there is no buffer");
  return nullptr;
}

// The golden counter with a second method, in which the buffer is edited.
Blob WithOther(const std::function<void(ExecutionPlanT*, TensorT*)>& edit) {
  return EditProgram(WithSecondMethod(ReadGolden("stock_state.pte")), [&](ProgramT* program) {
    ExecutionPlanT* plan = program->execution_plan[1].get();
    edit(plan, Buffer(plan));
  });
}

// In an arena of its own, behind all others.
void MoveBuffer(ExecutionPlanT* plan, uint32_t offset) {
  TensorT* buffer = Buffer(plan);
  buffer->allocation_info->memory_id = 2;
  buffer->allocation_info->memory_offset_low = offset;
  plan->non_const_buffer_sizes.push_back(64);
}

// Two methods that plan the buffer in one place of an arena of its own.
Blob Sharing() {
  return WithSecondMethod(EditProgram(ReadGolden("stock_state.pte"), [](ProgramT* program) {
    MoveBuffer(program->execution_plan[0].get(), 16);
  }));
}

}  // namespace

XIR_TEST(instances_keep_what_buffers_hold) {
  const auto program = Open(ReadGolden("stock_state.pte"));
  const auto metadata = program->method_metadata("forward");
  EXPECT(metadata.ok() && metadata.value().buffers.size() == 1);
  EXPECT(metadata.value().buffers[0].name == "count" && metadata.value().buffers[0].nbytes == 12);
  const auto first = Take(program->LoadMethod("forward"));
  const auto second = Take(program->LoadMethod("forward"));
  EXPECT(Count(first.get()) == 6 && Count(first.get()) == 7);
  EXPECT(Count(second.get()) == 6);
  State& state = *first->state();
  EXPECT(state.buffers().size() == 1);
  Floats read(3);
  EXPECT_OK(state.Read("count", read.data(), 12));
  EXPECT(read == Floats(3, 7));
  const Floats hundred(3, 100);
  EXPECT_OK(state.Write("count", hundred.data(), 12));
  EXPECT(Count(first.get()) == 101);
  state.Reset();
  EXPECT(Count(first.get()) == 6);
  EXPECT_ERROR(state.Read("count", read.data(), 8), "has 12 bytes, and 8 were given");
  EXPECT_ERROR(state.Write("k", hundred.data(), 12), "there is no buffer 'k'; there are: count");
}

XIR_TEST(methods_share_a_state) {
  const auto program = Open(Sharing());
  auto state = program->NewState();
  EXPECT_OK(state.ok() ? Status() : std::move(state).status());
  const auto first = Take(program->LoadMethod("forward", state.value()));
  const auto second = Take(program->LoadMethod("second", state.value()));
  EXPECT(Count(first.get()) == 6 && Count(second.get()) == 7 && Count(first.get()) == 8);
  const auto alone = Take(program->LoadMethod("second"));
  EXPECT(Count(alone.get()) == 6);
  EXPECT_ERROR(Open(Sharing())->LoadMethod("forward", state.value()),
               "the state is not this program's");
  EXPECT_ERROR(program->LoadMethod("forward", nullptr), "the state is not this program's");
}

// A method's own state has no place for what others keep.
XIR_TEST(states_of_one_method_serve_no_other) {
  const auto program = Open(Sharing());
  const auto first = Take(program->LoadMethod("forward"));
  const auto again = Take(program->LoadMethod("forward", first->state()));
  EXPECT(Count(first.get()) == 6 && Count(again.get()) == 7);
  EXPECT_ERROR(program->LoadMethod("second", first->state()),
               "method 'second': the state is another method's alone");
}

// Each thread loads methods and unloads them while others run, read and write.
XIR_TEST(threads_share_a_state) {
  constexpr int kThreads = 4, kLoads = 5, kRuns = 20;
  const auto program = Open(Sharing());
  auto made = program->NewState();
  EXPECT_OK(made.ok() ? Status() : std::move(made).status());
  const std::shared_ptr<State> state = std::move(made).value();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Floats zeros(3), read(3);
      for (int i = 0; i < kLoads; ++i) {
        auto method = program->LoadMethod(t % 2 == 0 ? "forward" : "second", state);
        if (!method.ok()) {
          ++wrong;
          continue;
        }
        Method& counter = *method.value();
        for (int run = 0; run < kRuns; ++run) {
          const Shape& shape = counter.input(0).get<Tensor>()->shape;
          if (!counter.SetInput(0, zeros.data(), 12, shape).ok() || !counter.Execute().ok() ||
              !state->Read("count", read.data(), 12).ok() || read != Floats(3, read[0])) {
            ++wrong;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT(wrong == 0);
  Floats read(3);
  EXPECT_OK(state->Read("count", read.data(), 12));
  EXPECT(read == Floats(3, 5 + kThreads * kLoads * kRuns));
}

XIR_TEST(methods_that_cannot_share_a_state) {
  const auto refused = [](const Blob& file, const char* text) {
    const auto program = Open(file);
    EXPECT_ERROR(program->NewState(), text);
    // Each for itself they run.
    EXPECT(Count(Take(program->LoadMethod("forward")).get()) == 6);
  };
  refused(WithOther([](ExecutionPlanT* plan, TensorT*) { MoveBuffer(plan, 0); }),
          "in another place in method 'second'");
  refused(WithOther([](ExecutionPlanT*, TensorT* buffer) {
            buffer->dim_order = {0}, buffer->sizes = {2};
          }),
          "of another type or in another place");
  refused(WithOther([](ExecutionPlanT* plan, TensorT* buffer) {
            const auto place = *buffer->allocation_info;
            MoveBuffer(plan, 0);
            for (const auto& value : plan->values) {
              TensorT* tensor = value->val.AsTensor();
              if (tensor == nullptr || tensor == buffer || tensor->allocation_info == nullptr)
                continue;
              *tensor->allocation_info = place;
              break;
            }
            buffer->extra_tensor_info->fully_qualified_name = "other";
          }),
          "plans other values where buffer 'count' is");
}

XIR_TEST(hostile_buffers) {
  const auto edited = [](const std::function<void(ExecutionPlanT*, TensorT*)>& edit) {
    return EditProgram(ReadGolden("stock_state.pte"), [&](ProgramT* program) {
      ExecutionPlanT* plan = program->execution_plan[0].get();
      edit(plan, Buffer(plan));
    });
  };
  // Two of one name in one place are one; elsewhere they are not, and others may not overlap.
  const auto with_copy = [&](uint32_t distance, const char* name) {
    return edited([&](ExecutionPlanT* plan, TensorT* buffer) {
      auto copy = std::make_unique<program::EValueT>();
      TensorT tensor(*buffer);
      tensor.allocation_info->memory_offset_low += distance;
      tensor.extra_tensor_info->fully_qualified_name = name;
      copy->val.Set(std::move(tensor));
      plan->values.push_back(std::move(copy));
    });
  };
  EXPECT_OK(Open(with_copy(0, "count"))->LoadMethod("forward"));
  EXPECT_ERROR(Open(with_copy(4, "count"))->LoadMethod("forward"), "in another place");
  EXPECT_ERROR(Open(with_copy(0, "other"))->LoadMethod("forward"),
               "buffers 'count' and 'other' overlap");
  EXPECT_ERROR(Open(with_copy(4, "other"))->LoadMethod("forward"),
               "buffers 'count' and 'other' overlap");
  // Without a name it is kept and reset, and cannot be asked for.
  const auto method = Take(Open(edited([](ExecutionPlanT*, TensorT* buffer) {
                             buffer->extra_tensor_info.reset();
                           }))->LoadMethod("forward"));
  EXPECT(Count(method.get()) == 6 && Count(method.get()) == 7 &&
         method->state()->buffers().empty());
  method->state()->Reset();
  EXPECT(Count(method.get()) == 6);
  // Without contents it begins as zeros.
  const auto zeros = Take(Open(edited([](ExecutionPlanT*, TensorT* buffer) {
                            buffer->data_buffer_idx = 0;
                          }))->LoadMethod("forward"));
  EXPECT(Count(zeros.get()) == 1);
  zeros->state()->Reset();
  EXPECT(Count(zeros.get()) == 1);
  EXPECT_ERROR(
      Program::FromBytes(
          edited([](ExecutionPlanT*, TensorT* buffer) { buffer->data_buffer_idx = 7; }), {}),
      "does not exist");
}

XIR_TEST(state_by_the_c_interface) {
  const Blob file = Sharing();
  xir_source source = {};
  source.size = sizeof(source);
  source.kind = XIR_SOURCE_COPIED;
  source.data = file.data();
  source.length = file.size();
  xir_program* program = nullptr;
  EXPECT(xir_program_load(&source, nullptr, &program) == XIR_OK);
  xir_state* state = nullptr;
  EXPECT(xir_state_new(program, &state) == XIR_OK);
  EXPECT(xir_state_num_buffers(state) == 1);
  const char* name = nullptr;
  xir_value_info info;
  EXPECT(xir_state_buffer(state, 0, &name, &info) == XIR_OK);
  EXPECT(std::string(name) == "count" && info.nbytes == 12 && info.sizes[0] == 3);
  EXPECT(xir_state_buffer(state, 1, &name, &info) == XIR_INVALID_ARGUMENT);
  const auto count = [](xir_method* method) {
    Floats zeros(3);
    const int64_t sizes[] = {3};
    EXPECT(xir_method_set_input(method, 0, zeros.data(), 12, sizes, 1) == XIR_OK);
    EXPECT(xir_method_execute(method) == XIR_OK);
    xir_tensor out;
    EXPECT(xir_method_output(method, 0, &out) == XIR_OK);
    return *static_cast<const float*>(out.data);
  };
  xir_method *first = nullptr, *second = nullptr;
  EXPECT(xir_method_load_with_state(program, "forward", state, &first) == XIR_OK);
  EXPECT(xir_method_load_with_state(program, "second", state, &second) == XIR_OK);
  xir_state_free(state);
  EXPECT(count(first) == 6 && count(second) == 7);
  EXPECT(xir_method_state(second, &state) == XIR_OK);
  Floats held(3);
  EXPECT(xir_state_read(state, "count", held.data(), 12) == XIR_OK && held[2] == 7);
  held.assign(3, 50);
  EXPECT(xir_state_write(state, "count", held.data(), 12) == XIR_OK && count(first) == 51);
  EXPECT(xir_state_reset(state) == XIR_OK && count(second) == 6);
  EXPECT(xir_state_read(state, "k", held.data(), 12) == XIR_NOT_FOUND);
  EXPECT(xir_state_read(nullptr, "k", held.data(), 12) == XIR_INVALID_ARGUMENT);
  xir_state_free(state);
  xir_method_free(first);
  xir_method_free(second);
  xir_program_free(program);
}

}  // namespace xir::testing
