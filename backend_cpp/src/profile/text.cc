#include "profile/text.h"

#include <algorithm>
#include <cstdint>

namespace xir {
namespace {

// How many bytes at `at` are one character of UTF-8; 0 for none.
size_t CharacterAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const uint8_t second = byte(at + 1);
  // Longer than it need be, half of a surrogate pair, or beyond the last character.
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
  return wrong ? 0 : length;
}

// C0, DEL and C1: a terminal may take them for commands.
bool IsControl(std::string_view text, size_t at, size_t length) {
  const auto first = static_cast<uint8_t>(text[at]);
  if (length == 1) return first < 0x20 || first == 0x7F;
  return length == 2 && first == 0xC2 && static_cast<uint8_t>(text[at + 1]) < 0xA0;
}

// The texts that `get` gives, each once.
template <typename Get>
std::vector<std::string> Distinct(const std::vector<Origin>& origins, const Get& get) {
  std::vector<std::string> texts;
  for (const Origin& origin : origins) {
    std::string text = Printable(get(origin));
    if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end()) {
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  for (size_t at = 0; at < text.size();) {
    const size_t length = CharacterAt(text, at);
    if (length == 0 || IsControl(text, at, length)) {
      printable += '?';
    } else {
      printable += text.substr(at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  return printable;
}

size_t CommonDirectory(Span<const std::vector<Origin>* const> places) {
  const std::string* first = nullptr;
  size_t length = 0;
  for (const std::vector<Origin>* origins : places) {
    for (const Origin& origin : *origins) {
      if (origin.file.empty()) continue;
      if (first == nullptr) {
        first = &origin.file;
        length = first->rfind('/') + 1;  // npos + 1 is 0
      }
      length = std::min(length, origin.file.size());
      while (length > 0 && (origin.file.compare(0, length, *first, 0, length) != 0 ||
                            origin.file[length - 1] != '/')) {
        --length;
      }
    }
  }
  return length;
}

std::string LinesOf(const std::vector<Origin>& origins, size_t skip) {
  std::vector<std::string> files;  // of each origin
  for (const Origin& origin : origins) files.push_back(Printable(origin.file));
  std::string text;
  for (const std::string& file : Distinct(origins, [](const Origin& o) { return o.file; })) {
    std::vector<uint32_t> lines;
    for (size_t i = 0; i < origins.size(); ++i) {
      if (files[i] == file) lines.push_back(origins[i].line);
    }
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    text += (text.empty() ? "" : " ") + file.substr(std::min(skip, file.size()));
    char separator = ':';
    for (const uint32_t line : lines) {
      text += separator + std::to_string(line);
      separator = ',';
    }
  }
  return text;
}

std::string ModulesOf(const std::vector<Origin>& origins) {
  const std::vector<std::string> modules =
      Distinct(origins, [](const Origin& o) { return o.module; });
  if (modules.empty()) return "";
  return modules.size() == 1 ? modules[0] : modules[0] + " +" + std::to_string(modules.size() - 1);
}

std::string OpsOf(const std::vector<Origin>& origins) {
  std::string text;
  for (const std::string& op : Distinct(origins, [](const Origin& o) {
         return o.op.rfind("aten::", 0) == 0 ? o.op.substr(6) : o.op;
       })) {
    text += (text.empty() ? "" : "+") + op;
  }
  return text;
}

}  // namespace xir
