#include "profile/debug_info.h"

#include <algorithm>

namespace xir {
namespace {

// Of one handle, and of one text.
constexpr size_t kMaxOrigins = 64;
constexpr size_t kMaxText = 4096;

// The element at `index`, if there is one.
template <typename Vector>
auto At(const Vector* vector, size_t index) {
  return vector == nullptr || index >= vector->size()
             ? typename Vector::return_type{}
             : vector->Get(static_cast<flatbuffers::uoffset_t>(index));
}

}  // namespace

DebugInfo::DebugInfo(Bytes data)
    : data_(data), info_(data_.Read(debug::VerifyDebugInfoBuffer, debug::GetDebugInfo)) {}

std::string_view DebugInfo::Text(uint32_t index) const {
  return View(At(info_->strings(), index)).substr(0, kMaxText);
}

std::vector<Origin> DebugInfo::OfHandle(uint32_t handle, WorkBudget* budget) const {
  std::vector<Origin> origins;
  if (info_ == nullptr || handle == kNoHandle) return origins;
  const debug::Origins* list = At(info_->handles(), handle);
  if (list == nullptr || list->items() == nullptr) return origins;
  const size_t count = std::min<size_t>(list->items()->size(), kMaxOrigins);
  for (size_t i = 0; i < count; ++i) {
    const debug::Origin* origin = At(info_->origins(), At(list->items(), i));
    if (origin == nullptr) continue;
    const std::string_view file = Text(origin->file()), module = Text(origin->module_()),
                           op = Text(origin->op()), name = Text(origin->name());
    const uint64_t size = file.size() + module.size() + op.size() + name.size();
    if (!budget->Charge(sizeof(Origin) + kTextCost * size).ok()) return {};
    origins.push_back({std::string(file), origin->line(), std::string(module), std::string(op),
                       std::string(name)});
  }
  return origins;
}

std::vector<Origin> DebugInfo::OfInstruction(size_t plan, size_t instruction,
                                             WorkBudget* budget) const {
  if (info_ == nullptr) return {};
  const debug::Plan* entry = At(info_->plans(), plan);
  if (entry == nullptr || entry->instructions() == nullptr ||
      instruction >= entry->instructions()->size()) {
    return {};
  }
  return OfHandle(At(entry->instructions(), instruction), budget);
}

}  // namespace xir
