// The threads that programs run on.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "xir/span.h"
#include "xir/status.h"

struct pthreadpool;

namespace xir {

// Threads of an application, lent to a pool.
class Executor {
 public:
  virtual ~Executor() = default;
  // How many of its threads may run tasks at once, beside the one that executes a method.
  virtual size_t num_threads() const = 0;
  // Schedules task(context) on one of its threads. A task returns when the work that it takes
  // part in is done, and may wait for other tasks, so each needs a thread of its own.
  virtual void Schedule(void (*task)(void* context), void* context) = 0;
};

// Threads that share the work of one operator, of XNNPACK or of a portable kernel. Any number of
// programs and methods may share a pool; they take turns.
class ThreadPool {
 public:
  // The process's pool of `num_threads` threads, including the calling one. All callers that ask
  // for the same number share one pool, which ends with its last user. 0 stands for one thread
  // per core that this process may use. Threads start when there is work for the first time.
  static Result<std::shared_ptr<ThreadPool>> Shared(size_t threads,
                                                    Span<const std::string> xnnpack_paths = {});
  // On the caller's threads.
  static Result<std::shared_ptr<ThreadPool>> On(std::shared_ptr<Executor> executor,
                                                Span<const std::string> xnnpack_paths = {});
  // Wraps a pool of the pthreadpool library, which XNNPACK itself uses. It must outlive the
  // result.
  static Result<std::shared_ptr<ThreadPool>> Borrow(pthreadpool* pool,
                                                    Span<const std::string> xnnpack_paths = {});

  virtual ~ThreadPool() = default;
  virtual size_t num_threads() const = 0;
  // Calls task(object, i) for each i of [0, count); returns when all have returned.
  virtual void ParallelFor(size_t count, void (*task)(const void* object, size_t i),
                           const void* object) = 0;
  // The pool to hand to XNNPACK; null if the calling thread does all the work. Starts the
  // threads.
  virtual Result<pthreadpool*> handle() = 0;
};

}  // namespace xir
