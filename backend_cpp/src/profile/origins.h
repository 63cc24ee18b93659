#pragma once

#include <string>
#include <vector>

#include "profile/debug_info.h"
#include "program/description.h"
#include "verify/work_budget.h"
#include "xir/profile.h"

namespace xir {

// Where the instructions and nodes of one method come from: as xir's debug information tells, else
// by the frames of instructions, which ExecuTorch writes as well. All that it tells is together
// linear in the file's size; what would be beyond that is unknown.
class Origins {
 public:
  Origins(const ProgramDescription& program, const MethodDescription& method);

  std::vector<Origin> OfInstruction(size_t index);
  // By the handle of a node.
  std::vector<Origin> OfHandle(uint32_t handle) { return debug_info_.OfHandle(handle, &budget_); }

 private:
  DebugInfo debug_info_;
  const MethodDescription& method_;
  WorkBudget budget_;
};

// " at model.py:41" for an error in an instruction; "" where nothing is known.
std::string PlaceOfInstruction(const ProgramDescription& program, const MethodDescription& method,
                               size_t index);

}  // namespace xir
