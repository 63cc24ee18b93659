#include "xir/thread_pool.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/guard.h"
#include "platform/platform.h"
#include "xnnpack/handles.h"
#include "xnnpack/loader.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define XIR_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define XIR_TSAN_RELEASE(address) __tsan_release(address)
#else
#define XIR_TSAN_ACQUIRE(address) static_cast<void>(address)
#define XIR_TSAN_RELEASE(address) static_cast<void>(address)
#endif

namespace xir {
namespace {

constexpr size_t kMaxThreads = 1024;

// What is thrown in a task must not pass through the pthreadpool library, which is C and holds
// locks.
struct Work {
  void (*task)(const void* object, size_t i);
  const void* object;
  std::mutex mutex;
  std::exception_ptr thrown;  // by one of the tasks
};

// The pthreadpool library is not instrumented, so ThreadSanitizer cannot see that tasks run after
// what was done before the call, and before what is done after it.
void RunPart(void* context, size_t i) {
  XIR_TSAN_ACQUIRE(context);
  auto& work = *static_cast<Work*>(context);
  try {
    work.task(work.object, i);
  }
  XIR_RETHROW_CANCELLATION
  catch (...) {
    const std::lock_guard<std::mutex> lock(work.mutex);
    work.thrown = std::current_exception();
  }
  XIR_TSAN_RELEASE(context);
}

class Pthreadpool : public ThreadPool {
 public:
  Pthreadpool(size_t threads, Span<const std::string> xnnpack_paths)
      : threads_(threads), xnnpack_paths_(xnnpack_paths.begin(), xnnpack_paths.end()) {}

  size_t num_threads() const override { return threads_; }

  Result<pthreadpool*> handle() override {
    if (threads_ == 1) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (handle_ != nullptr) return handle_;
    XIR_RETURN_IF_ERROR(LoadXnnpack(xnnpack_paths_));
    handle_ = Create();
    if (handle_ != nullptr) return handle_;
    return Fail(Code::kResource, "cannot start ", threads_, " threads");
  }

  void ParallelFor(size_t count, void (*task)(const void*, size_t), const void* object) override {
    // Without the library there are no threads; a program without delegates runs all the same.
    const auto pool = handle();
    if (!pool.ok() || pool.value() == nullptr) {
      for (size_t i = 0; i < count; ++i) task(object, i);
      return;
    }
    Work work{task, object, {}, nullptr};
    XIR_TSAN_RELEASE(&work);
    pthreadpool_parallelize_1d(pool.value(), RunPart, &work, count, /*flags=*/0);
    XIR_TSAN_ACQUIRE(&work);
    if (work.thrown != nullptr) std::rethrow_exception(work.thrown);
  }

 protected:
  virtual pthreadpool* Create() {
    owned_.reset(pthreadpool_create(threads_));
    return owned_.get();
  }

  size_t threads_;
  OwnedPthreadpool owned_;

 private:
  std::vector<std::string> xnnpack_paths_;
  std::mutex mutex_;
  pthreadpool* handle_ = nullptr;
};

class ExecutorPool final : public Pthreadpool {
 public:
  ExecutorPool(std::shared_ptr<Executor> executor, Span<const std::string> xnnpack_paths)
      : Pthreadpool(std::min(executor->num_threads(), kMaxThreads - 1) + 1, xnnpack_paths),
        executor_(std::move(executor)) {}
  // Its tasks refer to the executor.
  ~ExecutorPool() override { owned_.reset(); }

 private:
  pthreadpool* Create() override {
    calls_.num_threads = [](void* context) {
      const auto threads = [&] { return static_cast<Executor*>(context)->num_threads(); };
      return static_cast<int>(std::min(GuardedOr(size_t{0}, threads), kMaxThreads));
    };
    // The library waits for each task, so that one which the executor does not take has to run all
    // the same.
    calls_.schedule = [](void* context, void* argument, void (*task)(void*)) {
      const bool taken = GuardedOr(false, [&] {
        static_cast<Executor*>(context)->Schedule(task, argument);
        return true;
      });
      if (!taken) std::thread(task, argument).detach();
    };
    owned_.reset(pthreadpool_create_v2(&calls_, executor_.get(), threads_));
    return owned_.get();
  }

  std::shared_ptr<Executor> executor_;
  pthreadpool_executor calls_{};
};

class BorrowedPool final : public Pthreadpool {
 public:
  BorrowedPool(pthreadpool* pool, size_t threads) : Pthreadpool(threads, {}), pool_(pool) {}

 private:
  pthreadpool* Create() override { return pool_; }

  pthreadpool* pool_;
};

}  // namespace

Result<std::shared_ptr<ThreadPool>> ThreadPool::Shared(size_t threads,
                                                       Span<const std::string> xnnpack_paths) {
  if (threads > kMaxThreads) {
    return Fail(Code::kInvalidArgument, threads, " threads; the most is ", kMaxThreads);
  }
  if (threads == 0) threads = platform::AvailableCores();
  return Guarded([&]() -> Result<std::shared_ptr<ThreadPool>> {
    static std::mutex mutex;
    static auto* const pools = new std::map<size_t, std::weak_ptr<ThreadPool>>;
    const std::lock_guard<std::mutex> lock(mutex);
    std::weak_ptr<ThreadPool>& known = (*pools)[threads];
    std::shared_ptr<ThreadPool> pool = known.lock();
    if (pool == nullptr) known = pool = std::make_shared<Pthreadpool>(threads, xnnpack_paths);
    return pool;
  });
}

Result<std::shared_ptr<ThreadPool>> ThreadPool::On(std::shared_ptr<Executor> executor,
                                                   Span<const std::string> xnnpack_paths) {
  if (executor == nullptr) return Fail(Code::kInvalidArgument, "a thread pool without executor");
  return Guarded([&]() -> Result<std::shared_ptr<ThreadPool>> {
    return std::shared_ptr<ThreadPool>(
        std::make_shared<ExecutorPool>(std::move(executor), xnnpack_paths));
  });
}

Result<std::shared_ptr<ThreadPool>> ThreadPool::Borrow(pthreadpool* pool,
                                                       Span<const std::string> xnnpack_paths) {
  if (pool == nullptr) return Fail(Code::kInvalidArgument, "no thread pool to borrow");
  return Guarded([&]() -> Result<std::shared_ptr<ThreadPool>> {
    XIR_RETURN_IF_ERROR(LoadXnnpack(xnnpack_paths));
    const size_t threads = pthreadpool_get_threads_count(pool);
    return std::shared_ptr<ThreadPool>(std::make_shared<BorrowedPool>(pool, threads));
  });
}

}  // namespace xir
