#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/origins.h"
#include "verify/program_view.h"
#include "xir/delegate.h"
#include "xir/profile.h"

namespace xir {

// Makes profiles of the executions of one method: notes times while it runs, and what they were
// times of afterwards. The program must outlive it.
class Profiler {
 public:
  // `operators` are those that delegates run, by delegate.
  Profiler(const ProgramView& program, const PlanView& plan,
           const std::vector<std::vector<DelegateOperator>>& operators);

  void Begin();
  // Around each call of a kernel or a delegate.
  void BeginCall(size_t instruction);
  void EndCall();
  // What the last call wrote.
  void set_result_bytes(uint64_t bytes) { calls_.back().result_bytes = bytes; }
  // What a delegate's operators took in the last call, in microseconds.
  std::vector<uint64_t>* operator_times() { return &calls_.back().operators; }
  Profile End();

 private:
  using Clock = std::chrono::steady_clock;
  struct Call {
    size_t instruction = 0;
    double start = 0;
    double end = 0;
    uint64_t result_bytes = 0;
    std::vector<uint64_t> operators;
  };

  double Now() const {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin_).count();
  }
  ProfileEvent DescribeInstruction(size_t index, const Origins& origins) const;
  std::vector<ProfileEvent> DescribeOperators(size_t delegate,
                                              const std::vector<DelegateOperator>& operators,
                                              const Origins& origins) const;

  const PlanView& plan_;
  // Events without times.
  std::vector<ProfileEvent> instructions_;
  std::vector<std::vector<ProfileEvent>> operators_;  // by delegate
  Clock::time_point begin_;
  std::vector<Call> calls_;
};

}  // namespace xir
