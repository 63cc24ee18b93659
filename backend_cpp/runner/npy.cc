#include "npy.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "files.h"

namespace xir::runner {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kPreamble = 10;  // magic, version, and a 16-bit header length
constexpr size_t kAlignment = 64;
constexpr size_t kMaxHeader = 1 << 16;

struct TypeCode {
  std::string_view code;
  DType dtype;
};
// bfloat16 has no code of its own in NumPy; its bits are stored as uint16.
constexpr TypeCode kTypeCodes[] = {
    {"|u1", DType::kByte},   {"|i1", DType::kChar},   {"<i2", DType::kShort},
    {"<i4", DType::kInt},    {"<i8", DType::kLong},   {"<f2", DType::kHalf},
    {"<f4", DType::kFloat},  {"<f8", DType::kDouble}, {"|b1", DType::kBool},
    {"<u2", DType::kUInt16}, {"<u4", DType::kUInt32}, {"<u8", DType::kUInt64},
};

std::string_view CodeOf(DType dtype) {
  for (const TypeCode& row : kTypeCodes) {
    if (row.dtype == dtype) return row.code;
  }
  switch (ElementSize(dtype)) {
    case 1:
      return "|u1";
    case 2:
      return "<u2";
    case 4:
      return "<i4";
    default:
      return "<i8";
  }
}

Status Malformed(const std::string& path, std::string_view why) {
  return Fail(Code::kInvalidArgument, "'", path, "' is not a .npy file that can be read: ", why);
}

// The text that follows "'key':" in the header's dictionary.
std::optional<std::string_view> Entry(std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "':";
  const size_t at = header.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = header.substr(at + quoted.size());
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

std::optional<DType> ParseType(std::string_view text) {
  if (text.size() < 5 || text.front() != '\'') return std::nullopt;
  for (const TypeCode& row : kTypeCodes) {
    if (text.substr(1, row.code.size()) == row.code && text[1 + row.code.size()] == '\'') {
      return row.dtype;
    }
  }
  return std::nullopt;
}

// "(1, 3, 8)", "(5,)", "()"
std::optional<Shape> ParseShape(std::string_view text) {
  constexpr int64_t kMaxDim = int64_t{1} << 40;
  if (text.empty() || text.front() != '(') return std::nullopt;
  Shape shape;
  bool has_digits = false;
  int64_t number = 0;
  for (const char c : text.substr(1)) {
    if (c >= '0' && c <= '9') {
      has_digits = true;
      number = number * 10 + (c - '0');
      if (number > kMaxDim) return std::nullopt;
    } else if (c == ',' || c == ')') {
      if (has_digits) {
        if (shape.rank == kMaxRank) return std::nullopt;
        shape[shape.rank++] = number;
      }
      has_digits = false;
      number = 0;
      if (c == ')') return shape;
    } else if (c != ' ') {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> ByteSize(DType dtype, const Shape& shape) {
  uint64_t size = ElementSize(dtype);
  for (size_t i = 0; i < shape.rank; ++i) {
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(shape[i]), &size)) return std::nullopt;
  }
  return size;
}

}  // namespace

bool IsNpy(const std::vector<uint8_t>& bytes) {
  return bytes.size() >= kMagic.size() &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<Array> ParseNpy(const std::string& path, const std::vector<uint8_t>& bytes) {
  if (!IsNpy(bytes)) return Malformed(path, "it does not begin with NumPy's magic");
  if (bytes.size() < kPreamble + 2) return Malformed(path, "it ends within its header");
  const uint8_t version = bytes[6];
  size_t header_size = bytes[8] | bytes[9] << 8;
  size_t data_offset = kPreamble;
  if (version == 2 || version == 3) {
    header_size |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
    data_offset += 2;
  } else if (version != 1) {
    return Malformed(path, "its version is unknown");
  }
  if (header_size > kMaxHeader) return Malformed(path, "its header is too long");
  if (header_size > bytes.size() - data_offset) {
    return Malformed(path, "it ends within its header");
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + data_offset,
                                header_size);
  data_offset += header_size;

  const auto descr = Entry(header, "descr");
  const auto order = Entry(header, "fortran_order");
  const auto dims = Entry(header, "shape");
  if (!descr || !order || !dims) return Malformed(path, "its header lacks an entry");
  const auto dtype = ParseType(*descr);
  if (!dtype) return Malformed(path, "its dtype is not a little-endian number");
  const auto shape = ParseShape(*dims);
  if (!shape) return Malformed(path, "its shape cannot be read");
  if (order->substr(0, 5) != "False" && shape->rank > 1) {
    return Malformed(path, "it is in Fortran order; save numpy.ascontiguousarray(x)");
  }
  const auto size = ByteSize(*dtype, *shape);
  if (!size || *size != bytes.size() - data_offset) {
    return Malformed(path, "its size does not agree with its shape");
  }
  return Array{*dtype, *shape, {bytes.end() - static_cast<ptrdiff_t>(*size), bytes.end()}};
}

Result<Array> ReadNpy(const std::string& path) {
  XIR_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  return ParseNpy(path, bytes);
}

Status WriteNpy(const std::string& path, DType dtype, const Shape& shape, const void* data) {
  std::string header =
      "{'descr': '" + std::string(CodeOf(dtype)) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.rank; ++i) {
    header += std::to_string(shape[i]) + (i + 1 < shape.rank || shape.rank == 1 ? ", " : "");
  }
  header += "), }";
  const size_t unpadded = kPreamble + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';

  std::string preamble(kMagic);
  preamble += {'\x01', '\0', static_cast<char>(header.size() & 0xFF),
               static_cast<char>(header.size() >> 8)};
  return WriteFile(path, preamble + header, data,
                   static_cast<size_t>(shape.numel()) * ElementSize(dtype));
}

}  // namespace xir::runner
