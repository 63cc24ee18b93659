#include "xnnpack/packed_weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "xnnpack/shared_weights.h"

namespace xir {
namespace {

constexpr size_t kNotFound = SIZE_MAX;  // XNN_CACHE_NOT_FOUND of src/xnnpack/cache.h
// What graphs that are smaller share.
constexpr size_t kSharedChunk = size_t{64} << 20;
// Of what was packed from a filter, the latest that are compared: files may have any number.
constexpr size_t kMostCompared = 8;

// XNNPACK counts in offsets; here they are addresses.
size_t OffsetOf(const uint8_t* data) { return reinterpret_cast<size_t>(data); }

}  // namespace

PackedGraph::PackedGraph(const GraphView& view, std::function<void(Bytes)> release,
                         SharedWeights* shared)
    : view_(view), release_(std::move(release)), shared_(*shared) {
  shared_.Join(this);
  for (size_t i = 1; i < view.constants.size(); ++i) {
    constants_.emplace(view.constants[i].data(), static_cast<uint32_t>(i));
    constant_bytes_ += view.constants[i].size();
  }
}

std::shared_ptr<const PackedWeights> PackedGraph::weights() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return weights_;
}

void PackedGraph::Adopt(std::shared_ptr<const PackedWeights> weights) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (weights_ == nullptr) weights_ = std::move(weights);
}

uint32_t PackedGraph::IndexOf(const void* constant) const {
  const auto found = constants_.find(constant);
  return found == constants_.end() ? 0 : found->second;
}

const std::unordered_map<uint32_t, std::string>& PackedGraph::descriptions() {
  if (!descriptions_.has_value()) {
    descriptions_.emplace();
    if (shared_.num_graphs() > 1) descriptions_ = DescribeWeights(view_);
  }
  return *descriptions_;
}

void PackedGraph::Share(const std::shared_ptr<const PackedWeights>& weights) {
  for (const PackedWeight& weight : weights->weights) {
    const auto found = descriptions().find(weight.kernel);
    if (found != descriptions().end()) {
      shared_.Add(found->second, weight, weights);
    }
  }
}

WeightsProvider::WeightsProvider(PackedGraph* graph) : graph_(*graph) {
  provider_.context = this;
  // XNNPACK is C: nothing may be thrown through it.
  provider_.look_up = [](void* self, const xnn_weights_cache_look_up_key* key) {
    return Self(self).Answer(kNotFound, [&] { return Self(self).LookUp(*key); });
  };
  provider_.reserve_space = [](void* self, size_t size) -> void* {
    return Self(self).Answer<uint8_t*>(nullptr, [&] { return Self(self).Reserve(size); });
  };
  provider_.look_up_or_insert = [](void* self, const xnn_weights_cache_look_up_key* key, void* data,
                                   size_t size) {
    auto* packed = static_cast<uint8_t*>(data);
    return Self(self).Answer(OffsetOf(packed),
                             [&] { return Self(self).Insert(*key, packed, size); });
  };
  provider_.is_finalized = [](void*) { return true; };
  provider_.offset_to_addr = [](void*, size_t offset) { return reinterpret_cast<void*>(offset); };
  provider_.delete_cache = [](void*) { return xnn_status_success; };
  provider_.alias_data = [](void*, void*, void*) { return xnn_status_success; };
}

Status WeightsProvider::Create(const std::function<Status(xnn_weights_cache_t)>& create) {
  weights_ = graph_.weights();
  if (weights_ == nullptr) {
    const std::lock_guard<std::mutex> lock(graph_.shared_.packing());
    weights_ = graph_.weights();
    if (weights_ == nullptr) return Pack(create);
  }
  XIR_RETURN_IF_ERROR(create(&provider_));
  scratch_.reset();
  scratch_size_ = 0;
  if (!failed_ && next_ == weights_->weights.size()) {
    if (weights_->file != nullptr && graph_.shared_.num_graphs() > 1) {
      const std::lock_guard<std::mutex> lock(graph_.shared_.packing());
      graph_.Share(weights_);
    }
    return {};
  }
  if (weights_->file == nullptr) {
    return Fail(Code::kInternal, "XNNPACK asks for other weights than it has packed");
  }
  {
    const std::lock_guard<std::mutex> lock(graph_.mutex_);
    if (graph_.weights_ == weights_) graph_.weights_ = nullptr;
  }
  failed_ = false;
  next_ = 0;
  return Create(create);
}

Status WeightsProvider::CheckFiles() const {
  const auto check = [](const PackedWeights& weights) {
    return weights.file == nullptr ? Status() : weights.file->CheckWhole();
  };
  XIR_RETURN_IF_ERROR(check(*weights_).In("packed weights"));
  for (const auto& lender : weights_->lenders) {
    XIR_RETURN_IF_ERROR(check(*lender).In("packed weights"));
  }
  return {};
}

Status WeightsProvider::Pack(const std::function<Status(xnn_weights_cache_t)>& create) {
  packing_ = std::make_shared<PackedWeights>();
  packed_of_.clear();
  Status status = create(&provider_);
  weights_ = std::exchange(packing_, nullptr);
  if (status.ok() && failed_) status = Fail(Code::kResource, "out of memory for packed weights");
  if (!status.ok()) return status;
  graph_.Share(weights_);
  graph_.Adopt(weights_);
  return {};
}

const uint8_t* WeightsProvider::Borrow(PackedWeight weight, Bytes packed) {
  const auto description = graph_.descriptions().find(weight.kernel);
  if (description == graph_.descriptions().end()) return nullptr;
  auto [owner, found] = graph_.shared_.Find(description->second, weight.seed);
  if (owner == nullptr) return nullptr;
  if (packed.data() != nullptr &&
      (packed.size() != found.size || std::memcmp(packed.data(), found.data, found.size) != 0)) {
    return nullptr;
  }
  weight.data = found.data;
  weight.size = found.size;
  packing_->weights.push_back(weight);
  if (packing_->lenders.empty() || packing_->lenders.back() != owner) {
    packing_->lenders.push_back(std::move(owner));
  }
  return weight.data;
}

const uint8_t* WeightsProvider::Repeat(PackedWeight weight, Bytes packed) {
  const std::vector<size_t>& before = packed_of_[weight.kernel];
  const size_t compared = std::min(before.size(), kMostCompared);
  for (auto each = before.rbegin(); each != before.rbegin() + compared; ++each) {
    const PackedWeight& other = packing_->weights[*each];
    if (other.bias != weight.bias || other.size != packed.size()) continue;
    if (std::memcmp(other.data, packed.data(), packed.size()) != 0) continue;
    weight.data = other.data;
    weight.size = other.size;
    packing_->weights.push_back(weight);
    return weight.data;
  }
  return nullptr;
}

PackedWeight WeightsProvider::Describe(const xnn_weights_cache_look_up_key& key) const {
  PackedWeight weight;
  weight.kernel = graph_.IndexOf(key.kernel);
  weight.bias = graph_.IndexOf(key.bias);
  weight.seed = key.seed;
  return weight;
}

const PackedWeight* WeightsProvider::Next(const xnn_weights_cache_look_up_key& key) {
  if (failed_ || next_ >= weights_->weights.size()) return nullptr;
  const PackedWeight& weight = weights_->weights[next_];
  const PackedWeight asked = Describe(key);
  if (asked.kernel != weight.kernel || asked.bias != weight.bias || asked.seed != weight.seed) {
    return nullptr;
  }
  ++next_;
  return &weight;
}

size_t WeightsProvider::LookUp(const xnn_weights_cache_look_up_key& key) {
  if (packing_ != nullptr) {
    const uint8_t* borrowed = Borrow(Describe(key), {});
    return borrowed == nullptr ? kNotFound : OffsetOf(borrowed);
  }
  if (const PackedWeight* weight = Next(key)) return OffsetOf(weight->data);
  failed_ = true;
  return kNotFound;
}

uint8_t* WeightsProvider::Reserve(size_t size) {
  if (packing_ != nullptr) {
    uint8_t* memory = ReservePacked(size);
    if (memory == nullptr) failed_ = true;
    return memory;
  }
  if (size > scratch_size_) {
    scratch_ = AllocateUnzeroed(size);
    scratch_size_ = scratch_ == nullptr ? 0 : size;
    if (scratch_ == nullptr) failed_ = true;
  }
  return scratch_.get();
}

// Packed weights have about the size of their constants, so one chunk is mostly enough for a graph.
// XNNPACK zeroes what it is handed (xnn_get_pointer_to_write_weights of src/operator-utils.c), the
// bytes between what it packs included.
uint8_t* WeightsProvider::ReservePacked(size_t size) {
  PackedMemory& memory = graph_.shared_.memory();
  const size_t total = graph_.shared_.constant_bytes();
  const size_t remaining = std::max(total - std::min(memory.taken(), total), total / 4);
  const size_t expected = std::min(remaining, std::max(graph_.constant_bytes_, kSharedChunk));
  uint8_t* reserved = memory.Reserve(size, expected);
  if (reserved == nullptr) return nullptr;
  auto& chunks = packing_->chunks;
  if (chunks.empty() || chunks.back() != memory.chunk()) chunks.push_back(memory.chunk());
  return reserved;
}

size_t WeightsProvider::Insert(const xnn_weights_cache_look_up_key& key, uint8_t* data,
                               size_t size) {
  if (packing_ == nullptr) {
    // A deconvolution packs before it asks the cache.
    const PackedWeight* weight = Next(key);
    if (weight != nullptr && weight->size == size) return OffsetOf(weight->data);
    failed_ = true;
    return OffsetOf(data);
  }
  const uint8_t* borrowed = Borrow(Describe(key), Bytes(data, size));
  if (borrowed == nullptr) borrowed = Repeat(Describe(key), Bytes(data, size));
  if (borrowed != nullptr) return OffsetOf(borrowed);
  PackedWeight& weight = packing_->weights.emplace_back(Describe(key));
  weight.data = data;
  weight.size = size;
  packed_of_[weight.kernel].push_back(packing_->weights.size() - 1);
  graph_.shared_.memory().Take(size);
  if (weight.kernel != 0) graph_.release_(graph_.view_.constants[weight.kernel]);
  return OffsetOf(data);
}

}  // namespace xir
