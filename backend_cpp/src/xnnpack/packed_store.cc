#include "xnnpack/packed_store.h"

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

void PackedStore::Add(const GraphView* graph) {
  if (path_.empty()) return;
  places_.emplace(graph, views_.size());
  views_.push_back(graph);
  seal_.graphs.push_back(0);
}

void PackedStore::Open() {
  if (std::exchange(opened_, true)) return;
  auto file = ReadPackedFile(path_, views_);
  if (file.ok()) {
    entries_ = std::move(file.value().entries);
    const std::optional<PackedSeal>& seal = file.value().seal;
    const bool known = seal.has_value() && seal->source == seal_.source && seal_.source != 0 &&
                       seal->graphs.size() == seal_.graphs.size();
    if (known) seal_.graphs = seal->graphs;
    // A program that is no file has nothing to add to a seal.
    sealed_ = known || (seal.has_value() && seal_.source == 0);
    return;
  }
  const Status status = std::move(file).status();
  if (status.code() != Code::kNotFound) state_.remark = status.message();
}

uint64_t& PackedStore::DigestOf(const PackedGraph& graph) {
  uint64_t& digest = seal_.graphs[places_.at(&graph.view())];
  if (digest != 0) return digest;
  digest = DigestGraph(graph.view());
  sealed_ = sealed_ && seal_.source == 0;
  return digest;
}

void PackedStore::Load(PackedGraph* graph) {
  if (path_.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  Open();
  const PackedEntry* entry = Find(entries_, DigestOf(*graph));
  if (entry != nullptr) graph->Adopt(entry->weights);
}

void PackedStore::Save(const std::vector<PackedGraph*>& graphs) {
  if (path_.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  bool changed = false;
  for (PackedGraph* graph : graphs) {
    const auto weights = graph->weights();
    if (weights == nullptr || weights->weights.empty()) continue;
    if (weights->file != nullptr) {
      state_.read = true;
      continue;
    }
    const uint64_t digest = DigestOf(*graph);
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
  if (!changed) return Seal();
  Status status = WritePackedFile(path_, entries_, seal_);
  sealed_ = status.ok();
  state_.written = status.ok();
  state_.remark = status.ok() ? "" : status.message();
}

void PackedStore::Seal() {
  if (std::exchange(sealed_, true)) return;
  for (const PackedEntry& entry : entries_) {
    if (entry.weights->file != nullptr) {
      return SealPackedFile(path_, *entry.weights->file, seal_);
    }
  }
}

PackedFileState PackedStore::state() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

}  // namespace xir
