#include "runtime/state.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "core/guard.h"
#include "core/overlap.h"
#include "runtime/loaded_program.h"

namespace xir {
namespace {

static_assert(sizeof(BufferInfo) <= WorkBudget::kBuffer);

BufferInfo InfoOf(const TensorDescription& tensor) {
  BufferInfo info;
  info.name = tensor.name;
  info.dtype = tensor.dtype;
  info.nbytes = static_cast<size_t>(tensor.nbytes);
  info.shape = tensor.bound();
  info.dim_order.assign(tensor.dim_order.begin(), tensor.dim_order.begin() + tensor.rank);
  return info;
}

bool SameBuffer(const TensorDescription& a, const TensorDescription& b) {
  return a.dtype == b.dtype && a.rank == b.rank && a.sizes == b.sizes &&
         a.dim_order == b.dim_order && a.place->arena == b.place->arena &&
         a.place->begin == b.place->begin;
}

// Every tensor with a place in an arena of the file; it need not be a buffer.
template <typename Visit>
void ForEachPlanned(const MethodDescription& method, const Visit& visit) {
  for (const ValueDescription& value : method.values) {
    const TensorDescription* tensor = value.tensor();
    if (tensor == nullptr || !tensor->place.has_value()) continue;
    if (tensor->place->arena < method.num_planned_arenas) visit(*tensor);
  }
}

std::vector<const TensorDescription*> BuffersOf(const MethodDescription& method) {
  std::vector<const TensorDescription*> buffers;
  ForEachPlanned(method, [&](const TensorDescription& tensor) {
    if (tensor.IsBuffer()) buffers.push_back(&tensor);
  });
  return buffers;
}

std::vector<BufferInfo> InfosOf(const std::vector<const TensorDescription*>& buffers) {
  std::vector<BufferInfo> infos;
  for (const TensorDescription* buffer : buffers) {
    if (!buffer->name.empty()) infos.push_back(InfoOf(*buffer));
  }
  return infos;
}

}  // namespace

std::vector<BufferInfo> NamedBuffers(const MethodDescription& method) {
  return InfosOf(BuffersOf(method));
}

Result<std::shared_ptr<ProgramState>> ProgramState::Create(
    std::shared_ptr<const LoadedProgram> program, const std::vector<size_t>& methods) {
  std::shared_ptr<ProgramState> state(new ProgramState(std::move(program), methods));
  const std::vector<MethodDescription>& described = state->program_->description.methods;
  for (const size_t method : methods) XIR_RETURN_IF_ERROR(state->Add(described[method]));
  if (methods.size() > 1) {
    for (const size_t method : methods) XIR_RETURN_IF_ERROR(state->CheckOthers(described[method]));
  }
  XIR_RETURN_IF_ERROR(state->Allocate());
  return state;
}

bool ProgramState::Serves(size_t method) const {
  return std::find(methods_.begin(), methods_.end(), method) != methods_.end();
}

Status ProgramState::Add(const MethodDescription& method) {
  for (const TensorDescription* buffer : BuffersOf(method)) {
    const auto known = by_name_.find(buffer->name);
    if (known == by_name_.end()) {
      XIR_RETURN_IF_ERROR(Add(*buffer));
    } else if (!SameBuffer(*known->second, *buffer)) {
      return Fail(Code::kUnsupported, "buffer '", buffer->name,
                  "' is of another type or in another place in method '", method.name, "'");
    }
  }
  return {};
}

Status ProgramState::Add(const TensorDescription& buffer) {
  const TensorDescription* other = Overlapped(*buffer.place);
  if (other != nullptr) {
    return Fail(Code::kUnsupported, "buffers '", other->name, "' and '", buffer.name, "' overlap");
  }
  const Place& place = *buffer.place;
  if (buffer.nbytes > 0) by_place_.emplace(std::pair(place.arena, place.begin), &buffer);
  if (!buffer.name.empty()) by_name_.emplace(buffer.name, &buffer);
  buffers_.push_back(&buffer);
  return {};
}

const TensorDescription* ProgramState::Overlapped(const Place& place) const {
  if (place.begin == place.end) return nullptr;
  const auto behind = by_place_.lower_bound({place.arena, place.begin});
  if (behind != by_place_.begin()) {
    const TensorDescription* before = std::prev(behind)->second;
    if (before->place->Overlaps(place)) return before;
  }
  if (behind == by_place_.end()) return nullptr;
  return behind->second->place->Overlaps(place) ? behind->second : nullptr;
}

// That a method has nothing of its own where another's buffers are. In its own it may have other
// values, which in-place operators return.
Status ProgramState::CheckOthers(const MethodDescription& method) const {
  std::unordered_set<const TensorDescription*> own;
  for (const TensorDescription* buffer : BuffersOf(method)) own.insert(Overlapped(*buffer->place));
  Status status;
  ForEachPlanned(method, [&](const TensorDescription& tensor) {
    const Place& place = *tensor.place;
    const TensorDescription* other = Overlapped(place);
    if (!status.ok() || other == nullptr) return;
    if (own.count(other) != 0 && place.begin >= other->place->begin &&
        place.end <= other->place->end) {
      return;
    }
    status =
        Fail(Code::kUnsupported, "method '", method.name, "' plans other values where buffer '",
             other->name, "' is, so that methods cannot share their state");
  });
  return status;
}

Status ProgramState::Allocate() {
  for (const TensorDescription* buffer : buffers_) {
    const uint32_t id = buffer->place->arena;
    if (id >= arenas_.size()) {
      arenas_.resize(id + size_t{1});
      arena_sizes_.resize(id + size_t{1});
    }
    if (arenas_[id] != nullptr) continue;
    uint64_t size = 0;
    for (const size_t method : methods_) {
      const auto& sizes = program_->description.methods[method].arena_sizes;
      if (id < sizes.size()) size = std::max(size, sizes[id]);
    }
    arenas_[id] = AllocateBuffer(static_cast<size_t>(size), program_->options.allocator.get());
    if (arenas_[id] == nullptr) {
      return Fail(Code::kResource, "out of memory: an arena of ", size, " bytes");
    }
    arena_sizes_[id] = static_cast<size_t>(size);
  }
  // Zeros are there already, and their pages are not touched yet.
  for (const TensorDescription* buffer : buffers_) {
    if (buffer->content.has_value() && buffer->nbytes > 0) {
      std::memcpy(MemoryOf(*buffer), buffer->content->data(), buffer->nbytes);
    }
  }
  return {};
}

bool ProgramState::Overlaps(const void* data, size_t nbytes) const {
  for (size_t i = 0; i < arenas_.size(); ++i) {
    if (xir::Overlaps(arenas_[i].get(), arena_sizes_[i], data, nbytes)) return true;
  }
  return false;
}

uint8_t* ProgramState::MemoryOf(const TensorDescription& buffer) const {
  return arenas_[buffer.place->arena].get() + buffer.place->begin;
}

std::vector<BufferInfo> ProgramState::buffers() const { return InfosOf(buffers_); }

Result<uint8_t*> ProgramState::Find(std::string_view name, size_t nbytes) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    std::string known;
    for (const BufferInfo& info : buffers()) known += (known.empty() ? "" : ", ") + info.name;
    return Fail(Code::kNotFound, "there is no buffer '", name, "'; there are: ", known);
  }
  const TensorDescription& buffer = *found->second;
  if (buffer.nbytes == nbytes) return MemoryOf(buffer);
  return Fail(Code::kInvalidArgument, "buffer '", name, "' has ", buffer.nbytes, " bytes, and ",
              nbytes, " were given");
}

Status ProgramState::Read(std::string_view name, void* data, size_t nbytes) const {
  return Guarded([&] { return ReadBuffer(name, data, nbytes); });
}

Status ProgramState::ReadBuffer(std::string_view name, void* data, size_t nbytes) const {
  XIR_ASSIGN_OR_RETURN(const uint8_t* memory, Find(name, nbytes));
  const RunLock::Held held = lock_.Lock();
  if (nbytes > 0) std::memmove(data, memory, nbytes);
  return {};
}

Status ProgramState::Write(std::string_view name, const void* data, size_t nbytes) {
  return Guarded([&] { return WriteBuffer(name, data, nbytes); });
}

Status ProgramState::WriteBuffer(std::string_view name, const void* data, size_t nbytes) {
  XIR_ASSIGN_OR_RETURN(uint8_t * memory, Find(name, nbytes));
  const RunLock::Held held = lock_.Lock();
  if (nbytes > 0) std::memmove(memory, data, nbytes);
  return {};
}

void ProgramState::Reset() {
  const RunLock::Held held = lock_.Lock();
  for (const TensorDescription* buffer : buffers_) {
    if (buffer->nbytes == 0) continue;
    if (buffer->content.has_value()) {
      std::memcpy(MemoryOf(*buffer), buffer->content->data(), buffer->nbytes);
    } else {
      std::memset(MemoryOf(*buffer), 0, buffer->nbytes);
    }
  }
}

}  // namespace xir
