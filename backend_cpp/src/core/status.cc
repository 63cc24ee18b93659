#include "xir/status.h"

#include <charconv>
#include <cstdint>
#include <cstdio>

namespace xir {
namespace {

// Bytes of the well-formed UTF-8 character that begins at `at`, 0 if none does (Unicode 15, table
// 3-7).
size_t LengthOfCharacter(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : uint8_t{0};
  };
  const auto within = [&](size_t i, int low, int high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const int low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const int high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (!within(1, low, high)) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (size_t i = 2; i < length; ++i) {
    if (!within(i, 0x80, 0xBF)) return 0;
  }
  return length;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = LengthOfCharacter(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string OneLine(std::string text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string line;
  line.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = LengthOfCharacter(text, at);
    const auto byte = static_cast<uint8_t>(text[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      line += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      ++at;
    } else {
      line.append(text, at, length);
      at += length;
    }
  }
  return line;
}

void MessagePart::AppendTo(std::string* message) const {
  char digits[32];
  std::to_chars_result written{digits, std::errc()};
  switch (kind_) {
    case kText:
      message->append(text_);
      return;
    case kCharacter:
      message->push_back(static_cast<char>(integer_));
      return;
    case kSigned:
      written = std::to_chars(digits, digits + sizeof(digits), static_cast<int64_t>(integer_));
      break;
    case kUnsigned:
      written = std::to_chars(digits, digits + sizeof(digits), integer_);
      break;
    case kReal:
      // Floats of to_chars are missing from older standard libraries.
      written.ptr += std::snprintf(digits, sizeof(digits), "%g", real_);
      break;
  }
  message->append(digits, written.ptr);
}

std::string JoinParts(std::initializer_list<MessagePart> parts) {
  std::string message;
  for (const MessagePart& part : parts) part.AppendTo(&message);
  return message;
}

Status Status::OutOfMemory() noexcept {
  static Error error{Code::kResource, "out of memory", /*is_static=*/true};
  Status status;
  status.error_.reset(&error);
  return status;
}

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kInvalidProgram:
      return "invalid program";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kNotFound:
      return "not found";
    case Code::kResource:
      return "resource limit";
    case Code::kInternal:
      return "internal error";
    case Code::kCancelled:
      return "cancelled";
    case Code::kMissingData:
      return "missing data";
  }
  return "error";
}

}  // namespace xir
