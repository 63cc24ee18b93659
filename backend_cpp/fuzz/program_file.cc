#include "program_file.h"

#include <algorithm>
#include <cstring>

#include "core/round_up.h"
#include "program_generated.h"
#include "verify/container.h"

namespace xir::fuzz {
namespace {

constexpr size_t kHeaderSize = 32;
constexpr size_t kSegmentAlignment = 128;
constexpr size_t kConstantAlignment = 16;
constexpr size_t kXnnHeaderLength = 30;

template <typename T>
T Read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
void Write(Blob* blob, size_t at, T value) {
  std::memcpy(blob->data() + at, &value, sizeof(T));
}

Blob Copy(Bytes bytes) { return Blob(bytes.begin(), bytes.end()); }

}  // namespace

std::vector<Extent> PlaceSegments(const std::vector<Blob>& segments) {
  std::vector<Extent> extents;
  size_t at = 0;
  for (const Blob& segment : segments) {
    at = RoundUp(at, kSegmentAlignment);
    extents.push_back({at, segment.size()});
    at += segment.size();
  }
  return extents;
}

Blob WriteProgramFile(const ProgramFile& parts) {
  // The header goes behind the identifier; the root offset grows by it.
  Blob out(parts.program.begin(), parts.program.begin() + 8);
  out.resize(8 + kHeaderSize, 0);
  out.insert(out.end(), parts.program.begin() + 8, parts.program.end());
  out.resize(std::max<size_t>(out.size(), 64), 0);
  Write<uint32_t>(&out, 0, Read<uint32_t>(out.data()) + kHeaderSize);
  const size_t program_size = out.size();
  std::memcpy(out.data() + 8, "eh00", 4);
  Write<uint32_t>(&out, 12, kHeaderSize);
  Write<uint64_t>(&out, 16, program_size);
  if (parts.segments.empty()) return out;
  const std::vector<Extent> extents = PlaceSegments(parts.segments);
  const size_t base = RoundUp(program_size, kSegmentAlignment);
  out.resize(base + extents.back().offset + extents.back().size, 0);
  Write<uint64_t>(&out, 24, base);
  Write<uint64_t>(&out, 32, out.size() - base);
  for (size_t i = 0; i < extents.size(); ++i) {
    std::copy(parts.segments[i].begin(), parts.segments[i].end(),
              out.begin() + static_cast<std::ptrdiff_t>(base + extents[i].offset));
  }
  return out;
}

bool ReadProgramFile(Bytes file, ProgramFile* parts) {
  auto container = ReadContainer(file);
  if (!container.ok()) return false;
  const Bytes program = container.value().program;
  const Bytes segments = container.value().segments;
  // Tables that many offsets share would be unfolded: this many are enough for any honest file.
  flatbuffers::Verifier verifier(program.data(), program.size(), /*max_depth=*/64,
                                 static_cast<flatbuffers::uoffset_t>(program.size() / 4));
  if (!program::VerifyProgramBuffer(verifier)) return false;
  if (const auto* table = program::GetProgram(program.data())->segments()) {
    for (const program::DataSegment* segment : *table) {
      if (segment->offset() > segments.size() ||
          segment->size() > segments.size() - segment->offset()) {
        return false;
      }
      parts->segments.push_back(Copy(segments.subspan(segment->offset(), segment->size())));
    }
  }
  parts->program = Copy(program);
  if (std::memcmp(program.data() + 8, "eh00", 4) == 0 && program.size() > 8 + kHeaderSize &&
      Read<uint32_t>(program.data()) >= kHeaderSize + 8) {
    parts->program.erase(parts->program.begin() + 8, parts->program.begin() + 8 + kHeaderSize);
    Write<uint32_t>(&parts->program, 0, Read<uint32_t>(parts->program.data()) - kHeaderSize);
    // Alignment is counted from the start, which a header of 32 bytes keeps.
    flatbuffers::Verifier again(parts->program.data(), parts->program.size(), /*max_depth=*/64,
                                static_cast<flatbuffers::uoffset_t>(program.size() / 4));
    return program::VerifyProgramBuffer(again);
  }
  return true;
}

Blob WriteDelegateBlob(const Blob& graph, const Blob& constants) {
  const size_t data_offset = RoundUp(kHeaderSize + graph.size(), kConstantAlignment);
  Blob blob(kHeaderSize, 0);
  std::memcpy(blob.data() + 4, "XH00", 4);
  Write<uint16_t>(&blob, 8, kXnnHeaderLength);
  Write<uint32_t>(&blob, 10, kHeaderSize);
  Write<uint32_t>(&blob, 14, static_cast<uint32_t>(graph.size()));
  Write<uint32_t>(&blob, 18, static_cast<uint32_t>(data_offset));
  Write<uint64_t>(&blob, 22, constants.size());
  blob.insert(blob.end(), graph.begin(), graph.end());
  blob.resize(data_offset, 0);
  blob.insert(blob.end(), constants.begin(), constants.end());
  return blob;
}

bool ReadDelegateBlob(const Blob& blob, Blob* graph, Blob* constants) {
  auto parts = xir::ReadDelegateBlob(Bytes(blob.data(), blob.size()));
  if (!parts.ok()) return false;
  *graph = Copy(parts.value().graph);
  *constants = Copy(parts.value().constant_data);
  return true;
}

std::vector<Extent> ConstantsOfDelegates(Bytes file) {
  std::vector<Extent> found;
  for (size_t at = 0; at + kHeaderSize <= file.size(); ++at) {
    if (std::memcmp(file.data() + at + 4, "XH00", 4) != 0) continue;
    const Extent extent{at + Read<uint32_t>(file.data() + at + 18),
                        Read<uint64_t>(file.data() + at + 22)};
    const bool inside = extent.offset < file.size() && extent.size <= file.size() - extent.offset;
    if (inside && extent.size > 0) found.push_back(extent);
  }
  return found;
}

}  // namespace xir::fuzz
