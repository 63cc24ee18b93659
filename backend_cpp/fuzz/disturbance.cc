#include "disturbance.h"

#include <new>
#include <stdexcept>

namespace xir::fuzz {
namespace {

thread_local Disturbance* g_disturbance = nullptr;

}  // namespace

Disturbance::Disturbance(Method* method, Draws* draws) : method_(*method) {
  constexpr Kind kKinds[] = {Kind::kException, Kind::kNumber,     Kind::kNoMemory,
                             Kind::kExecutes,  Kind::kGivesInput, Kind::kBindsOutput};
  if (!draws->OneIn(8)) return;
  kind_ = draws->Of(kKinds);
  calls_before_ = draws->Below(3);
  g_disturbance = this;
}

Disturbance::~Disturbance() {
  if (g_disturbance == this) g_disturbance = nullptr;
}

void Disturbance::OfKernel() {
  if (g_disturbance == nullptr) return;
  if (g_disturbance->calls_before_-- > 0) return;
  Disturbance& now = *g_disturbance;
  g_disturbance = nullptr;
  now.Happen();
}

void Disturbance::Happen() {
  has_happened_ = true;
  switch (kind_) {
    case Kind::kException:
      has_thrown_ = true;
      throw std::runtime_error("a kernel throws");
    case Kind::kNumber:
      has_thrown_ = true;
      throw 7;  // NOLINT: libraries throw anything
    case Kind::kNoMemory:
      has_thrown_ = true;
      throw std::bad_alloc();
    case Kind::kExecutes:
      has_entered_ = method_.Execute().ok();
      return;
    case Kind::kGivesInput:
      has_entered_ = method_.SetInput(0, int64_t{1}).ok();
      return;
    case Kind::kBindsOutput:
      has_entered_ = method_.BindOutput(0, nullptr, 0).ok();
      return;
  }
}

}  // namespace xir::fuzz
