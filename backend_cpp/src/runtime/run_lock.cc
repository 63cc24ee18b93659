#include "runtime/run_lock.h"

#include <chrono>

namespace xir {

Result<RunLock::Held> RunLock::Lock(const std::function<Status()>& check) {
  constexpr std::chrono::milliseconds kBetweenChecks{20};
  const std::thread::id self = std::this_thread::get_id();
  std::unique_lock<std::mutex> lock(mutex_);
  while (depth_ > 0 && owner_ != self) {
    // By the system's clock: thread sanitizers know this wait and not always the other.
    free_.wait_until(lock, std::chrono::system_clock::now() + kBetweenChecks);
    if (depth_ == 0 || !check) continue;
    lock.unlock();
    XIR_RETURN_IF_ERROR(check());
    lock.lock();
  }
  owner_ = self;
  ++depth_;
  return Held(this);
}

RunLock::Held RunLock::Lock() { return Lock(nullptr).value(); }

void RunLock::Unlock() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--depth_ > 0) return;
  owner_ = {};
  free_.notify_one();
}

}  // namespace xir
