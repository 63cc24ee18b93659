#include "xnnpack/packed_store.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace xir {
namespace {

// Of the file, unless the program's own weights take more than half of it.
constexpr uint64_t kDefaultLimit = uint64_t{256} << 20;

PackedEntry* Find(std::vector<PackedEntry>& entries, uint64_t graph) {
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
    file_ = std::move(file.value().file);
    stamp_ = *file_->stamp();
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
    entries_.push_back({digest, 0, weights});
    changed = true;
  }
  if (changed) Merge();
  const bool used = Use();
  if (!changed) {
    if (used || !sealed_) Update();
    return;
  }
  Evict();
  Status status = WritePackedFile(path_, entries_, seal_);
  sealed_ = status.ok();
  file_ = nullptr;  // the one that was read is not at this path any more
  state_.written = status.ok();
  state_.remark = status.ok() ? "" : status.message();
}

bool PackedStore::Use() {
  uint64_t latest = 0;
  for (const PackedEntry& entry : entries_) latest = std::max(latest, entry.turn);
  std::unordered_set<uint64_t> used(seal_.graphs.begin(), seal_.graphs.end());
  used.erase(0);
  const auto is_used = [&](const PackedEntry& entry) { return used.count(entry.graph) != 0; };
  const auto is_latest = [&](const PackedEntry& entry) {
    return entry.turn == latest && latest != 0;
  };
  const bool known = std::all_of(entries_.begin(), entries_.end(), [&](const PackedEntry& entry) {
    return !is_used(entry) || is_latest(entry);
  });
  if (known) return false;
  // Turns that somebody has written wrongly begin anew.
  if (latest == UINT64_MAX) {
    for (PackedEntry& entry : entries_) entry.turn = 0;
    latest = 0;
  }
  for (PackedEntry& entry : entries_) {
    if (is_used(entry)) entry.turn = latest + 1;
  }
  return true;
}

void PackedStore::Merge() {
  auto file = ReadPackedFile(path_, views_);
  if (!file.ok()) return;
  for (PackedEntry& entry : file.value().entries) {
    PackedEntry* known = Find(entries_, entry.graph);
    if (known == nullptr) {
      entries_.push_back(std::move(entry));
    } else {
      known->turn = std::max(known->turn, entry.turn);
    }
  }
}

void PackedStore::Evict() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const PackedEntry& a, const PackedEntry& b) { return a.turn > b.turn; });
  const auto others = std::find_if(entries_.begin(), entries_.end(), [&](const PackedEntry& entry) {
    return entry.turn != entries_.front().turn;
  });
  auto kept = static_cast<size_t>(others - entries_.begin());
  const uint64_t own = PackedSize({entries_.data(), kept});
  const uint64_t limit = limit_ != 0 ? limit_ : std::max(kDefaultLimit, 2 * own);
  while (kept < entries_.size() && PackedSize({entries_.data(), kept + 1}) <= limit) ++kept;
  entries_.resize(kept);
}

void PackedStore::Update() {
  if (file_ == nullptr) return;
  UpdatePackedFile(path_, *file_, entries_, std::exchange(sealed_, true) ? nullptr : &seal_,
                   &stamp_);
}

PackedFileState PackedStore::state() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

}  // namespace xir
