// Apart from what runs programs, because libraries of backends link it.
#include "verify/work_budget.h"
#include "xir/delegate.h"

namespace xir {

Status DelegateData::Charge(uint64_t count) const { return budget->Charge(count); }

}  // namespace xir
