#include "step_bounds.h"

#include <cstdio>
#include <cstdlib>

#include "verify/work_budget.h"

namespace xir::fuzz {
namespace {

// What loading a file of this size may take of memory, beside what it asks for by its sizes. A
// vector that grows has twice what it needs, and half as much for a moment.
uint64_t MemoryBound(size_t file_size) {
  return 3 * (WorkBudget::kFree + WorkBudget::kPerByte * uint64_t{file_size}) / 2;
}

// The same in seconds, under sanitizers, on a processor with other things to do.
double TimeBound(size_t file_size) { return 0.5 + 2e-6 * static_cast<double>(file_size); }

}  // namespace

void Die(const std::string& what) {
  std::fprintf(stderr, "the runtime broke its word: %s\n", what.c_str());
  std::abort();
}

double ExecutionBound(uint64_t nbytes) {
  const auto pairs = static_cast<double>(nbytes) * static_cast<double>(nbytes);
  return 1 + kMaxInstructions * 1e-8 * pairs;
}

Bounded::~Bounded() {
  if (const uint64_t peak = meter_.peak(); peak > times_ * MemoryBound(file_size_) + more_memory_) {
    Die(std::string(step_) + " a file of " + std::to_string(file_size_) + " bytes took " +
        std::to_string(peak) + " bytes of memory");
  }
  if (const double taken = meter_.seconds();
      taken > static_cast<double>(times_) * TimeBound(file_size_)) {
    Die(std::string(step_) + " a file of " + std::to_string(file_size_) + " bytes took " +
        std::to_string(taken) + " seconds");
  }
}

}  // namespace xir::fuzz
