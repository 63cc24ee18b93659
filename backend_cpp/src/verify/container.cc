#include "verify/container.h"

#include <cstring>

#include "core/checked.h"

namespace xir {
namespace {

constexpr size_t kMinProgramSize = 64;
constexpr size_t kHeaderOffset = 8;
constexpr size_t kMinHeaderLength = 24;
constexpr size_t kMinFlatbufferSize = 8;  // root offset and identifier
constexpr size_t kXnnHeaderSize = 30;

// Little-endian, from any address.
template <typename T>
T Read(const uint8_t* at) {
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | at[i]);
  return value;
}

template <>
uint8_t Read(const uint8_t* at) = delete;

bool HasMagic(Bytes bytes, size_t offset, const char* magic) {
  return Fits(offset, 4, bytes.size()) && std::memcmp(bytes.data() + offset, magic, 4) == 0;
}

}  // namespace

Result<Container> ReadContainer(Bytes file) {
  if (file.size() < kMinProgramSize) {
    return Fail(Code::kInvalidProgram, "the file has ", file.size(),
                " bytes, too few for a .pte program; it may be truncated");
  }
  if (HasMagic(file, 4, "BP08")) {
    return Fail(Code::kUnsupported,
                "a bundled program, with inputs and results to test it on: give the .pte in it");
  }
  if (!HasMagic(file, 4, "ET12")) {
    return Fail(Code::kInvalidProgram, "not a .pte program: bytes 4 to 7 are not 'ET12'");
  }
  if (!HasMagic(file, kHeaderOffset, "eh00")) return Container{file, Bytes()};

  const uint32_t length = Read<uint32_t>(file.data() + 12);
  const uint64_t program_size = Read<uint64_t>(file.data() + 16);
  const uint64_t segment_base = Read<uint64_t>(file.data() + 24);
  if (length < kMinHeaderLength || !Fits(kHeaderOffset, length, file.size())) {
    return Fail(Code::kInvalidProgram, "the extended header claims a length of ", length);
  }
  if (program_size < kMinProgramSize || program_size > file.size()) {
    return Fail(Code::kInvalidProgram, "the header claims ", program_size,
                " bytes of program, but the file has ", file.size(), "; it may be truncated");
  }
  Container container{file.subspan(0, program_size), Bytes()};
  if (segment_base == 0) return container;
  if (segment_base < program_size || segment_base > file.size()) {
    return Fail(Code::kInvalidProgram, "the header places the segments at byte ", segment_base,
                " of ", file.size(), "; the file may be truncated");
  }
  const uint64_t available = file.size() - segment_base;
  // Older writers leave the size out; then the segments reach to the end of the file.
  const uint64_t size = length >= 32 ? Read<uint64_t>(file.data() + 32) : available;
  if (size > available) {
    return Fail(Code::kInvalidProgram, "the header claims ", size, " bytes of segments, but only ",
                available, " follow; the file may be truncated");
  }
  container.segments = file.subspan(segment_base, size);
  return container;
}

// As ExecuTorch lays it out (extension/flat_tensor/serialize/flat_tensor_header.h).
Result<Container> ReadDataContainer(Bytes file) {
  constexpr uint32_t kDataHeaderLength = 40;
  if (!HasMagic(file, 4, "FT01") || !HasMagic(file, kHeaderOffset, "FH01") ||
      file.size() < kHeaderOffset + kDataHeaderLength) {
    return Fail(Code::kInvalidProgram,
                "not a .ptd file: it does not begin with the headers 'FT01' and 'FH01'");
  }
  const uint32_t length = Read<uint32_t>(file.data() + 12);
  const uint64_t offset = Read<uint64_t>(file.data() + 16);
  const uint64_t size = Read<uint64_t>(file.data() + 24);
  const uint64_t segment_base = Read<uint64_t>(file.data() + 32);
  const uint64_t segment_size = Read<uint64_t>(file.data() + 40);
  if (length < kDataHeaderLength) {
    return Fail(Code::kInvalidProgram, "the data file's header claims a length of ", length);
  }
  if (!Fits(offset, size, file.size()) || offset + size < kHeaderOffset + kDataHeaderLength) {
    return Fail(Code::kInvalidProgram, "the header places the flatbuffer at [", offset, ", +", size,
                ") of ", file.size(), " bytes; the file may be truncated");
  }
  if (!Fits(segment_base, segment_size, file.size())) {
    return Fail(Code::kInvalidProgram, "the header places the segments at [", segment_base, ", +",
                segment_size, ") of ", file.size(), " bytes; the file may be truncated");
  }
  // The header lies within the flatbuffer, whose offsets count from the file's first byte.
  return Container{file.subspan(0, offset + size), file.subspan(segment_base, segment_size)};
}

Result<DelegateBlob> ReadDelegateBlob(Bytes blob) {
  if (!HasMagic(blob, 4, "XH00")) return DelegateBlob{blob, Bytes()};
  if (blob.size() < kXnnHeaderSize) {
    return Fail(Code::kInvalidProgram, "the XNNPACK blob ends within its header");
  }
  const uint64_t graph_offset = Read<uint32_t>(blob.data() + 10);
  const uint64_t graph_size = Read<uint32_t>(blob.data() + 14);
  const uint64_t data_offset = Read<uint32_t>(blob.data() + 18);
  const uint64_t data_size = Read<uint64_t>(blob.data() + 22);
  if (graph_offset < kXnnHeaderSize || graph_size < kMinFlatbufferSize ||
      !Fits(graph_offset, graph_size, blob.size())) {
    return Fail(Code::kInvalidProgram, "the XNNPACK blob places its graph at [", graph_offset,
                ", +", graph_size, ") of ", blob.size(), " bytes");
  }
  if (data_offset < graph_offset + graph_size || !Fits(data_offset, data_size, blob.size())) {
    return Fail(Code::kInvalidProgram, "the XNNPACK blob places its constants at [", data_offset,
                ", +", data_size, ") of ", blob.size(), " bytes");
  }
  return DelegateBlob{blob.subspan(graph_offset, graph_size), blob.subspan(data_offset, data_size)};
}

}  // namespace xir
