// What kernels do that are not the runtime's: they throw, or use the method that runs them. One of
// a run's kernels does so, and the runtime has to bear it.
#pragma once

#include <cstdint>

#include "draws.h"
#include "xir/program.h"

namespace xir::fuzz {

// Has some call of a kernel by `method` misbehave as long as it lives; none for most draws.
class Disturbance {
 public:
  Disturbance(Method* method, Draws* draws);
  Disturbance(const Disturbance&) = delete;
  ~Disturbance();

  // What each kernel does before anything else.
  static void OfKernel();

  // Whether a kernel has thrown.
  bool has_thrown() const { return has_thrown_; }
  // Whether a kernel could use the method that was running it.
  bool has_entered() const { return has_entered_; }
  // Whether a kernel misbehaved at all.
  bool has_happened() const { return has_happened_; }

 private:
  enum class Kind { kException, kNumber, kNoMemory, kExecutes, kGivesInput, kBindsOutput };

  void Happen();

  Method& method_;
  Kind kind_ = Kind::kException;
  uint64_t calls_before_ = UINT64_MAX;
  bool has_thrown_ = false, has_entered_ = false, has_happened_ = false;
};

}  // namespace xir::fuzz
