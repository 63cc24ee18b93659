#pragma once

#include <string>
#include <vector>

#include "verify/graph_view.h"
#include "xir/delegate.h"

namespace xir {

// What profiles say of XNNPACK's operators; `names` are theirs, in the order in which they run.
std::vector<DelegateOperator> DescribeOperators(const GraphView& view,
                                                const std::vector<std::string>& names);

}  // namespace xir
