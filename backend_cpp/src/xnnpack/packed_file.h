// A file of packed weights: what one processor and one build of XNNPACK made of a program's
// weights, to be mapped instead of packed again.
//
//   header         FileHeader
//   graphs         FileGraph[num_graphs]
//   weights        FileWeight[num_weights], each graph's one after the other
//   packed bytes   from the next page on
//   turns          uint64_t[num_graphs]: the larger, the later a graph was used
//   seal           see packed_seal.h
//
// In the byte order of the machine: only the kind of machine that wrote a file can use it. A file
// may be deleted at any time. Nothing in it is trusted: digests reveal damage, sizes are checked,
// and packed weights contain no addresses, so wrong ones lead to wrong numbers at worst.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/file_bytes.h"
#include "verify/graph_view.h"
#include "xir/status.h"
#include "xnnpack/packed_seal.h"
#include "xnnpack/packed_weights.h"

namespace xir {

// Identifies a graph and the content of its constants, all of which it reads.
uint64_t DigestGraph(const GraphView& view);

struct PackedEntry {
  uint64_t graph = 0;  // its digest
  uint64_t turn = 0;
  std::shared_ptr<const PackedWeights> weights;
};

struct PackedFile {
  std::shared_ptr<const FileBytes> file;
  std::vector<PackedEntry> entries;  // in the file's order
  // None unless it holds; what packed weights were read is checked by digests then.
  std::optional<PackedSeal> seal;
};

// What a file has. Fails with kNotFound where there is none, with kUnsupported for one of another
// processor, XNNPACK or version of this format, and with kInvalidProgram for one that is damaged.
// `views` are the graphs that it may be used for.
Result<PackedFile> ReadPackedFile(const std::string& path,
                                  const std::vector<const GraphView*>& views);

// Notes, in the file that the entries were read from, the turns that they have now, and a seal if
// there is one. `stamp` is of the file as it was read, and becomes the one that it has then. Does
// nothing to a file that has changed since, or cannot be written.
void UpdatePackedFile(const std::string& path, const FileBytes& file,
                      const std::vector<PackedEntry>& entries, const PackedSeal* seal,
                      FileStamp* stamp);

// Bytes that entries take in a file: what they share once.
uint64_t PackedSize(Span<const PackedEntry> entries);

// Writes a temporary file and renames it, so that the file at `path` is complete at all times.
// Does not replace a file that is no file of packed weights.
Status WritePackedFile(const std::string& path, const std::vector<PackedEntry>& entries,
                       const PackedSeal& seal);

}  // namespace xir
