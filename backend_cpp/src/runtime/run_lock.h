#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>

#include "xir/status.h"

namespace xir {

// Held while an instance runs, by one thread and any number of times. Who waits for it can be told
// to stop waiting.
class RunLock {
 public:
  // Unlocks when it goes.
  class Held {
   public:
    Held() = default;
    explicit Held(RunLock* lock) : lock_(lock) {}
    Held(Held&& other) noexcept : lock_(other.lock_) { other.lock_ = nullptr; }
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (lock_ != nullptr) lock_->Unlock();
    }

   private:
    RunLock* lock_ = nullptr;
  };

  // `check` is asked every now and then while another thread holds the lock; what it fails with
  // ends the waiting.
  Result<Held> Lock(const std::function<Status()>& check);
  Held Lock();

 private:
  void Unlock();

  std::mutex mutex_;  // of what follows
  std::condition_variable free_;
  std::thread::id owner_;
  size_t depth_ = 0;
};

}  // namespace xir
