// Work that a kernel's threads share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

#include "xir/kernel.h"
#include "xir/status.h"

namespace xir::kernels {

// Into how many parts to take so many multiplications and additions apart: none that is shorter
// than what it takes to hand it over, and some for each thread, as they are not equally fast.
inline int64_t PartsFor(const KernelContext& context, double operations) {
  constexpr double kShortest = 1 << 17;
  if (context.num_threads() == 1 || operations < 2 * kShortest) return 1;
  const double most = 3.0 * static_cast<double>(context.num_threads());
  return static_cast<int64_t>(std::min(operations / kShortest, most));
}

// Calls task(i), which returns a Status, for each i of [0, count), on the context's threads.
// Returns one of the failures, if there are any.
template <typename Task>
Status ParallelFor(const KernelContext& context, int64_t count, const Task& task) {
  if (count == 1) return task(0);
  std::mutex mutex;
  Status result;
  context.ParallelFor(static_cast<size_t>(count), [&](size_t i) {
    Status status = task(static_cast<int64_t>(i));
    if (status.ok()) return;
    const std::lock_guard<std::mutex> lock(mutex);
    result = std::move(status);
  });
  return result;
}

// Calls task(first, last) for parts of [0, count) that lie side by side, `operations` in all.
template <typename Task>
Status ParallelRanges(const KernelContext& context, int64_t count, double operations,
                      const Task& task) {
  const int64_t parts = std::max<int64_t>(1, std::min(count, PartsFor(context, operations)));
  return ParallelFor(context, parts, [&](int64_t part) {
    return task(count * part / parts, count * (part + 1) / parts);
  });
}

}  // namespace xir::kernels
