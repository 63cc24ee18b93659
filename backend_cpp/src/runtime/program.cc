#include "xir/program.h"

#include <numeric>
#include <utility>

#include "core/guard.h"
#include "core/memory_limit.h"
#include "program/decode.h"
#include "runtime/instance.h"
#include "runtime/loaded_program.h"
#include "runtime/state.h"

namespace xir {
namespace {

// What is known of weights that are missing, before the key that the verifier names.
std::string Searched(const std::vector<Source>& data) {
  if (data.empty()) return "its weights are apart from it, and no .ptd file was given";
  std::string names;
  for (size_t i = 0; i < data.size(); ++i) {
    const bool has_path = data[i].kind() == Source::Kind::kPath;
    names += (i == 0 ? "" : ", ") +
             (has_path ? "'" + data[i].path() + "'" : "data file " + std::to_string(i));
  }
  return "weights are apart from it that are not in " + names;
}

// What the states of kernels may take: several times what all constants do, as 16-bit ones are
// packed as 32-bit ones and lines are padded.
uint64_t StateBytes(uint64_t file_bytes) { return (uint64_t{1} << 20) + 4 * file_bytes; }

Result<std::shared_ptr<const LoadedProgram>> LoadFiles(FileBytes file, LoadOptions options) {
  if (!(options.max_seconds >= 0)) {
    return Fail(Code::kInvalidArgument, "a limit of ", options.max_seconds, " seconds");
  }
  if (options.max_memory == 0) options.max_memory = AvailableMemory();
  std::shared_ptr<ThreadPool> pool = options.thread_pool;
  if (pool == nullptr) {
    XIR_ASSIGN_OR_RETURN(pool, ThreadPool::Shared(options.threads, options.xnnpack_paths));
  }
  auto loaded = std::shared_ptr<LoadedProgram>(
      new LoadedProgram{std::move(file), {}, std::move(options), std::move(pool), {}, {}, {}, {}});
  std::vector<Bytes> data;
  uint64_t total_size = loaded->file.bytes().size();
  for (size_t i = 0; i < loaded->options.data.size(); ++i) {
    auto bytes = FileBytes::Read(loaded->options.data[i]);
    if (!bytes.ok()) return std::move(bytes).status().In("data file " + std::to_string(i));
    loaded->data.push_back(std::move(bytes).value());
    data.push_back(loaded->data.back().bytes());
    total_size += data.back().size();
  }
  loaded->state_bytes_left = StateBytes(total_size);
  WorkBudget budget(total_size);
  XIR_ASSIGN_OR_RETURN(loaded->description, DecodeProgram(loaded->file.bytes(), data,
                                                          {loaded->options.max_memory}, &budget));
  XIR_RETURN_IF_ERROR(PrepareDelegates(loaded.get(), &budget));
  loaded->slots = std::make_unique<LoadedProgram::Slot[]>(loaded->description.methods.size());
  return std::shared_ptr<const LoadedProgram>(std::move(loaded));
}

}  // namespace

Result<std::shared_ptr<const Program>> Program::Load(const Source& source, LoadOptions options) {
  return Guarded([&] { return LoadSource(source, std::move(options)); });
}

Result<std::shared_ptr<const Program>> Program::LoadSource(const Source& source,
                                                           LoadOptions options) {
  XIR_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Read(source));
  const std::vector<Source> data = options.data;
  auto loaded = LoadFiles(std::move(file), std::move(options));
  if (loaded.ok()) return std::shared_ptr<const Program>(new Program(std::move(loaded).value()));
  Status status = std::move(loaded).status();
  if (status.code() == Code::kMissingData) status = std::move(status).In(Searched(data));
  return source.kind() == Source::Kind::kPath ? std::move(status).In("'" + source.path() + "'")
                                              : std::move(status);
}

Result<std::shared_ptr<const Program>> Program::Open(const std::string& path, LoadOptions options) {
  return Guarded([&] { return LoadSource(Source::Path(path), std::move(options)); });
}

Result<std::shared_ptr<const Program>> Program::FromBytes(Bytes bytes, LoadOptions options) {
  return Guarded([&] { return LoadSource(Source::Copied(bytes), std::move(options)); });
}

Program::~Program() = default;

std::vector<std::string> Program::method_names() const {
  std::vector<std::string> names;
  for (const MethodDescription& each : loaded_->description.methods) names.push_back(each.name);
  return names;
}

size_t Program::threads() const { return loaded_->pool->num_threads(); }

Result<MethodMetadata> Program::method_metadata(std::string_view name) const {
  return Guarded([&]() -> Result<MethodMetadata> {
    XIR_ASSIGN_OR_RETURN(const size_t method, loaded_->FindMethod(name));
    return ReadMetadata(loaded_->description, loaded_->description.methods[method]);
  });
}

Result<std::unique_ptr<Method>> Program::LoadMethod(std::string_view name) const {
  return Guarded([&]() -> Result<std::unique_ptr<Method>> {
    XIR_ASSIGN_OR_RETURN(const size_t method, loaded_->FindMethod(name));
    auto state = ProgramState::Create(loaded_, {method});
    if (!state.ok()) {
      return std::move(state).status().In("method '" + std::string(name) + "'");
    }
    return LoadInstance(name, std::move(state).value());
  });
}

Result<std::shared_ptr<State>> Program::NewState() const {
  return Guarded([&]() -> Result<std::shared_ptr<State>> {
    std::vector<size_t> methods(loaded_->description.methods.size());
    std::iota(methods.begin(), methods.end(), size_t{0});
    XIR_ASSIGN_OR_RETURN(std::shared_ptr<State> state, ProgramState::Create(loaded_, methods));
    return state;
  });
}

Result<std::unique_ptr<Method>> Program::LoadMethod(std::string_view name,
                                                    std::shared_ptr<State> state) const {
  return Guarded([&] { return LoadInstance(name, std::move(state)); });
}

Result<std::unique_ptr<Method>> Program::LoadInstance(std::string_view name,
                                                      std::shared_ptr<State> state) const {
  const std::string context = "method '" + std::string(name) + "'";
  XIR_ASSIGN_OR_RETURN(const size_t method, loaded_->FindMethod(name));
  auto own = std::dynamic_pointer_cast<ProgramState>(std::move(state));
  if (own == nullptr || own->program() != loaded_.get()) {
    return Fail(Code::kInvalidArgument, "the state is not this program's").In(context);
  }
  if (!own->Serves(method)) {
    return Fail(Code::kInvalidArgument,
                "the state is another method's alone; a new state of the program serves all")
        .In(context);
  }
  auto plan = loaded_->PlanOf(method);
  if (!plan.ok()) return std::move(plan).status().In(context);
  auto instance = MethodInstance::Create(loaded_, *plan.value(), std::move(own));
  if (!instance.ok()) return std::move(instance).status().In(context);
  return std::unique_ptr<Method>(std::move(instance).value());
}

size_t Program::packed_bytes() const { return loaded_->backends.packed_bytes(); }

PackedFileState Program::packed_file() const { return loaded_->backends.packed_file(); }

Result<size_t> LoadedProgram::FindMethod(std::string_view name) const {
  XIR_RETURN_IF_ERROR(CheckFiles());
  for (const MethodDescription& method : description.methods) {
    if (method.name == name) return method.index;
  }
  std::string known;
  for (const MethodDescription& method : description.methods) {
    known += (known.empty() ? "" : ", ") + method.name;
  }
  return Fail(Code::kNotFound, "the program has no method '", name, "'; it has: ", known);
}

Status LoadedProgram::CheckFiles() const {
  XIR_RETURN_IF_ERROR(file.CheckWhole());
  for (const FileBytes& each : data) XIR_RETURN_IF_ERROR(each.CheckWhole());
  return {};
}

void LoadedProgram::Log(LogLevel level, const std::string& message) const {
  if (options.logger) options.logger(level, message);
}

Result<const MethodPlan*> LoadedProgram::PlanOf(size_t method) const {
  Slot& slot = slots[method];
  const std::lock_guard<std::mutex> lock(slot.mutex);
  if (slot.plan == nullptr) {
    XIR_ASSIGN_OR_RETURN(slot.plan, MakePlan(*this, method));
  }
  return slot.plan.get();
}

}  // namespace xir
