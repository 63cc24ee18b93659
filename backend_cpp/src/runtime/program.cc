#include "xir/program.h"

#include <sched.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "core/memory_limit.h"
#include "runtime/instance.h"
#include "runtime/loaded_program.h"
#include "verify/verify.h"
#include "xnnpack/loader.h"

namespace xir {
namespace {

size_t AvailableCores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    return static_cast<size_t>(std::max(CPU_COUNT(&allowed), 1));
  }
  return std::max(std::thread::hardware_concurrency(), 1u);
}

Result<std::shared_ptr<const LoadedProgram>> Load(FileBytes file, LoadOptions options) {
  constexpr size_t kMaxThreads = 1024;
  if (options.threads > kMaxThreads) {
    return Fail(Code::kInvalidArgument, options.threads, " threads; the most is ", kMaxThreads);
  }
  if (options.max_memory == 0) options.max_memory = AvailableMemory();
  const size_t threads = options.threads == 0 ? AvailableCores() : options.threads;
  auto loaded = std::shared_ptr<LoadedProgram>(
      new LoadedProgram{std::move(file), std::move(options), threads, {}, {}, {}});
  XIR_ASSIGN_OR_RETURN(loaded->view,
                       VerifyProgram(loaded->file.bytes(), {loaded->options.max_memory}));
  loaded->slots = std::make_unique<LoadedProgram::Slot[]>(loaded->view.plans.size());
  const bool has_delegates =
      std::any_of(loaded->view.plans.begin(), loaded->view.plans.end(),
                  [](const PlanView& plan) { return !plan.delegates.empty(); });
  if (has_delegates) {
    XIR_RETURN_IF_ERROR(LoadXnnpack(loaded->options.library_paths));
    if (threads > 1) {
      loaded->pool.reset(pthreadpool_create(threads));
      if (loaded->pool == nullptr) {
        return Fail(Code::kResource, "cannot start ", threads, " threads");
      }
    }
  }
  return std::shared_ptr<const LoadedProgram>(std::move(loaded));
}

}  // namespace

Result<std::shared_ptr<const Program>> Program::Open(const std::string& path, LoadOptions options) {
  XIR_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Map(path));
  auto loaded = Load(std::move(file), std::move(options));
  if (!loaded.ok()) return std::move(loaded).status().In("'" + path + "'");
  return std::shared_ptr<const Program>(new Program(std::move(loaded).value()));
}

Result<std::shared_ptr<const Program>> Program::FromBytes(Bytes bytes, LoadOptions options) {
  XIR_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Copy(bytes));
  XIR_ASSIGN_OR_RETURN(auto loaded, Load(std::move(file), std::move(options)));
  return std::shared_ptr<const Program>(new Program(std::move(loaded)));
}

Program::~Program() = default;

std::vector<std::string> Program::method_names() const {
  std::vector<std::string> names;
  for (const PlanView& plan : loaded_->view.plans) names.push_back(plan.plan->name()->str());
  return names;
}

size_t Program::threads() const { return loaded_->threads; }

Result<MethodMetadata> Program::method_metadata(std::string_view name) const {
  XIR_ASSIGN_OR_RETURN(const size_t method, loaded_->FindMethod(name));
  return ReadMetadata(loaded_->view, loaded_->view.plans[method]);
}

Result<std::unique_ptr<Method>> Program::LoadMethod(std::string_view name) const {
  const std::string context = "method '" + std::string(name) + "'";
  XIR_ASSIGN_OR_RETURN(const size_t method, loaded_->FindMethod(name));
  auto plan = loaded_->PlanOf(method);
  if (!plan.ok()) return std::move(plan).status().In(context);
  auto instance = MethodInstance::Create(loaded_, *plan.value());
  if (!instance.ok()) return std::move(instance).status().In(context);
  return std::unique_ptr<Method>(std::move(instance).value());
}

size_t Program::packed_bytes() const {
  size_t total = 0;
  for (size_t i = 0; i < loaded_->view.plans.size(); ++i) {
    LoadedProgram::Slot& slot = loaded_->slots[i];
    const std::lock_guard<std::mutex> lock(slot.mutex);
    if (slot.plan == nullptr) continue;
    for (const auto& graph : slot.plan->weights) total += graph->nbytes();
  }
  return total;
}

Result<size_t> LoadedProgram::FindMethod(std::string_view name) const {
  std::string known;
  for (size_t i = 0; i < view.plans.size(); ++i) {
    const std::string_view each = View(view.plans[i].plan->name());
    if (each == name) return i;
    known += (known.empty() ? "" : ", ") + std::string(each);
  }
  return Fail(Code::kNotFound, "the program has no method '", name, "'; it has: ", known);
}

Result<const MethodPlan*> LoadedProgram::PlanOf(size_t method) const {
  Slot& slot = slots[method];
  const std::lock_guard<std::mutex> lock(slot.mutex);
  if (slot.plan == nullptr) {
    XIR_ASSIGN_OR_RETURN(slot.plan, MakePlan(view, view.plans[method], file, options.fallback));
  }
  return slot.plan.get();
}

}  // namespace xir
