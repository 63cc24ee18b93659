#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/file_bytes.h"
#include "program/description.h"
#include "runtime/delegates.h"
#include "runtime/plan.h"
#include "xir/program.h"

namespace xir {

// What a program and its methods share.
struct LoadedProgram {
  // A method's plan, made when the method is first loaded.
  struct Slot {
    std::mutex mutex;
    std::unique_ptr<const MethodPlan> plan;
  };

  FileBytes file;
  std::vector<FileBytes> data;  // of .ptd files
  LoadOptions options;
  std::shared_ptr<ThreadPool> pool;
  ProgramDescription description;
  Backends backends;
  std::vector<std::vector<PreparedDelegate>> delegates;  // by method and index
  std::unique_ptr<Slot[]> slots;                         // by method
  // What the states of kernels may yet take, all methods' together.
  mutable std::atomic<uint64_t> state_bytes_left{0};

  // The index of a method in description.methods; the error names the methods that there are.
  Result<size_t> FindMethod(std::string_view name) const;
  Result<const MethodPlan*> PlanOf(size_t method) const;
  // Fails if one of the files that are mapped has become shorter.
  Status CheckFiles() const;
  // Tells the application's logger, if it has one.
  void Log(LogLevel level, const std::string& message) const;
};

}  // namespace xir
