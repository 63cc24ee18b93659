#include "runtime/packed_store.h"

#include <algorithm>
#include <utility>

namespace xir {
namespace {

const PackedEntry* Find(const std::vector<PackedEntry>& entries, uint64_t graph) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.graph == graph; });
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace

void PackedStore::Open() {
  if (std::exchange(opened_, true)) return;
  std::vector<const GraphView*> views;
  for (const PlanView& plan : program_.plans) {
    for (const GraphView& graph : plan.delegates) views.push_back(&graph);
  }
  auto file = ReadPackedFile(path_, views);
  if (file.ok()) {
    entries_ = std::move(file).value();
    return;
  }
  const Status status = std::move(file).status();
  if (status.code() != Code::kNotFound) state_.remark = status.message();
}

void PackedStore::Load(PackedGraph* graph) {
  if (path_.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  Open();
  const uint64_t digest = digests_.emplace(graph, DigestGraph(graph->view())).first->second;
  const PackedEntry* entry = Find(entries_, digest);
  if (entry != nullptr) graph->Adopt(entry->weights);
}

void PackedStore::Save(const std::vector<std::unique_ptr<PackedGraph>>& graphs) {
  if (path_.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  bool changed = false;
  for (const auto& graph : graphs) {
    const auto weights = graph->weights();
    if (weights == nullptr || weights->weights.empty()) continue;
    if (weights->file != nullptr) {
      state_.read = true;
      continue;
    }
    const uint64_t digest = digests_.at(graph.get());
    const PackedEntry* known = Find(entries_, digest);
    if (known != nullptr && known->weights == weights) continue;
    // What the file had for it was not what XNNPACK asked for, or another graph is just the same.
    if (known != nullptr && known->weights->file == nullptr) continue;
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry.graph == digest; }),
                   entries_.end());
    entries_.push_back({digest, weights});
    changed = true;
  }
  if (!changed) return;
  Status status = WritePackedFile(path_, entries_);
  state_.written = status.ok();
  state_.remark = status.ok() ? "" : status.message();
}

PackedFileState PackedStore::state() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

}  // namespace xir
