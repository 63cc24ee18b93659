// Packed weights that several graphs of one program have in common, as when two methods read the
// same constants: they are packed once.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/graph_view.h"
#include "xnnpack/packed_memory.h"
#include "xnnpack/packed_weights.h"

namespace xir {

// Everything but the processor that XNNPACK's packing of a node's weights depends on: the node
// with its parameters, the types and quantisation of its operands and result, and the addresses
// of its constants. Nodes with equal descriptions have equal packed weights. Keyed by the index
// of the filter among the graph's constants; filters that several nodes read are left out.
std::unordered_map<uint32_t, std::string> DescribeWeights(const GraphView& view);

class SharedWeights {
 public:
  SharedWeights() = default;
  SharedWeights(const SharedWeights&) = delete;

  // Counts a graph of the program; all of them come before anything is packed.
  void Join(const PackedGraph* graph) { graphs_.push_back(graph); }
  size_t num_graphs() const { return graphs_.size(); }
  // Bytes of the constants of all of them, those of several graphs as often.
  size_t constant_bytes() const;
  // Bytes of what all of them have packed by now, each weight once.
  size_t nbytes() const;

  // Graphs pack one after the other, so that the second one finds what the first one packed.
  std::mutex& packing() { return packing_; }
  // What they pack into; guarded by packing().
  PackedMemory& memory() { return memory_; }

  struct Found {
    std::shared_ptr<const PackedWeights> owner;  // null where there is none
    PackedWeight weight;
  };
  // The weights that were packed for a node of this description and asked for with this seed.
  Found Find(const std::string& description, uint32_t seed) const;
  void Add(const std::string& description, const PackedWeight& weight,
           const std::shared_ptr<const PackedWeights>& owner);

 private:
  struct Entry {
    std::weak_ptr<const PackedWeights> owner;
    PackedWeight weight;
  };
  static std::string KeyOf(const std::string& description, uint32_t seed);

  std::vector<const PackedGraph*> graphs_;
  std::mutex packing_;
  PackedMemory memory_;
  mutable std::mutex mutex_;  // of entries_
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace xir
