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

using flatbuffers::uoffset_t;

uint64_t OffsetOf(const program::AllocationDetails& place) {
  return static_cast<uint64_t>(place.memory_offset_high()) << 32 | place.memory_offset_low();
}

BufferInfo InfoOf(const program::Tensor& tensor) {
  BufferInfo info;
  info.name = BufferName(tensor);
  info.dtype = static_cast<DType>(tensor.scalar_type());
  info.nbytes = ElementSize(info.dtype);
  info.shape.rank = tensor.sizes() == nullptr ? 0 : tensor.sizes()->size();
  for (uoffset_t i = 0; i < info.shape.rank; ++i) {
    info.shape[i] = tensor.sizes()->Get(i);
    info.nbytes *= static_cast<size_t>(tensor.sizes()->Get(i));
    info.dim_order.push_back(tensor.dim_order()->Get(i));
  }
  return info;
}

bool SameBuffer(const BufferPlace& a, const BufferPlace& b) {
  return a.info.dtype == b.info.dtype && a.info.shape == b.info.shape &&
         a.info.dim_order == b.info.dim_order && a.arena == b.arena && a.offset == b.offset;
}

// What a tensor with a place in an arena takes there; it need not be a buffer.
BufferPlace PlaceOf(const ProgramView& program, const program::Tensor& tensor) {
  const program::AllocationDetails& place = *tensor.allocation_info();
  return {BufferName(tensor), InfoOf(tensor), place.memory_id(), OffsetOf(place),
          ContentOf(program, tensor)};
}

template <typename Visit>
void ForEachPlanned(const program::ExecutionPlan& plan, const Visit& visit) {
  if (plan.values() == nullptr) return;
  for (const program::EValue* value : *plan.values()) {
    const program::Tensor* tensor = value->val_as_Tensor();
    if (tensor != nullptr && tensor->allocation_info() != nullptr) visit(*tensor);
  }
}

}  // namespace

std::vector<BufferPlace> BuffersOf(const ProgramView& program, const program::ExecutionPlan& plan) {
  std::vector<BufferPlace> buffers;
  ForEachPlanned(plan, [&](const program::Tensor& tensor) {
    if (IsBuffer(tensor)) buffers.push_back(PlaceOf(program, tensor));
  });
  return buffers;
}

Result<std::shared_ptr<ProgramState>> ProgramState::Create(
    std::shared_ptr<const LoadedProgram> program, const std::vector<size_t>& methods) {
  std::shared_ptr<ProgramState> state(new ProgramState(std::move(program), methods));
  const ProgramView& view = state->program_->view;
  for (const size_t method : methods) XIR_RETURN_IF_ERROR(state->Add(*view.plans[method].plan));
  if (methods.size() > 1) {
    for (const size_t method : methods) {
      XIR_RETURN_IF_ERROR(state->CheckOthers(*view.plans[method].plan));
    }
  }
  XIR_RETURN_IF_ERROR(state->Allocate());
  return state;
}

bool ProgramState::Serves(size_t method) const {
  return std::find(methods_.begin(), methods_.end(), method) != methods_.end();
}

Status ProgramState::Add(const program::ExecutionPlan& plan) {
  for (BufferPlace& buffer : BuffersOf(program_->view, plan)) {
    const auto known = by_name_.find(buffer.info.name);
    if (known == by_name_.end()) {
      XIR_RETURN_IF_ERROR(Add(std::move(buffer)));
    } else if (!SameBuffer(buffers_[known->second], buffer)) {
      return Fail(Code::kUnsupported, "buffer '", buffer.info.name,
                  "' is of another type or in another place in method '", View(plan.name()), "'");
    }
  }
  return {};
}

Status ProgramState::Add(BufferPlace buffer) {
  const BufferPlace* other = Overlapped(buffer.arena, buffer.offset, buffer.info.nbytes);
  if (other != nullptr) {
    return Fail(Code::kUnsupported, "buffers '", other->info.name, "' and '", buffer.info.name,
                "' overlap");
  }
  const size_t index = buffers_.size();
  if (buffer.info.nbytes > 0) by_place_.emplace(std::pair(buffer.arena, buffer.offset), index);
  if (const auto name = buffer.name; !name.empty()) by_name_.emplace(name, index);
  buffers_.push_back(std::move(buffer));
  return {};
}

const BufferPlace* ProgramState::Overlapped(uint32_t arena, uint64_t offset,
                                            uint64_t nbytes) const {
  if (nbytes == 0) return nullptr;
  auto at = by_place_.lower_bound({arena, offset});
  if (at != by_place_.begin()) {
    const BufferPlace& before = buffers_[std::prev(at)->second];
    if (before.arena == arena && offset < before.offset + before.info.nbytes) return &before;
  }
  if (at == by_place_.end()) return nullptr;
  const BufferPlace& behind = buffers_[at->second];
  return behind.arena == arena && behind.offset < offset + nbytes ? &behind : nullptr;
}

// That a plan has nothing of its own where another's buffers are. In its own it may have other
// values, which in-place operators return.
Status ProgramState::CheckOthers(const program::ExecutionPlan& plan) const {
  std::unordered_set<const BufferPlace*> own;
  for (const BufferPlace& buffer : BuffersOf(program_->view, plan)) {
    own.insert(Overlapped(buffer.arena, buffer.offset, buffer.info.nbytes));
  }
  Status status;
  ForEachPlanned(plan, [&](const program::Tensor& tensor) {
    const BufferPlace place = PlaceOf(program_->view, tensor);
    const BufferPlace* other = Overlapped(place.arena, place.offset, place.info.nbytes);
    if (!status.ok() || other == nullptr) return;
    const uint64_t end = other->offset + other->info.nbytes;
    if (own.count(other) != 0 && place.offset >= other->offset &&
        place.offset + place.info.nbytes <= end) {
      return;
    }
    status = Fail(Code::kUnsupported, "method '", View(plan.name()),
                  "' plans other values where buffer '", other->info.name,
                  "' is, so that methods cannot share their state");
  });
  return status;
}

Status ProgramState::Allocate() {
  for (const BufferPlace& buffer : buffers_) {
    if (buffer.arena >= arenas_.size()) {
      arenas_.resize(buffer.arena + size_t{1});
      arena_sizes_.resize(buffer.arena + size_t{1});
    }
    if (arenas_[buffer.arena] != nullptr) continue;
    int64_t size = 0;
    for (const size_t method : methods_) {
      const auto* sizes = program_->view.plans[method].plan->non_const_buffer_sizes();
      if (sizes != nullptr && buffer.arena < sizes->size()) {
        size = std::max(size, sizes->Get(buffer.arena));
      }
    }
    arenas_[buffer.arena] =
        AllocateBuffer(static_cast<size_t>(size), program_->options.allocator.get());
    if (arenas_[buffer.arena] == nullptr) {
      return Fail(Code::kResource, "out of memory: an arena of ", size, " bytes");
    }
    arena_sizes_[buffer.arena] = static_cast<size_t>(size);
  }
  // Zeros are there already, and their pages are not touched yet.
  for (const BufferPlace& buffer : buffers_) {
    if (buffer.content != nullptr && buffer.info.nbytes > 0) {
      std::memcpy(MemoryOf(buffer), buffer.content->data(), buffer.info.nbytes);
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

uint8_t* ProgramState::MemoryOf(const BufferPlace& buffer) const {
  return arenas_[buffer.arena].get() + buffer.offset;
}

std::vector<BufferInfo> ProgramState::buffers() const {
  std::vector<BufferInfo> infos;
  for (const BufferPlace& buffer : buffers_) {
    if (!buffer.info.name.empty()) infos.push_back(buffer.info);
  }
  return infos;
}

Result<uint8_t*> ProgramState::Find(std::string_view name, size_t nbytes) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    std::string known;
    for (const BufferInfo& info : buffers()) known += (known.empty() ? "" : ", ") + info.name;
    return Fail(Code::kNotFound, "there is no buffer '", name, "'; there are: ", known);
  }
  const BufferPlace& buffer = buffers_[found->second];
  if (buffer.info.nbytes == nbytes) return MemoryOf(buffer);
  return Fail(Code::kInvalidArgument, "buffer '", name, "' has ", buffer.info.nbytes,
              " bytes, and ", nbytes, " were given");
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
  for (const BufferPlace& buffer : buffers_) {
    if (buffer.info.nbytes == 0) continue;
    if (buffer.content != nullptr) {
      std::memcpy(MemoryOf(buffer), buffer.content->data(), buffer.info.nbytes);
    } else {
      std::memset(MemoryOf(buffer), 0, buffer.info.nbytes);
    }
  }
}

}  // namespace xir
