#include "profile/profiler.h"

#include <algorithm>

#include "xir/dtype.h"

namespace xir {
namespace {

using flatbuffers::uoffset_t;

std::string OperatorName(const program::Operator& op) {
  std::string name(View(op.name()));
  if (!View(op.overload()).empty()) name += "." + op.overload()->str();
  return name;
}

// The bytes of a constant among an instruction's arguments.
uint64_t ConstantBytes(const program::EValue& value) {
  const auto* tensor = value.val_as_Tensor();
  if (tensor == nullptr || tensor->data_buffer_idx() == 0 || tensor->allocation_info() != nullptr) {
    return 0;
  }
  uint64_t bytes = ElementSize(static_cast<DType>(tensor->scalar_type()));
  if (tensor->sizes() == nullptr) return bytes;
  for (const int32_t size : *tensor->sizes()) bytes *= static_cast<uint64_t>(size);
  return bytes;
}

// Of one execution: that many events are more than anybody reads.
constexpr uint64_t kMaxProfileBytes = uint64_t{64} << 20;

uint64_t BytesOf(const ProfileEvent& event) {
  uint64_t bytes = sizeof(event) + event.name.size() + event.microkernel.size();
  for (const Origin& each : event.origins) {
    bytes +=
        sizeof(each) + each.file.size() + each.module.size() + each.op.size() + each.name.size();
  }
  return bytes;
}

}  // namespace

Profiler::Profiler(const ProgramView& program, const PlanView& plan,
                   const std::vector<std::vector<DelegateOperator>>& operators)
    : plan_(plan) {
  Origins origins(program, plan);
  const auto* chains = plan.plan->chains();
  const auto* instructions =
      chains == nullptr || chains->size() == 0 ? nullptr : chains->Get(0)->instructions();
  const size_t count = instructions == nullptr ? 0 : instructions->size();
  std::vector<uint64_t> bytes_of_operators;
  for (size_t i = 0; i < operators.size(); ++i) {
    operators_.push_back(DescribeOperators(i, operators[i], &origins));
    uint64_t& bytes = bytes_of_operators.emplace_back(0);
    for (const ProfileEvent& each : operators_.back()) bytes += sizeof(uint64_t) + BytesOf(each);
  }
  for (size_t i = 0; i < count; ++i) {
    Described& described = instructions_.emplace_back();
    described.event = DescribeInstruction(i, &origins);
    described.nbytes = sizeof(Call) + BytesOf(described.event);
    if (described.event.kind == ProfileEvent::Kind::kDelegate) {
      described.nbytes += bytes_of_operators[described.event.delegate];
    }
  }
}

ProfileEvent Profiler::DescribeInstruction(size_t index, Origins* origins) const {
  ProfileEvent event;
  event.instruction = index;
  const program::ExecutionPlan& plan = *plan_.plan;
  const program::Instruction& instruction =
      *plan.chains()->Get(0)->instructions()->Get(static_cast<uoffset_t>(index));
  if (const auto* call = instruction.instr_args_as_DelegateCall()) {
    event.kind = ProfileEvent::Kind::kDelegate;
    event.delegate = static_cast<size_t>(call->delegate_index());
    event.name = "delegate " + std::to_string(event.delegate);
    return event;
  }
  const auto* call = instruction.instr_args_as_KernelCall();
  if (call == nullptr) return event;
  event.name = OperatorName(*plan.operators()->Get(static_cast<uoffset_t>(call->op_index())));
  event.origins = origins->OfInstruction(index);
  if (call->args() == nullptr) return event;
  for (const int32_t argument : *call->args()) {
    event.constant_bytes += ConstantBytes(*plan.values()->Get(static_cast<uoffset_t>(argument)));
  }
  return event;
}

std::vector<ProfileEvent> Profiler::DescribeOperators(
    size_t delegate, const std::vector<DelegateOperator>& operators, Origins* origins) const {
  std::vector<ProfileEvent> events;
  for (const DelegateOperator& each : operators) {
    ProfileEvent& event = events.emplace_back();
    event.kind = ProfileEvent::Kind::kOperator;
    event.delegate = delegate;
    event.name = each.name;
    event.microkernel = each.microkernel;
    event.node = each.node;
    event.result_bytes = each.result_bytes;
    event.constant_bytes = each.constant_bytes;
    event.origins = origins->OfHandle(each.debug_handle);
  }
  return events;
}

void Profiler::Begin() {
  calls_.clear();
  nbytes_ = 0;
  begin_ = Clock::now();
}

Status Profiler::BeginCall(size_t instruction) {
  nbytes_ += instructions_[instruction].nbytes;
  if (nbytes_ > kMaxProfileBytes) {
    return Fail(Code::kResource, "a profile of more than ", calls_.size(), " calls takes over ",
                kMaxProfileBytes >> 20, " MiB");
  }
  Call& call = calls_.emplace_back();
  call.instruction = instruction;
  call.start = Now();
  return {};
}

void Profiler::EndCall() { calls_.back().end = Now(); }

Profile Profiler::End() {
  Profile profile;
  profile.duration = Now();
  profile.method = std::string(View(plan_.plan->name()));
  size_t count = calls_.size();
  for (const Call& call : calls_) count += call.operators.size();
  profile.events.reserve(count);
  for (const Call& call : calls_) {
    ProfileEvent& event = profile.events.emplace_back(instructions_[call.instruction].event);
    event.start = call.start;
    event.duration = call.end - call.start;
    event.result_bytes = call.result_bytes;
    if (event.kind != ProfileEvent::Kind::kDelegate) continue;
    // A delegate takes shapes and pointers first, and its operators follow one another to the end.
    double before = 0;
    for (const uint64_t time : call.operators) before += static_cast<double>(time);
    double start = call.start + std::max(0.0, call.end - call.start - before);
    const std::vector<ProfileEvent>& described = operators_[event.delegate];
    const size_t count = std::min(described.size(), call.operators.size());
    for (size_t i = 0; i < count; ++i) {
      ProfileEvent& each = profile.events.emplace_back(described[i]);
      each.instruction = call.instruction;
      each.start = start;
      each.duration = static_cast<double>(call.operators[i]);
      start += each.duration;
    }
  }
  return profile;
}

}  // namespace xir
