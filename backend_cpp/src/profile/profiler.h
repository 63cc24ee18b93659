#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "build_options.h"  // written by CMake
#include "profile/origins.h"
#include "program/description.h"
#include "xir/delegate.h"
#include "xir/profile.h"
#include "xir/status.h"

namespace xir {

// Makes profiles of the executions of one method: notes times while it runs, and what they were
// times of afterwards. The program must outlive it.
class Profiler {
 public:
  // `operators` are those that delegates run, by delegate.
  Profiler(const ProgramDescription& program, const MethodDescription& method,
           const std::vector<std::vector<DelegateOperator>>& operators);

  void Begin();
  // Around each call of a kernel or a delegate.
  // Fails if the profile would become too large: a loop of a small file has many calls.
  Status BeginCall(size_t instruction);
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
  // An event without times, and the memory that each event like it takes.
  struct Described {
    ProfileEvent event;
    uint64_t nbytes = 0;
  };

  double Now() const {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin_).count();
  }
  ProfileEvent DescribeInstruction(size_t index, Origins* origins) const;
  std::vector<ProfileEvent> DescribeOperators(size_t delegate,
                                              const std::vector<DelegateOperator>& operators,
                                              Origins* origins) const;

  const MethodDescription& method_;
  std::vector<Described> instructions_;  // a delegate's with the bytes of its operators
  std::vector<std::vector<ProfileEvent>> operators_;  // by delegate, without times
  uint64_t nbytes_ = 0;                               // of the profile so far
  Clock::time_point begin_;
  std::vector<Call> calls_;
};

}  // namespace xir
