// The seal of a file of packed weights. A reader that finds it valid need not compute the digests
// of the packed bytes and of the program's weights that they were packed from.
//
//   seal      SealHeader
//   graphs    uint64_t[num_graphs]
//
// A process seals a file that it has written, or whose digest it has checked. The seal is valid
// until the file is modified, which shows in its modification time, and until the system is
// restarted: after a loss of power, pages of the file may be lost, so it has to be checked once
// more. Wrong seals, like wrong digests, lead to wrong numbers at worst.
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

// Identifies files by where they are and when they were last modified. 0, which identifies
// nothing, if one of them is not a file, or was modified within the last two seconds: some file
// systems keep times that coarsely, so a later modification might not show.
uint64_t DigestStamps(const std::vector<const FileBytes*>& files);

// The seal that `bytes` begin with. None if there is none, or if it does not hold for a file that
// was last modified at `modified` and whose tables have the digest `tables`.
std::optional<PackedSeal> ReadSeal(Bytes bytes, uint64_t tables, int64_t modified);

// Writes a seal at `offset` of an open file, and sets the file's modification time to the one in
// the seal. If that fails, the file is simply not sealed.
void WriteSeal(int descriptor, uint64_t offset, uint64_t tables, const PackedSeal& seal);

}  // namespace xir
