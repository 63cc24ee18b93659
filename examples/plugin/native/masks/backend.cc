// The backend of the delegates that xir_masks compiles: chains of elementwise operations on
// integers and bools.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "masks/program.h"
#include "masks/schedule.h"
#include "xir/kernel_library.h"

namespace masks {
namespace {

using xir::Code;
using xir::DelegateOperator;
using xir::Fail;
using xir::KernelArgs;
using xir::KernelContext;
using xir::Result;
using xir::Shape;
using xir::Status;
using xir::Tensor;

constexpr size_t kBlocksPerTask = 8;  // enough work to hand to a thread

Tensor& TensorAt(KernelArgs args, uint32_t index) { return *args[index]->get<Tensor>(); }

class Plan final : public xir::DelegatePlan {
 public:
  explicit Plan(Program program) : program_(std::move(program)) {}

  const Program& program() const { return program_; }

  Result<std::vector<xir::Value*>> Bind(KernelArgs args) const override {
    if (args.size() < program_.num_arguments) {
      return Fail(Code::kInvalidProgram, "the call has ", args.size(), " arguments, not ",
                  program_.num_arguments);
    }
    std::vector<xir::Value*> written;
    for (const Value& value : program_.values) {
      for (const uint32_t index : {value.argument, value.result}) {
        if (index == kNone) continue;
        XIR_RETURN_IF_ERROR(Check(*args[index], value).In("argument " + std::to_string(index)));
      }
      if (value.result != kNone) written.push_back(args[value.result]);
    }
    return written;
  }

 private:
  static Status Check(const xir::Value& argument, const Value& value) {
    const auto* tensor = argument.get<Tensor>();
    if (tensor == nullptr) {
      return Fail(Code::kInvalidProgram, "it is a ", KindName(argument), ", not a tensor");
    }
    if (tensor->dtype != value.dtype || tensor->bound != value.largest) {
      return Fail(Code::kInvalidProgram, "it is a ", Name(tensor->dtype), " tensor of shape ",
                  tensor->bound.ToString(), ", not a ", Name(value.dtype), " one of ",
                  value.largest.ToString());
    }
    if (tensor->is_contiguous()) return {};
    return Fail(Code::kUnsupported, "its dimensions are in another order than in memory");
  }

  Program program_;
};

// Fills a register with `count` elements of a value that a loop repeats, from element `first` of
// the loop.
template <typename T>
void Fill(const Load& load, const uint8_t* memory, size_t first, size_t count, uint8_t* to) {
  const auto* from = reinterpret_cast<const T*>(memory);
  auto* result = reinterpret_cast<T*>(to);
  if (load.sizes.empty()) {
    std::fill_n(result, count, *from);
    return;
  }
  const size_t last = load.sizes.size() - 1;
  while (count > 0) {
    size_t offset = 0;
    size_t rest = first;
    size_t in_last = 0;
    for (size_t i = last + 1; i-- > 0; rest /= load.sizes[i]) {
      const size_t index = rest % load.sizes[i];
      if (i == last) in_last = index;
      offset += index * load.steps[i];
    }
    const size_t run = std::min(count, load.sizes[last] - in_last);
    if (load.steps[last] == 0) {
      std::fill_n(result, run, from[offset]);
    } else {
      std::memcpy(result, from + offset, run * sizeof(T));
    }
    result += run;
    first += run;
    count -= run;
  }
}

void Fill(const Load& load, size_t element_size, const uint8_t* memory, size_t first, size_t count,
          uint8_t* to) {
  if (element_size == 1) return Fill<uint8_t>(load, memory, first, count, to);
  if (element_size == 4) return Fill<uint32_t>(load, memory, first, count, to);
  Fill<uint64_t>(load, memory, first, count, to);
}

class Delegate final : public xir::Delegate {
 public:
  Delegate(const Program& program, const xir::BackendOptions& options, bool profile)
      : program_(program), options_(options), profile_(profile) {}

  // Plans for the largest shapes, so that the first execution need not.
  Status Start() {
    std::vector<Shape> largest;
    for (const Value& value : program_.values) largest.push_back(value.largest);
    XIR_RETURN_IF_ERROR(Reschedule(std::move(largest)));
    num_loops_ = schedule_.loops.size();
    return {};
  }

  Status Execute(KernelContext& context, KernelArgs args) override {
    XIR_RETURN_IF_ERROR(TakeShapes(args));
    XIR_RETURN_IF_ERROR(TakeMemory(args));
    times_.clear();
    for (const Loop& loop : schedule_.loops) {
      const auto before = std::chrono::steady_clock::now();
      Run(context, loop);
      if (!profile_) continue;
      const auto taken = std::chrono::steady_clock::now() - before;
      times_.push_back(static_cast<uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(taken).count()));
    }
    for (const size_t index : schedule_.copied_results) {
      const Value& value = program_.values[index];
      Tensor& result = TensorAt(args, value.result);
      if (result.nbytes() > 0) std::memmove(result.data, memory_[index], result.nbytes());
    }
    return {};
  }

  // The loops at the largest shapes.
  Result<std::vector<DelegateOperator>> Operators() const override {
    std::vector<DelegateOperator> operators;
    for (const Loop& loop : schedule_.loops) {
      DelegateOperator& each = operators.emplace_back();
      const size_t count = loop.values.size();
      each.name = "Masks (" + std::to_string(count) + (count == 1 ? " operation)" : " operations)");
      each.node = loop.values.back();
      each.debug_handle = program_.values[each.node].debug_handle;
      for (const size_t index : loop.values) {
        if (schedule_.stored[index]) each.result_bytes += BytesOf(index);
      }
      for (const Load& load : loop.loads) {
        if (program_.values[load.value].kind == Value::Kind::kConstant) {
          each.constant_bytes += BytesOf(load.value);
        }
      }
    }
    return operators;
  }

  // None where other shapes make other loops.
  Status ReadOperatorTimes(std::vector<uint64_t>* microseconds) const override {
    *microseconds = times_.size() == num_loops_ ? times_ : std::vector<uint64_t>();
    return {};
  }

 private:
  size_t SizeOf(size_t index) const { return ElementSize(program_.values[index].dtype); }
  size_t BytesOf(size_t index) const {
    return static_cast<size_t>(schedule_.shapes[index].numel()) * SizeOf(index);
  }

  Status TakeShapes(KernelArgs args) {
    bool changed = false;
    for (size_t i = 0; i < program_.values.size() && !changed; ++i) {
      const Value& value = program_.values[i];
      changed =
          value.argument != kNone && TensorAt(args, value.argument).shape != schedule_.shapes[i];
    }
    if (!changed) return {};
    std::vector<Shape> shapes(program_.values.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Value& value = program_.values[i];
      if (value.argument != kNone) shapes[i] = TensorAt(args, value.argument).shape;
    }
    return Reschedule(std::move(shapes));
  }

  // Schedules, and allocates what the loops store for one another, and their registers.
  Status Reschedule(std::vector<Shape> shapes) {
    XIR_ASSIGN_OR_RETURN(Schedule schedule, MakeSchedule(program_, std::move(shapes)));
    schedule_ = std::move(schedule);
    scratch_offsets_.assign(program_.values.size(), 0);
    size_t scratch = 0;
    for (size_t i = 0; i < program_.values.size(); ++i) {
      if (!schedule_.stored[i] || program_.values[i].result != kNone) continue;
      scratch_offsets_[i] = scratch;
      scratch +=
          (BytesOf(i) + xir::kBufferAlignment - 1) / xir::kBufferAlignment * xir::kBufferAlignment;
    }
    size_t registers = 0;
    for (const Loop& loop : schedule_.loops) {
      registers = std::max(registers, NumTasks(loop) * loop.num_registers * kRegisterBytes);
    }
    if (scratch + registers > options_.max_memory) {
      return Fail(Code::kResource, "it takes ", scratch + registers, " bytes; the limit is ",
                  options_.max_memory);
    }
    scratch_ = xir::AllocateBuffer(scratch, options_.allocator);
    registers_ = xir::AllocateBuffer(registers, options_.allocator);
    if (scratch_ == nullptr || registers_ == nullptr) {
      return Fail(Code::kResource, "out of memory");
    }
    return {};
  }

  Status TakeMemory(KernelArgs args) {
    memory_.assign(program_.values.size(), nullptr);
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const Value& value = program_.values[i];
      if (value.result != kNone) {
        Tensor& result = TensorAt(args, value.result);
        XIR_RETURN_IF_ERROR(result.Resize(schedule_.shapes[i]).In("a result"));
        if (result.nbytes() > result.capacity) {
          return Fail(Code::kInvalidArgument, "a result of shape ", result.shape.ToString(),
                      " does not fit ", result.capacity, " bytes");
        }
      }
      if (value.argument != kNone) {
        memory_[i] = TensorAt(args, value.argument).as<uint8_t>();
      } else if (value.kind == Value::Kind::kConstant) {
        memory_[i] = program_.constants.get() + value.constant;
      } else if (schedule_.owners[i] != i) {
        memory_[i] = memory_[schedule_.owners[i]];
      } else if (schedule_.stored[i]) {
        memory_[i] = value.result != kNone ? TensorAt(args, value.result).as<uint8_t>()
                                           : scratch_.get() + scratch_offsets_[i];
      }
    }
    return {};
  }

  size_t NumBlocks(const Loop& loop) const {
    return (static_cast<size_t>(loop.shape.numel()) + kBlock - 1) / kBlock;
  }
  size_t NumTasks(const Loop& loop) const {
    const size_t wanted = (NumBlocks(loop) + kBlocksPerTask - 1) / kBlocksPerTask;
    return std::max<size_t>(1, std::min(wanted, options_.thread_pool->num_threads()));
  }

  void Run(KernelContext& context, const Loop& loop) {
    const size_t num_blocks = NumBlocks(loop);
    if (num_blocks == 0) return;
    const size_t num_tasks = NumTasks(loop);
    context.ParallelFor(num_tasks, [&](size_t task) {
      uint8_t* registers = registers_.get() + task * loop.num_registers * kRegisterBytes;
      for (const Load& load : loop.loads) {
        if (load.uniform) FillRegister(load, 0, kBlock, registers);
      }
      const size_t end = num_blocks * (task + 1) / num_tasks;
      for (size_t block = num_blocks * task / num_tasks; block < end; ++block) {
        RunBlock(loop, block * kBlock, registers);
      }
    });
  }

  void FillRegister(const Load& load, size_t first, size_t count, uint8_t* registers) const {
    Fill(load, SizeOf(load.value), memory_[load.value], first, count,
         registers + load.to * kRegisterBytes);
  }

  void RunBlock(const Loop& loop, size_t first, uint8_t* registers) const {
    const size_t count = std::min(kBlock, static_cast<size_t>(loop.shape.numel()) - first);
    const auto at = [&](const Place& place) -> uint8_t* {
      switch (place.kind) {
        case Place::Kind::kMemory:
          return memory_[place.index] + first * SizeOf(place.index);
        case Place::Kind::kRegister:
          return registers + place.index * kRegisterBytes;
        default:
          return nullptr;
      }
    };
    for (const Step& step : loop.steps) {
      if (step.function == nullptr) {
        FillRegister(loop.loads[step.load], first, count, registers);
        continue;
      }
      step.function(at(step.operands[0]), at(step.operands[1]), at(step.operands[2]),
                    at(step.result), count);
    }
  }

  const Program& program_;
  const xir::BackendOptions& options_;
  const bool profile_;
  Schedule schedule_;
  size_t num_loops_ = 0;  // at the largest shapes
  std::vector<size_t> scratch_offsets_;
  xir::AlignedBuffer scratch_;
  xir::AlignedBuffer registers_;
  std::vector<uint8_t*> memory_;  // by value
  std::vector<uint64_t> times_;
};

class Backend final : public xir::Backend {
 public:
  explicit Backend(const xir::BackendOptions& options) : options_(options) {}

  Result<std::unique_ptr<const xir::DelegatePlan>> Prepare(const xir::DelegateData& data) override {
    XIR_ASSIGN_OR_RETURN(Program program, Program::Read(data, options_.max_memory));
    return std::unique_ptr<const xir::DelegatePlan>(std::make_unique<Plan>(std::move(program)));
  }

  Result<std::vector<std::unique_ptr<xir::Delegate>>> Instantiate(
      xir::Span<const xir::PlannedDelegate> delegates, bool profile) override {
    std::vector<std::unique_ptr<xir::Delegate>> made;
    for (const xir::PlannedDelegate& each : delegates) {
      const Program& program = static_cast<const Plan*>(each.plan)->program();
      auto delegate = std::make_unique<Delegate>(program, options_, profile);
      XIR_RETURN_IF_ERROR(delegate->Start().In("delegate " + std::to_string(each.index)));
      made.push_back(std::move(delegate));
    }
    return made;
  }

 private:
  const xir::BackendOptions options_;
};

constexpr xir::TypedBackend kBackends[] = {xir::MakeBackend<Backend>("XirMasksBackend")};

}  // namespace
}  // namespace masks

XIR_BACKEND_LIBRARY(masks::kBackends)
