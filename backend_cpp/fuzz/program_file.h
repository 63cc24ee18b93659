// The parts of a .pte file, taken apart and put together again.
#pragma once

#include <cstdint>
#include <vector>

#include "xir/span.h"

namespace xir::fuzz {

using Blob = std::vector<uint8_t>;

struct ProgramFile {
  Blob program;                // the flatbuffer, without the extended header
  std::vector<Blob> segments;  // what Program.segments lists
};

// Where segments lie once `segments` are written one behind the other, from the segment base.
struct Extent {
  uint64_t offset = 0;
  uint64_t size = 0;
};
std::vector<Extent> PlaceSegments(const std::vector<Blob>& segments);

// The file: flatbuffer with an "eh00" header, then the segments as PlaceSegments has them.
Blob WriteProgramFile(const ProgramFile& parts);

// False for a file whose flatbuffer or segments are damaged.
bool ReadProgramFile(Bytes file, ProgramFile* parts);

// A delegate's blob: "XH00" header, the graph's flatbuffer, constants.
Blob WriteDelegateBlob(const Blob& graph, const Blob& constants);
bool ReadDelegateBlob(const Blob& blob, Blob* graph, Blob* constants);

// Where the constants of a file's delegates lie, of those that have any.
std::vector<Extent> ConstantsOfDelegates(Bytes file);

}  // namespace xir::fuzz
