// The seal of a file of packed weights, which spares its reader the digests: of the packed bytes,
// and of the program's weights that they were packed from.
//
//   seal      SealHeader
//   graphs    uint64_t[num_graphs]
//
// Who seals a file has written it, or has checked its digest. The seal holds until the system
// starts anew, after which what the file's pages were before a loss of power must be checked once
// more, and until somebody changes the file: the time of its last modification is then another than
// the one that the seal tells. Wrong seals, like wrong digests, make wrong numbers at worst.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/file_bytes.h"
#include "xir/span.h"

namespace xir {

struct PackedSeal {
  // DigestStamps of the program's files.
  uint64_t source = 0;
  // DigestGraph of each of its graphs, in the program's order; 0 where nobody has asked yet.
  std::vector<uint64_t> graphs;
};

// Names files by where they are and when they were last changed. 0, which is no name, where one of
// them is no file, or has changed within the last two seconds: another change that follows may then
// leave it with the same time, which some file systems keep as coarsely as that.
uint64_t DigestStamps(const std::vector<const FileBytes*>& files);

// The seal that `bytes` begin with. None if there is none, or if it does not hold for a file that
// was last modified at `modified` and whose tables have the digest `tables`.
std::optional<PackedSeal> ReadSeal(Bytes bytes, uint64_t tables, int64_t modified);

// Writes a seal at `offset` of an open file, and sets the time of the file's modification to the
// one that it tells. No failure of it does harm: the file is not sealed then.
void WriteSeal(int descriptor, uint64_t offset, uint64_t tables, const PackedSeal& seal);

}  // namespace xir
