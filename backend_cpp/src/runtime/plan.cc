#include "runtime/plan.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "kernels/registry.h"
#include "runtime/loaded_program.h"
#include "runtime/place.h"
#include "runtime/state.h"
#include "verify/work_budget.h"

namespace xir {
namespace {

static_assert(2 * sizeof(MethodDescription::Instruction) + sizeof(std::optional<Frame>) +
                  sizeof(MethodPlan::Instruction) + sizeof(ProfileEvent) <=
              WorkBudget::kInstruction);

// Names in the order of their first occurrence, each once.
class NameList {
 public:
  void Add(std::string_view name) {
    if (known_.insert(name).second) names_.emplace_back(name);
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::unordered_set<std::string_view> known_;  // of the description
};

// Binds calls to kernels on values that have no memory.
class Binder {
 public:
  Binder(const MethodDescription& method, const std::vector<PreparedDelegate>& delegates,
         const LoadOptions& options, std::atomic<uint64_t>* state_bytes_left)
      : values_(MethodMemory::Declare(method)),
        method_(method),
        delegates_(delegates),
        options_(options),
        state_bytes_left_(*state_bytes_left),
        changes_(method.values.size()) {}

  Result<MethodPlan::Instruction> Bind(const MethodDescription::Instruction& from) {
    if (const auto* call = std::get_if<MethodDescription::KernelCall>(&from)) {
      return BindKernel(*call);
    }
    if (const auto* call = std::get_if<MethodDescription::DelegateCall>(&from)) {
      return BindDelegate(*call);
    }
    if (const auto* move = std::get_if<MethodDescription::Move>(&from)) {
      changes_[move->to] = true;
      return MethodPlan::Instruction(*move);
    }
    if (const auto* jump = std::get_if<MethodDescription::JumpFalse>(&from)) {
      return MethodPlan::Instruction(*jump);
    }
    return MethodPlan::Instruction(MethodPlan::Free{});
  }

  // Makes the state of a call, once all instructions are bound: what it is made of may not change.
  Status Prepare(MethodPlan::Instruction* instruction) {
    auto* call = std::get_if<MethodPlan::KernelCall>(instruction);
    if (call == nullptr || state_bytes_left_.load() == 0 || TakesChangingNumber(*call)) return {};
    const std::optional<RegisteredKernel> kernel = FindKernel(call->name);
    if (!kernel.has_value() || !kernel->prepare) return {};
    auto state = kernel->prepare(Values(call->args));
    if (!state.ok()) return std::move(state).status().In(Context(*call));
    call->state = std::move(state).value();
    const uint64_t taken = call->state == nullptr ? 0 : call->state->nbytes();
    uint64_t left = state_bytes_left_.load();
    while (!state_bytes_left_.compare_exchange_weak(left, left - std::min(left, taken))) {
    }
    return {};
  }

  // Fails if some operator had no kernel, and names them all.
  Status CheckMissing() const {
    if (missing_.names().empty()) return {};
    std::string names, left_out;
    for (const std::string& name : missing_.names()) {
      names += (names.empty() ? "'" : ", '") + name + "'";
      if (IsLeftOut(name)) left_out += (left_out.empty() ? "" : ";") + name;
    }
    if (!left_out.empty()) {
      return Fail(Code::kUnsupported, "there is no kernel for ", names,
                  "; this runtime was built without ", left_out,
                  ", which CMake's XIR_KERNELS has to name");
    }
    return Fail(Code::kUnsupported, "there is no kernel for ", names,
                "; compile the model so that XNNPACK takes ",
                missing_.names().size() == 1 ? "it" : "them",
                ", or run it from Python, which has torch's kernels");
  }

 private:
  static std::string Context(const MethodPlan::KernelCall& call) {
    return "operator '" + std::string(call.name) + "'";
  }

  Result<MethodPlan::Instruction> BindKernel(const MethodDescription::KernelCall& from) {
    MethodPlan::KernelCall call;
    call.name = method_.operators[from.op];
    call.args = from.args;
    std::vector<Value*> args = Values(call.args);
    call.tensors = TensorsAmong(args);
    const std::optional<RegisteredKernel> kernel = FindKernel(call.name);
    if (!kernel.has_value()) {
      if (options_.fallback) call.kernel = options_.fallback(std::string(call.name));
      if (!call.kernel) missing_.Add(call.name);
      // Results come last; how many there are, only the fallback knows.
      for (size_t i = call.args.size(); i-- > 0 && IsNumber(call.args[i]);) {
        changes_[call.args[i]] = true;
      }
      return MethodPlan::Instruction(std::move(call));
    }
    auto written = kernel->bind(args);
    if (!written.ok()) return std::move(written).status().In(Context(call));
    for (const size_t value : Indices(written.value())) {
      changes_[value] = true;
      if (values_[value].get<Tensor>() != nullptr) call.written.push_back(value);
    }
    call.kernel = kernel->run;
    call.portable = true;
    return MethodPlan::Instruction(std::move(call));
  }

  Result<MethodPlan::Instruction> BindDelegate(const MethodDescription::DelegateCall& from) {
    MethodPlan::DelegateCall call;
    call.delegate = from.delegate;
    call.args = from.args;
    std::vector<Value*> args = Values(call.args);
    call.tensors = TensorsAmong(args);
    auto written = delegates_[call.delegate].plan->Bind(args);
    if (!written.ok()) {
      return std::move(written).status().In("delegate " + std::to_string(call.delegate));
    }
    call.written = Indices(written.value());
    XIR_RETURN_IF_ERROR(CheckPlaces(call).In("delegate " + std::to_string(call.delegate)));
    return MethodPlan::Instruction(std::move(call));
  }

  // A delegate reads its arguments for as long as it runs, so that its results have to lie apart
  // from them and from each other.
  Status CheckPlaces(const MethodPlan::DelegateCall& call) const {
    std::vector<size_t> all = call.tensors, written = call.written, read;
    std::sort(all.begin(), all.end());
    std::sort(written.begin(), written.end());
    std::set_difference(all.begin(), all.end(), written.begin(), written.end(),
                        std::back_inserter(read));
    std::vector<PlacedValue> placed;
    const auto add = [&](const std::vector<size_t>& values, bool written) {
      for (const size_t value : values) {
        if (const auto place = PlaceOf(method_, value)) placed.push_back({*place, value, written});
      }
    };
    add(read, false);
    add(written, true);
    const auto found = FindOverlap(std::move(placed));
    if (!found.has_value()) return {};
    return Fail(Code::kInvalidProgram, "values ", found->first, " and ", found->second,
                ", of which it writes at least one, have memory in common");
  }

  std::vector<Value*> Values(Span<const size_t> indices) {
    std::vector<Value*> values;
    for (const size_t index : indices) values.push_back(&values_[index]);
    return values;
  }

  std::vector<size_t> Indices(const std::vector<Value*>& values) const {
    std::vector<size_t> indices;
    for (const Value* value : values) indices.push_back(IndexOf(value));
    return indices;
  }

  // Arguments and items of lists among them.
  std::vector<size_t> TensorsAmong(const std::vector<Value*>& args) const {
    std::vector<size_t> tensors;
    for (const Value* value : args) {
      if (value->get<Tensor>() != nullptr) tensors.push_back(IndexOf(value));
      const auto* list = value->get<TensorList>();
      if (list == nullptr) continue;
      for (const Value* item : list->items) {
        if (item != nullptr && item->get<Tensor>() != nullptr) tensors.push_back(IndexOf(item));
      }
    }
    return tensors;
  }

  std::optional<RegisteredKernel> FindKernel(std::string_view op) const {
    if (const KernelRegistry* own = options_.kernels.get()) {
      if (const RegisteredKernel* kernel = own->Find(op)) return *kernel;
    }
    const TypedKernel* portable = FindPortableKernel(op);
    return portable == nullptr ? std::nullopt : std::make_optional<RegisteredKernel>(*portable);
  }

  bool IsNumber(size_t value) const { return kernels::internal::IsNumber(values_[value]); }

  bool TakesChangingNumber(const MethodPlan::KernelCall& call) const {
    const auto changes = [this](size_t value) { return changes_[value] && IsNumber(value); };
    return std::any_of(call.args.begin(), call.args.end(), [&](size_t arg) {
      const auto* list = values_[arg].get<IntList>();
      if (list == nullptr) return changes(arg);
      return std::any_of(list->items.begin(), list->items.end(),
                         [&](const Value* item) { return changes(IndexOf(item)); });
    });
  }

  size_t IndexOf(const Value* value) const { return static_cast<size_t>(value - &values_[0]); }

  MethodMemory values_;
  const MethodDescription& method_;
  const std::vector<PreparedDelegate>& delegates_;
  const LoadOptions& options_;
  // Many calls may name one constant, so the file's size does not bound what they make of it.
  std::atomic<uint64_t>& state_bytes_left_;
  std::vector<bool> changes_;  // of each value, whether an instruction writes to it
  NameList missing_;
};

ValueInfo InfoOf(const Value& value) {
  ValueInfo info;
  info.kind = KindName(value);
  if (const auto* tensor = value.get<Tensor>()) {
    info.dtype = tensor->dtype;
    info.shape = tensor->bound;
    info.least = tensor->bound;
    info.dynamic = tensor->resizable;
    info.dim_order.assign(tensor->dim_order.begin(), tensor->dim_order.begin() + tensor->rank());
  }
  return info;
}

}  // namespace

namespace {

// The values that instructions may write to; of a fallback's arguments only it knows which.
std::vector<bool> MayChange(const MethodPlan& plan, size_t num_values) {
  std::vector<bool> changes(num_values);
  for (const MethodPlan::Instruction& instruction : plan.instructions) {
    if (const auto* call = std::get_if<MethodPlan::KernelCall>(&instruction)) {
      for (const size_t value : call->portable ? call->written : call->tensors)
        changes[value] = true;
    } else if (const auto* call = std::get_if<MethodPlan::DelegateCall>(&instruction)) {
      for (const size_t value : call->written) changes[value] = true;
    }
  }
  return changes;
}

// The arena and the first byte of a value; the places that values begin at.
using Start = std::pair<uint32_t, uint64_t>;

std::optional<Start> StartOf(const MethodDescription& method, size_t value) {
  const std::optional<Place> place = PlaceOf(method, value);
  if (!place.has_value()) return std::nullopt;
  return Start{place->arena, place->begin};
}

// What is read before an instruction writes it: its places, as far as inputs begin there.
class UnwrittenReads {
 public:
  explicit UnwrittenReads(const MethodPlan& plan)
      : method_(*plan.method), known_(method_.values.size()) {
    for (const size_t input : method_.inputs) {
      known_[input] = true;
      if (const auto start = StartOf(method_, input)) inputs_.push_back(*start);
    }
    std::sort(inputs_.begin(), inputs_.end());
    found_.resize(inputs_.size());
  }

  void Write(const std::vector<size_t>& values) {
    for (const size_t value : values) known_[value] = true;
  }

  void Read(Span<const size_t> values) {
    for (const size_t value : values) {
      if (known_[value]) continue;
      known_[value] = true;
      if (const auto start = StartOf(method_, value)) Find(*start);
    }
  }

  bool Contains(size_t input) const {
    const auto start = StartOf(method_, input);
    return start.has_value() && found_[IndexOf(*start)];
  }

 private:
  size_t IndexOf(const Start& start) const {
    return std::lower_bound(inputs_.begin(), inputs_.end(), start) - inputs_.begin();
  }

  void Find(const Start& start) {
    const size_t index = IndexOf(start);
    if (index < inputs_.size() && inputs_[index] == start) found_[index] = true;
  }

  const MethodDescription& method_;
  std::vector<bool> known_;
  std::vector<Start> inputs_;
  std::vector<bool> found_;
};

std::vector<bool> HaveOtherNames(const MethodPlan& plan) {
  UnwrittenReads reads(plan);
  for (const MethodPlan::Instruction& instruction : plan.instructions) {
    if (const auto* call = std::get_if<MethodPlan::KernelCall>(&instruction)) {
      reads.Write(call->written);
      reads.Read(call->tensors);
    } else if (const auto* call = std::get_if<MethodPlan::DelegateCall>(&instruction)) {
      reads.Write(call->written);
      reads.Read(call->tensors);
    } else if (const auto* move = std::get_if<MethodPlan::Move>(&instruction)) {
      reads.Read({&move->from, 1});
      reads.Write({move->to});
    }
  }
  reads.Read(plan.method->outputs);
  std::vector<bool> found;
  for (const size_t input : plan.method->inputs) found.push_back(reads.Contains(input));
  return found;
}

}  // namespace

bool MethodPlan::IsOutput(size_t value) const { return output_values.count(value) != 0; }

Result<std::unique_ptr<const MethodPlan>> MakePlan(const LoadedProgram& program, size_t method) {
  const MethodDescription& described = program.description.methods[method];
  auto plan = std::make_unique<MethodPlan>();
  plan->method = &described;
  plan->output_values.insert(described.outputs.begin(), described.outputs.end());
  plan->input_dims = InputDimsOf(program.description, described);
  plan->delegates = &program.delegates[method];
  Binder binder(described, *plan->delegates, program.options, &program.state_bytes_left);
  plan->instructions.reserve(described.instructions.size());
  for (const MethodDescription::Instruction& from : described.instructions) {
    auto instruction = binder.Bind(from);
    if (!instruction.ok()) {
      return std::move(instruction)
          .status()
          .In("instruction " + std::to_string(plan->instructions.size()));
    }
    plan->instructions.push_back(std::move(instruction).value());
  }
  XIR_RETURN_IF_ERROR(binder.CheckMissing());
  const auto changes = MayChange(*plan, described.values.size());
  for (const size_t input : described.inputs) plan->changes_input.push_back(changes[input]);
  plan->has_other_name = HaveOtherNames(*plan);
  for (size_t i = 0; i < plan->instructions.size(); ++i) {
    XIR_RETURN_IF_ERROR(
        binder.Prepare(&plan->instructions[i]).In("instruction " + std::to_string(i)));
  }
  return std::unique_ptr<const MethodPlan>(std::move(plan));
}

MethodMetadata ReadMetadata(const ProgramDescription& program, const MethodDescription& method) {
  const MethodMemory values = MethodMemory::Declare(method);
  MethodMetadata metadata;
  metadata.name = method.name;
  const std::vector<std::vector<InputDim>> dims = InputDimsOf(program, method);
  metadata.inputs.reserve(dims.size());
  for (const size_t index : method.inputs) {
    ValueInfo info = InfoOf(values[index]);
    const std::vector<InputDim>& own = dims[metadata.inputs.size()];
    for (size_t i = 0; info.dynamic && i < info.shape.rank; ++i) {
      info.least[i] = own[i].symbol == -1 ? info.shape[i] : std::max<int64_t>(own[i].least, 0);
    }
    metadata.inputs.push_back(std::move(info));
  }
  metadata.outputs.reserve(method.outputs.size());
  for (const size_t index : method.outputs) metadata.outputs.push_back(InfoOf(values[index]));
  metadata.buffers = NamedBuffers(method);
  metadata.num_delegates = method.delegates.size();
  for (const uint64_t size : method.arena_sizes) metadata.arena_bytes += size;
  metadata.kernel_names = KernelNames(method);
  return metadata;
}

std::vector<std::string> KernelNames(const MethodDescription& method) {
  NameList names;
  for (const MethodDescription::Instruction& instruction : method.instructions) {
    const auto* call = std::get_if<MethodDescription::KernelCall>(&instruction);
    if (call != nullptr) names.Add(method.operators[call->op]);
  }
  return names.names();
}

}  // namespace xir
