#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/program_view.h"
#include "xir/program.h"
#include "xnnpack/packed_file.h"
#include "xnnpack/packed_weights.h"

namespace xir {

// A program's file of packed weights: read when a graph first asks for its weights, written when a
// graph had to pack them. Nothing that happens to the file is an error of the program.
class PackedStore {
 public:
  // An empty path is no file.
  PackedStore(std::string path, const ProgramView& program)
      : path_(std::move(path)), program_(program) {}

  // Gives a graph its weights if the file has them.
  void Load(PackedGraph* graph);
  // Writes the file anew if weights of these graphs are not in it.
  void Save(const std::vector<std::unique_ptr<PackedGraph>>& graphs);
  PackedFileState state() const;

 private:
  void Open();

  const std::string path_;
  const ProgramView& program_;
  mutable std::mutex mutex_;
  bool opened_ = false;
  std::unordered_map<const PackedGraph*, uint64_t> digests_;
  std::vector<PackedEntry> entries_;  // what the file has, or should
  PackedFileState state_;
};

}  // namespace xir
