#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/file_bytes.h"
#include "runtime/plan.h"
#include "verify/program_view.h"
#include "xir/program.h"
#include "xnnpack/handles.h"

namespace xir {

// What a program and its methods share.
struct LoadedProgram {
  // A method's plan, made when the method is first loaded.
  struct Slot {
    std::mutex mutex;
    std::unique_ptr<const MethodPlan> plan;
  };

  FileBytes file;
  LoadOptions options;
  size_t threads = 1;
  ProgramView view;
  std::unique_ptr<Slot[]> slots;  // parallel to view.plans
  ThreadPool pool;                // null with one thread

  // The index of a method in view.plans; fails with the names that there are.
  Result<size_t> FindMethod(std::string_view name) const;
  Result<const MethodPlan*> PlanOf(size_t method) const;
};

}  // namespace xir
