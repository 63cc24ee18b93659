#include "runtime/delegates.h"

#include <algorithm>
#include <string>

#include "runtime/loaded_program.h"
#include "xnnpack/backend.h"
#include "xnnpack/packed_seal.h"

namespace xir {
namespace {

constexpr TypedBackend kBackends[] = {
    MakeBackend<XnnBackend>("XnnpackBackend"),
    MakeBackend<XnnBackend>("XirXnnpackBackend"),
};

const TypedBackend* FindBackend(std::string_view id, const KernelRegistry* registry) {
  if (registry != nullptr) {
    if (const TypedBackend* own = registry->FindBackend(id)) return own;
  }
  const auto* found = std::find_if(std::begin(kBackends), std::end(kBackends),
                                   [&](const TypedBackend& each) { return each.id == id; });
  return found == std::end(kBackends) ? nullptr : found;
}

BackendOptions OptionsOf(const LoadedProgram& program) {
  BackendOptions options;
  options.thread_pool = program.pool;
  options.allocator = program.options.allocator.get();
  options.max_memory = program.options.max_memory;
  options.xnnpack_paths = program.options.xnnpack_paths;
  options.packed_weights = program.options.packed_weights;
  options.packed_weights_limit = program.options.packed_weights_limit;
  std::vector<const FileBytes*> files = {&program.file};
  for (const FileBytes& each : program.data) files.push_back(&each);
  options.source = DigestStamps(files);
  options.release = [&program](Bytes part) {
    program.file.GiveBack(part);
    for (const FileBytes& each : program.data) each.GiveBack(part);
  };
  return options;
}

}  // namespace

Result<Backend*> Backends::Get(std::string_view id, const LoadedProgram& program) {
  const TypedBackend* type = FindBackend(id, program.options.kernels.get());
  if (type == nullptr) {
    return Fail(Code::kUnsupported, "it is for '", id,
                "', which this runtime does not have; a library of its backend can be loaded with "
                "the program (xir/kernel_library.h)");
  }
  for (const auto& [create, backend] : all_) {
    if (create == type->create) return backend.get();
  }
  XIR_ASSIGN_OR_RETURN(auto backend, type->create(OptionsOf(program)));
  all_.emplace_back(type->create, std::move(backend));
  return all_.back().second.get();
}

size_t Backends::packed_bytes() const {
  size_t total = 0;
  for (const auto& [create, backend] : all_) total += backend->packed_bytes();
  return total;
}

PackedFileState Backends::packed_file() const {
  PackedFileState all;
  for (const auto& [create, backend] : all_) {
    const PackedFileState state = backend->packed_file();
    all.read = all.read || state.read;
    all.written = all.written || state.written;
    if (!state.remark.empty()) all.remark += (all.remark.empty() ? "" : "; ") + state.remark;
  }
  return all;
}

Status PrepareDelegates(LoadedProgram* program, WorkBudget* budget) {
  for (const MethodDescription& method : program->description.methods) {
    std::vector<PreparedDelegate>& prepared = program->delegates.emplace_back();
    for (const DelegateDescription& from : method.delegates) {
      const size_t index = prepared.size();
      // A name may be long, so that it is copied for errors alone.
      const auto context = [&] {
        return "method '" + method.name + "': delegate " + std::to_string(index);
      };
      auto backend = program->backends.Get(from.id, *program);
      if (!backend.ok()) return std::move(backend).status().In(context());
      auto plan =
          backend.value()->Prepare({index, from.bytes, from.specs, &program->description, budget});
      if (!plan.ok()) return std::move(plan).status().In(context());
      prepared.push_back({backend.value(), std::move(plan).value()});
    }
  }
  return {};
}

Result<std::vector<std::unique_ptr<Delegate>>> Instantiate(
    const std::vector<PreparedDelegate>& prepared, bool profile) {
  std::vector<std::unique_ptr<Delegate>> delegates(prepared.size());
  for (size_t first = 0; first < prepared.size(); ++first) {
    if (delegates[first] != nullptr) continue;
    // All that are left of one backend.
    std::vector<PlannedDelegate> planned;
    for (size_t i = first; i < prepared.size(); ++i) {
      if (prepared[i].backend == prepared[first].backend) {
        planned.push_back({i, prepared[i].plan.get()});
      }
    }
    XIR_ASSIGN_OR_RETURN(auto made, prepared[first].backend->Instantiate(planned, profile));
    if (made.size() != planned.size()) {
      return Fail(Code::kInternal, "a backend made ", made.size(), " delegates of ",
                  planned.size());
    }
    for (size_t i = 0; i < made.size(); ++i) delegates[planned[i].index] = std::move(made[i]);
  }
  return delegates;
}

}  // namespace xir
