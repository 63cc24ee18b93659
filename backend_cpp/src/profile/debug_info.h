#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "debug_generated.h"
#include "verify/flatbuffer.h"
#include "verify/work_budget.h"
#include "xir/profile.h"
#include "xir/span.h"

namespace xir {

// A file's information on where its parts come from (xir/schema/debug.fbs). Nothing depends on
// it, so whatever is invalid in it counts as unknown, and is no error. So does what is beyond the
// budget: a hostile file can share one long list or text among all of its handles.
class DebugInfo {
 public:
  static constexpr uint32_t kNoHandle = 65535;  // ExecuTorch's mark of a node without one
  // What a byte of text costs: it is copied, and read again for the table, the trace and the
  // ETDump.
  static constexpr uint64_t kTextCost = 4;

  DebugInfo() = default;
  // Copies the data. Without data, or if it is damaged, nothing is known.
  explicit DebugInfo(Bytes data);

  // By XNode.debug_handle. Charges what it copies.
  std::vector<Origin> OfHandle(uint32_t handle, WorkBudget* budget) const;
  // By the indices of a plan and of an instruction of its first chain.
  std::vector<Origin> OfInstruction(size_t plan, size_t instruction, WorkBudget* budget) const;

 private:
  std::string_view Text(uint32_t index) const;

  NamedTable data_{Bytes()};
  const debug::DebugInfo* info_ = nullptr;
};

}  // namespace xir
