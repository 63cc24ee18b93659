// A file of packed weights: what one processor and one build of XNNPACK made of a program's
// weights, to be mapped instead of packed again.
//
//   header         FileHeader
//   graphs         FileGraph[num_graphs]
//   weights        FileWeight[num_weights], each graph's one after the other
//   packed bytes   from the next page on
//
// In the byte order of the machine: a file is of use to the kind that wrote it alone. It may be
// deleted at any time. Nothing in it is trusted: digests tell damage, sizes are checked, and packed
// weights hold no addresses, so wrong ones make wrong numbers at worst.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/file_bytes.h"
#include "verify/program_view.h"
#include "xir/status.h"
#include "xnnpack/packed_weights.h"

namespace xir {

// Names a graph, its constants included. Constants that are named by the SHA-256 of their bytes, as
// ExecuTorch names them, are not read.
uint64_t DigestGraph(const GraphView& view);

struct PackedEntry {
  uint64_t graph = 0;  // its digest
  std::shared_ptr<const PackedWeights> weights;
};

// What a file has. Fails with kNotFound where there is none, with kUnsupported for one of another
// processor, XNNPACK or version of this format, and with kInvalidProgram for one that is damaged.
// `views` are the graphs that it may be used for.
Result<std::vector<PackedEntry>> ReadPackedFile(const std::string& path,
                                                const std::vector<const GraphView*>& views);

// Writes another file and renames it, so that what `path` names always is whole. Does not replace
// what is no file of packed weights.
Status WritePackedFile(const std::string& path, const std::vector<PackedEntry>& entries);

}  // namespace xir
