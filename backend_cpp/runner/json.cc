#include "json.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace xir::runner {
namespace {

constexpr double kLargestCount = 9007199254740992.0;  // 2^53, from which on doubles skip some

void AppendUtf8(uint32_t code, std::string* text) {
  const auto append = [text](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
  if (code < 0x80) return append(code);
  if (code < 0x800) {
    append(0xC0 | code >> 6);
    return append(0x80 | (code & 0x3F));
  }
  if (code < 0x10000) {
    append(0xE0 | code >> 12);
  } else {
    append(0xF0 | code >> 18);
    append(0x80 | (code >> 12 & 0x3F));
  }
  append(0x80 | (code >> 6 & 0x3F));
  append(0x80 | (code & 0x3F));
}

// The character that `text` begins with, which it loses; U+FFFD for a byte that begins none.
uint32_t TakeCharacter(std::string_view* text) {
  constexpr uint32_t kReplacement = 0xFFFD;
  const auto byte = [text](size_t i) { return static_cast<uint8_t>((*text)[i]); };
  const uint8_t first = byte(0);
  const size_t size = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  uint32_t code = size == 1 ? first : first & (0x7Fu >> size);
  bool valid = size != 0 && size <= text->size() && first < 0xF5;
  for (size_t i = 1; valid && i < size; ++i) {
    valid = (byte(i) & 0xC0) == 0x80;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && code >= kLeast[size] && code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
  text->remove_prefix(valid ? size : 1);
  return valid ? code : kReplacement;
}

}  // namespace

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Result<Request> Object() {
    Request request;
    if (!Take('{')) return Bad("it does not begin with '{'");
    if (Take('}')) return End(std::move(request));
    do {
      XIR_ASSIGN_OR_RETURN(std::string name, String());
      if (!Take(':')) return Bad("there is no ':' after '" + name + "'");
      XIR_ASSIGN_OR_RETURN(Request::Value value, Member(name));
      request.members_[std::move(name)] = std::move(value);
    } while (Take(','));
    if (!Take('}')) return Bad("the object has no end");
    return End(std::move(request));
  }

 private:
  static Status Bad(std::string_view why) {
    return Fail(Code::kInvalidArgument, "the line is no request in JSON: ", why);
  }

  Result<Request> End(Request request) {
    SkipSpace();
    if (!rest_.empty()) return Bad("something follows the object");
    return request;
  }

  void SkipSpace() {
    const size_t end = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
  }

  bool Take(char wanted) {
    SkipSpace();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  Result<Request::Value> Member(const std::string& name) {
    SkipSpace();
    if (rest_.substr(0, 1) == "\"") {
      XIR_ASSIGN_OR_RETURN(std::string text, String());
      return Request::Value(std::move(text));
    }
    if (TakeWord("true")) return Request::Value(true);
    if (TakeWord("false")) return Request::Value(false);
    if (TakeWord("null")) return Request::Value(nullptr);
    const size_t size = std::min(rest_.find_first_not_of("+-.0123456789eE"), rest_.size());
    const std::string digits(rest_.substr(0, size));
    char* end = nullptr;
    const double number = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0' || !std::isfinite(number)) {
      return Bad("'" + name + "' is neither a text nor a number");
    }
    rest_.remove_prefix(size);
    return Request::Value(number);
  }

  Result<std::string> String() {
    if (!Take('"')) return Bad("a text is missing");
    std::string text;
    while (!rest_.empty()) {
      const char next = rest_.front();
      rest_.remove_prefix(1);
      if (next == '"') return text;
      if (static_cast<uint8_t>(next) < 0x20) return Bad("a text has a control character");
      if (next != '\\') {
        text.push_back(next);
      } else if (!Escape(&text)) {
        return Bad("a text has a '\\' without meaning");
      }
    }
    return Bad("a text has no end");
  }

  // What follows a backslash.
  bool Escape(std::string* text) {
    if (rest_.empty()) return false;
    const char kind = rest_.front();
    rest_.remove_prefix(1);
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (const size_t known = kNames.find(kind); known != std::string_view::npos) {
      text->push_back(kMeant[known]);
      return true;
    }
    uint32_t code = 0, low = 0;
    if (kind != 'u' || !Hexadecimal(&code) || (code >= 0xDC00 && code < 0xE000)) return false;
    if (code >= 0xD800 && code < 0xDC00) {
      if (!TakeWord("\\u") || !Hexadecimal(&low) || low < 0xDC00 || low > 0xDFFF) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendUtf8(code, text);
    return true;
  }

  bool Hexadecimal(uint32_t* code) {
    const std::string digits(rest_.substr(0, 4));
    if (digits.size() < 4 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
      return false;
    }
    *code = static_cast<uint32_t>(std::strtoul(digits.c_str(), nullptr, 16));
    rest_.remove_prefix(4);
    return true;
  }

  std::string_view rest_;
};

Result<Request> Request::Parse(std::string_view line) { return Reader(line).Object(); }

Result<std::string_view> Request::Text(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) return Fail(Code::kInvalidArgument, "'", name, "' is missing");
  const auto* text = std::get_if<std::string>(&found->second);
  if (text == nullptr) return Fail(Code::kInvalidArgument, "'", name, "' is no text");
  return std::string_view(*text);
}

Result<double> Request::Number(const std::string& name, double otherwise) const {
  const auto found = members_.find(name);
  if (found == members_.end()) return otherwise;
  const auto* number = std::get_if<double>(&found->second);
  if (number == nullptr || *number < 0) {
    return Fail(Code::kInvalidArgument, "'", name, "' is no number from 0 on");
  }
  return *number;
}

Result<uint64_t> Request::Count(const std::string& name, uint64_t otherwise) const {
  if (!has(name)) return otherwise;
  XIR_ASSIGN_OR_RETURN(const double number, Number(name, 0));
  if (number > kLargestCount || number != std::floor(number)) {
    return Fail(Code::kInvalidArgument, "'", name, "' is no whole number from 0 to 2^53");
  }
  return static_cast<uint64_t>(number);
}

Result<uint64_t> Request::Count(const std::string& name) const {
  if (!has(name)) return Fail(Code::kInvalidArgument, "'", name, "' is missing");
  return Count(name, 0);
}

Answer& Answer::Append(std::string_view members) {
  if (!members_.empty() && !members.empty()) members_ += ", ";
  members_ += members;
  return *this;
}

Answer& Answer::Value(std::string_view name, std::string_view json) {
  return Append(Quoted(name) + ": " + std::string(json));
}

Answer& Answer::Text(std::string_view name, std::string_view text) {
  return Value(name, Quoted(text));
}

Answer& Answer::Number(std::string_view name, double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", number);
  return Value(name, std::isfinite(number) ? text : "null");
}

Answer& Answer::Count(std::string_view name, uint64_t number) {
  return Value(name, std::to_string(number));
}

Answer& Answer::Numbers(std::string_view name, const std::vector<double>& numbers) {
  std::string text = "[";
  for (const double number : numbers) {
    char part[32];
    std::snprintf(part, sizeof(part), "%.10g", number);
    if (text.size() > 1) text += ", ";
    text += part;
  }
  return Value(name, text + "]");
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  const auto append = [&quoted](uint32_t unit) {
    char escape[8];
    std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(unit & 0xFFFF));
    quoted += escape;
  };
  while (!text.empty()) {
    const uint32_t code = TakeCharacter(&text);
    if (code == '"' || code == '\\') {
      quoted += {'\\', static_cast<char>(code)};
    } else if (code >= 0x20 && code < 0x7F) {
      quoted += static_cast<char>(code);
    } else if (code == '\n') {
      quoted += "\\n";
    } else if (code < 0x10000) {
      append(code);
    } else {
      append(0xD800 + ((code - 0x10000) >> 10));
      append(0xDC00 + ((code - 0x10000) & 0x3FF));
    }
  }
  return quoted + "\"";
}

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr uint8_t kNoDigit = 64;

std::array<uint8_t, 256> DigitValues() {
  std::array<uint8_t, 256> values;
  values.fill(kNoDigit);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  return values;
}

}  // namespace

Result<std::vector<uint8_t>> DecodeBase64(std::string_view text) {
  static const std::array<uint8_t, 256> values = DigitValues();
  const auto bad = [] { return Fail(Code::kInvalidArgument, "the data is not in Base64"); };
  if (text.size() % 4 != 0) return bad();
  size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  std::vector<uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t value = values[static_cast<uint8_t>(text[i])];
    if (value == kNoDigit) return bad();
    bits = bits << 6 | value;
    if (i % 4 != 0) bytes.push_back(static_cast<uint8_t>(bits >> (6 - i % 4 * 2)));
  }
  return bytes;
}

std::string EncodeBase64(const uint8_t* data, size_t size) {
  std::string text;
  text.reserve((size + 2) / 3 * 4);
  for (size_t i = 0; i < size; i += 3) {
    const size_t left = size - i;
    const uint32_t bits = static_cast<uint32_t>(data[i]) << 16 |
                          (left > 1 ? static_cast<uint32_t>(data[i + 1]) << 8 : 0) |
                          (left > 2 ? data[i + 2] : 0u);
    for (size_t digit = 0; digit < 4; ++digit) {
      text += digit <= left ? kDigits[bits >> (18 - 6 * digit) & 63] : '=';
    }
  }
  return text;
}

}  // namespace xir::runner
