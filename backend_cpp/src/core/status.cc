#include "xir/status.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <utility>

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

// C0, DEL and C1, which a terminal may take for commands; what ends a line or a paragraph, and what
// turns the direction of text, so that a name looks like another (U+200E, U+200F, U+2028 to U+202E,
// U+2066 to U+2069). `length` is that of a well-formed character.
bool IsControl(std::string_view text, size_t at, size_t length) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  if (length == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (length == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (length != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x80)
    return byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE);
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
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

namespace {

// Names that files give may be as long as they like; messages show so many bytes of one without a
// space, and so many of all. `xir/ir/shown_text.py` has the same limits.
constexpr size_t kLongestName = 500;
constexpr size_t kLongestText = 8000;
constexpr size_t kKept = 200;

bool ContinuesCharacter(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

// Well-formed text without its middle; characters stay whole.
void AppendEnds(std::string_view text, std::string* to) {
  size_t head = kKept, tail = text.size() - kKept;
  while (ContinuesCharacter(text[head])) --head;
  while (ContinuesCharacter(text[tail])) ++tail;
  *to += text.substr(0, head);
  *to += "...";
  *to += text.substr(tail);
}

std::string Shortened(std::string text) {
  if (text.size() <= kLongestName) return text;
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view name = std::string_view(text).substr(at, end - at);
    if (name.size() <= kLongestName) {
      shown += name;
    } else {
      AppendEnds(name, &shown);
    }
    if (end < text.size()) shown += ' ';
    at = end + 1;
  }
  if (shown.size() <= kLongestText) return shown;
  std::string ends;
  AppendEnds(shown, &ends);
  return ends;
}

}  // namespace

std::string OneLine(std::string text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string line;
  line.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = LengthOfCharacter(text, at);
    if (length == 0 || IsControl(text, at, length)) {
      for (const size_t end = at + std::max<size_t>(length, 1); at < end; ++at) {
        const auto byte = static_cast<uint8_t>(text[at]);
        line += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      }
    } else {
      line.append(text, at, length);
      at += length;
    }
  }
  return Shortened(std::move(line));
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
