#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "xir/status.h"

namespace xir {

// What may stop one execution before its end: a request, a limit of time, or the application's
// answer when it is asked.
class Stopper {
 public:
  using Clock = std::chrono::steady_clock;

  // The execution begins now. 0 seconds are no limit; `interrupted` may be empty.
  Stopper(std::atomic<bool>* cancelled, double max_seconds,
          const std::function<bool()>& interrupted);

  // Fails if the execution is to stop. A request is done with once this has said so.
  Status Check();

  // When time is up; the clock's last moment without a limit.
  Clock::time_point deadline() const { return deadline_; }

 private:
  std::atomic<bool>& cancelled_;
  double max_seconds_;
  Clock::time_point deadline_ = Clock::time_point::max();
  const std::function<bool()>& interrupted_;
  Clock::time_point ask_again_;
};

}  // namespace xir
