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
  // An empty path is no file. `limit` is LoadOptions::packed_weights_limit. `source` is
  // DigestStamps of the program's files.
  PackedStore(std::string path, uint64_t limit, uint64_t source)
      : path_(std::move(path)), limit_(limit) {
    seal_.source = source;
  }

  // Names a graph that the file may be used for. All of them come before anything is loaded.
  void Add(const GraphView* graph);
  // Gives a graph its weights if the file has them.
  void Load(PackedGraph* graph);
  // Writes the file anew if weights of these graphs are not in it; else notes that they were used.
  void Save(const std::vector<PackedGraph*>& graphs);
  PackedFileState state() const;

 private:
  void Open();
  void Update();
  // Gives the entries of the program's graphs, as far as anybody has asked for them, the latest
  // turn; whether that is another one than before.
  bool Use();
  // Adds what other processes have written since the file was read.
  void Merge();
  // Removes what was not used for longest, until the rest is within the limit. What has the latest
  // turn stays.
  void Evict();

  // Of a graph, read from the seal where that knows it.
  uint64_t& DigestOf(const PackedGraph& graph);

  const std::string path_;
  const uint64_t limit_;
  mutable std::mutex mutex_;
  bool opened_ = false;
  std::vector<const GraphView*> views_;                  // in the program's order
  std::unordered_map<const GraphView*, size_t> places_;  // in views_
  std::vector<PackedEntry> entries_;                     // what the file has, or should
  PackedSeal seal_;                                      // that the file should have
  bool sealed_ = false;                                  // and has
  std::shared_ptr<const FileBytes> file_;                // that was read
  FileStamp stamp_;                                      // of it, as this process left it
  PackedFileState state_;
};

}  // namespace xir
