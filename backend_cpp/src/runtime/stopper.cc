#include "runtime/stopper.h"

namespace xir {
namespace {

// Asking may have to wait for an interpreter's lock, so it is done seldom; a user who presses
// Ctrl-C should not notice.
constexpr std::chrono::milliseconds kBetweenQuestions{40};
// Beyond it the clock's integers may overflow; a hundred years are no limit.
constexpr double kMostSeconds = 3e9;

}  // namespace

Stopper::Stopper(std::atomic<bool>* cancelled, double max_seconds,
                 const std::function<bool()>& interrupted)
    : cancelled_(*cancelled), max_seconds_(max_seconds), interrupted_(interrupted) {
  if (!(max_seconds > 0) && !interrupted) return;
  const Clock::time_point now = Clock::now();
  if (max_seconds > 0 && max_seconds < kMostSeconds) {
    deadline_ = now + std::chrono::duration_cast<Clock::duration>(
                          std::chrono::duration<double>(max_seconds));
  }
  ask_again_ = now + kBetweenQuestions;
}

Status Stopper::Check() {
  if (cancelled_.exchange(false, std::memory_order_relaxed)) {
    return Fail(Code::kCancelled, "cancelled");
  }
  if (!interrupted_ && deadline_ == Clock::time_point::max()) return {};
  const Clock::time_point now = Clock::now();
  if (now >= deadline_) {
    return Fail(Code::kResource, "stopped after ", max_seconds_, " seconds, as max_seconds says");
  }
  if (!interrupted_ || now < ask_again_) return {};
  const bool stop = interrupted_();
  ask_again_ = Clock::now() + kBetweenQuestions;
  if (stop) return Fail(Code::kCancelled, "interrupted");
  return {};
}

}  // namespace xir
