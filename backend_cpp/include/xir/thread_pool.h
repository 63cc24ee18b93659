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
  // Runs task(context) on one of its threads, soon. A task stays until the work that it helps with
  // is done, and may wait for other tasks: each needs a thread of its own.
  virtual void Schedule(void (*task)(void* context), void* context) = 0;
};

// Threads that work off the parts of one operator together: XNNPACK's and those of portable
// kernels. Any number of programs and methods may share one; they use it in turn.
class ThreadPool {
 public:
  // The process's pool of so many threads, the calling one among them: who asks for as many shares
  // it, and the last one ends it. 0 is one for each core that this process may use. Threads start
  // with the first work.
  static Result<std::shared_ptr<ThreadPool>> Shared(size_t threads,
                                                    Span<const std::string> xnnpack_paths = {});
  // On the caller's threads.
  static Result<std::shared_ptr<ThreadPool>> On(std::shared_ptr<Executor> executor,
                                                Span<const std::string> xnnpack_paths = {});
  // A pool of the pthreadpool library that XNNPACK itself uses. It must outlive what is made here.
  static Result<std::shared_ptr<ThreadPool>> Borrow(pthreadpool* pool,
                                                    Span<const std::string> xnnpack_paths = {});

  virtual ~ThreadPool() = default;
  virtual size_t num_threads() const = 0;
  // Calls task(object, i) for each i of [0, count); returns when all have returned.
  virtual void ParallelFor(size_t count, void (*task)(const void* object, size_t i),
                           const void* object) = 0;
  // What XNNPACK takes: null where the calling thread does all work. Starts the threads.
  virtual Result<pthreadpool*> handle() = 0;
};

}  // namespace xir
