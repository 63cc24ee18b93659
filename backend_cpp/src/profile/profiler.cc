#include "profile/profiler.h"

#include <algorithm>

namespace xir {
namespace {

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

Profiler::Profiler(const ProgramDescription& program, const MethodDescription& method,
                   const std::vector<std::vector<DelegateOperator>>& operators)
    : method_(method) {
  Origins origins(program, method);
  std::vector<uint64_t> bytes_of_operators;
  for (size_t i = 0; i < operators.size(); ++i) {
    operators_.push_back(DescribeOperators(i, operators[i], &origins));
    uint64_t& bytes = bytes_of_operators.emplace_back(0);
    for (const ProfileEvent& each : operators_.back()) bytes += sizeof(uint64_t) + BytesOf(each);
  }
  for (size_t i = 0; i < method.instructions.size(); ++i) {
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
  const MethodDescription::Instruction& instruction = method_.instructions[index];
  if (const auto* call = std::get_if<MethodDescription::DelegateCall>(&instruction)) {
    event.kind = ProfileEvent::Kind::kDelegate;
    event.delegate = call->delegate;
    event.name = "delegate " + std::to_string(event.delegate);
    return event;
  }
  const auto* call = std::get_if<MethodDescription::KernelCall>(&instruction);
  if (call == nullptr) return event;
  event.name = method_.operators[call->op];
  event.origins = origins->OfInstruction(index);
  for (const size_t argument : call->args) {
    const TensorDescription* tensor = method_.TensorAt(argument);
    if (tensor != nullptr && tensor->IsConstant()) event.constant_bytes += tensor->nbytes;
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
  profile.method = method_.name;
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
