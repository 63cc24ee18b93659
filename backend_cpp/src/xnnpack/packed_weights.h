// Packed weights, which XNNPACK lays out as its microkernels read them. They are packed once for a
// graph and shared by every runtime that is created from it.
//
// XNNPACK asks for weights by their addresses and a seed. These do not determine the packed
// weights: two nodes may read one filter with inputs of different zero points. Weights are
// therefore identified by the order in which XNNPACK asks for them, which is the same whenever it
// creates a runtime from the same graph. Constants and seed are checked against those of the
// first time.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/file_bytes.h"
#include "verify/graph_view.h"
#include "xir/status.h"
#include "xnnpack/api.h"

namespace xir {

struct PackedWeight {
  // Which of the graph's constants they were packed from; 0 is none, or memory of XNNPACK's own.
  uint32_t kernel = 0;
  uint32_t bias = 0;
  uint32_t seed = 0;
  const uint8_t* data = nullptr;
  size_t size = 0;
};

// All packed weights of a graph in the order in which XNNPACK asks for them. Immutable.
struct PackedWeights {
  std::vector<PackedWeight> weights;
  // Whose memory they are in: the program's, or a file.
  std::vector<std::shared_ptr<const AlignedBuffer>> chunks;
  std::shared_ptr<const FileBytes> file;
  std::vector<std::shared_ptr<const PackedWeights>> lenders;  // of what is in other graphs' memory
};

class SharedWeights;

// The packed weights of one graph: none until a runtime has been created, or a file had them.
// Runtimes may be created from several threads; the first one packs, and others wait for it.
class PackedGraph {
 public:
  // `release` is told of constants once they are packed. `shared` are the program's.
  PackedGraph(const GraphView& view, std::function<void(Bytes)> release, SharedWeights* shared);
  PackedGraph(const PackedGraph&) = delete;

  const GraphView& view() const { return view_; }
  size_t constant_bytes() const { return constant_bytes_; }
  // Null until they are packed.
  std::shared_ptr<const PackedWeights> weights() const;
  // Takes weights that a file had, unless there are some.
  void Adopt(std::shared_ptr<const PackedWeights> weights);

 private:
  friend class WeightsProvider;

  uint32_t IndexOf(const void* constant) const;
  // DescribeWeights of the graph, where there is a second one to share with.
  const std::unordered_map<uint32_t, std::string>& descriptions();
  // Lets other graphs have what is packed.
  void Share(const std::shared_ptr<const PackedWeights>& weights);

  const GraphView& view_;
  const std::function<void(Bytes)> release_;
  std::unordered_map<const void*, uint32_t> constants_;  // by their first byte
  size_t constant_bytes_ = 0;
  SharedWeights& shared_;
  // Guarded by SharedWeights::packing().
  std::optional<std::unordered_map<uint32_t, std::string>> descriptions_;
  mutable std::mutex mutex_;  // of weights_
  std::shared_ptr<const PackedWeights> weights_;
};

// Hands a graph's packed weights to one runtime, which it must outlive.
class WeightsProvider {
 public:
  explicit WeightsProvider(PackedGraph* graph);
  WeightsProvider(const WeightsProvider&) = delete;

  // Calls `create`, which creates the runtime with the provider that it is given. Calls it a
  // second time if the weights of a file are not those that XNNPACK asks for, without these
  // weights.
  Status Create(const std::function<Status(xnn_weights_cache_t)>& create);
  // Fails if a file that the weights are mapped from has become shorter.
  Status CheckFiles() const;

 private:
  static WeightsProvider& Self(void* context) { return *static_cast<WeightsProvider*>(context); }
  // call(); where it throws, `otherwise`, and the weights are of no use.
  template <typename T, typename Call>
  T Answer(T otherwise, const Call& call) {
    try {
      return call();
    } catch (const std::exception&) {
      failed_ = true;
      return otherwise;
    }
  }
  size_t LookUp(const xnn_weights_cache_look_up_key& key);
  uint8_t* Reserve(size_t size);
  size_t Insert(const xnn_weights_cache_look_up_key& key, uint8_t* data, size_t size);
  // The next of the weights, if it is the one that XNNPACK asks for.
  const PackedWeight* Next(const xnn_weights_cache_look_up_key& key);
  PackedWeight Describe(const xnn_weights_cache_look_up_key& key) const;
  Status Pack(const std::function<Status(xnn_weights_cache_t)>& create);
  uint8_t* ReservePacked(size_t size);
  // What another graph has packed for the node that asks; null if there is none. It is `weight`, of
  // the same bytes as `data` if that is not null.
  const uint8_t* Borrow(PackedWeight weight, Bytes packed);
  // The same bytes, where another node of the graph has packed them from the same constants, as the
  // steps of an unrolled loop do; null otherwise.
  const uint8_t* Repeat(PackedWeight weight, Bytes packed);

  PackedGraph& graph_;
  xnn_weights_cache_provider provider_{};
  std::shared_ptr<const PackedWeights> weights_;
  std::shared_ptr<PackedWeights> packing_;  // null unless this one packs
  // What it has packed from each filter, as indices of packing_->weights.
  std::unordered_map<uint32_t, std::vector<size_t>> packed_of_;
  bool failed_ = false;
  size_t next_ = 0;
  AlignedBuffer scratch_;  // for what XNNPACK packs although it is there
  size_t scratch_size_ = 0;
};

}  // namespace xir
