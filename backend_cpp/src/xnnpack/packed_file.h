// A file of packed weights: what one processor and one build of XNNPACK made of a program's
// weights, to be mapped instead of packed again.
//
//   header         FileHeader
//   graphs         FileGraph[num_graphs]
//   weights        FileWeight[num_weights], each graph's one after the other
//   packed bytes   from the next page on
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
  std::shared_ptr<const PackedWeights> weights;
};

struct PackedFile {
  std::vector<PackedEntry> entries;
  // None unless it holds; what packed weights were read is checked by digests then.
  std::optional<PackedSeal> seal;
};

// What a file has. Fails with kNotFound where there is none, with kUnsupported for one of another
// processor, XNNPACK or version of this format, and with kInvalidProgram for one that is damaged.
// `views` are the graphs that it may be used for.
Result<PackedFile> ReadPackedFile(const std::string& path,
                                  const std::vector<const GraphView*>& views);

// Seals a file whose weights were read from `file`, if it has not changed since. Does nothing if
// it cannot be sealed.
void SealPackedFile(const std::string& path, const FileBytes& file, const PackedSeal& seal);

// Writes a temporary file and renames it, so that the file at `path` is complete at all times.
// Does not replace a file that is no file of packed weights.
Status WritePackedFile(const std::string& path, const std::vector<PackedEntry>& entries,
                       const PackedSeal& seal);

}  // namespace xir
