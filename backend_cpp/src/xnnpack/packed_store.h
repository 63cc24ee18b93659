#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "xir/delegate.h"
#include "xnnpack/packed_file.h"
#include "xnnpack/packed_weights.h"

namespace xir {

// A program's file of packed weights: read when a graph first asks for its weights, written when
// a graph had to pack them. No problem with the file is an error of the program.
class PackedStore {
 public:
  // An empty path is no file. `source` is DigestStamps of the program's files.
  PackedStore(std::string path, uint64_t source) : path_(std::move(path)) { seal_.source = source; }

  // Names a graph that the file may be used for. All of them come before anything is loaded.
  void Add(const GraphView* graph);
  // Gives a graph its weights if the file has them.
  void Load(PackedGraph* graph);
  // Writes the file anew if weights of these graphs are not in it.
  void Save(const std::vector<PackedGraph*>& graphs);
  PackedFileState state() const;

 private:
  void Open();
  void Seal();

  // Of a graph, read from the seal where that knows it.
  uint64_t& DigestOf(const PackedGraph& graph);

  const std::string path_;
  mutable std::mutex mutex_;
  bool opened_ = false;
  std::vector<const GraphView*> views_;                  // in the program's order
  std::unordered_map<const GraphView*, size_t> places_;  // in views_
  std::vector<PackedEntry> entries_;                     // what the file has, or should
  PackedSeal seal_;                                      // that the file should have
  bool sealed_ = false;                                  // and has
  PackedFileState state_;
};

}  // namespace xir
