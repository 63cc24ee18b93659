#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "verify/work_budget.h"
#include "xir/delegate.h"

namespace xir {

struct LoadedProgram;

// The backends that a program's delegates refer to, each created when the first of them does.
class Backends {
 public:
  // Fails if neither the application nor the runtime has a backend of this id.
  Result<Backend*> Get(std::string_view id, const LoadedProgram& program);
  PackedFileState packed_file() const;
  size_t packed_bytes() const;

 private:
  using Create = Result<std::unique_ptr<Backend>> (*)(const BackendOptions&);
  std::vector<std::pair<Create, std::unique_ptr<Backend>>> all_;
};

struct PreparedDelegate {
  Backend* backend = nullptr;
  std::unique_ptr<const DelegatePlan> plan;
};

// Has its backend verify each delegate of a program whose view is there.
Status PrepareDelegates(LoadedProgram* program, WorkBudget* budget);

// Delegates for one instance of a method, in the order of their plans.
Result<std::vector<std::unique_ptr<Delegate>>> Instantiate(
    const std::vector<PreparedDelegate>& prepared, bool profile);

}  // namespace xir
