// Lines of JSON (RFC 8259), as far as requests and answers need it: one object without objects or
// arrays inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "xir/status.h"

namespace xir::runner {

// What a line asks for. Members that nobody asks for are ignored.
class Request {
 public:
  // Fails for what is no object, and for members that are objects or arrays.
  static Result<Request> Parse(std::string_view line);

  bool has(const std::string& name) const { return members_.count(name) != 0; }
  // Fails where it is missing or no text.
  Result<std::string_view> Text(const std::string& name) const;
  // Fails where it is no number, or below 0.
  Result<double> Number(const std::string& name, double otherwise) const;
  // Fails where it is no whole number from 0 to 2^53.
  Result<uint64_t> Count(const std::string& name, uint64_t otherwise) const;
  // Fails where it is missing, too.
  Result<uint64_t> Count(const std::string& name) const;

 private:
  using Value = std::variant<std::nullptr_t, bool, double, std::string>;
  friend class Reader;
  std::map<std::string, Value> members_;
};

// Builds the line that answers it.
class Answer {
 public:
  Answer& Text(std::string_view name, std::string_view text);
  Answer& Number(std::string_view name, double number);
  Answer& Count(std::string_view name, uint64_t number);
  Answer& Numbers(std::string_view name, const std::vector<double>& numbers);
  // `json` is a value already.
  Answer& Value(std::string_view name, std::string_view json);

  // `members` are those of an object, "a": 1, "b": 2.
  Answer& Append(std::string_view members);

  const std::string& Members() const { return members_; }
  // An object, without the line's end.
  std::string Line() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

// The text between quotation marks, in ASCII: what is not is \uXXXX, and bytes that are no UTF-8
// are U+FFFD.
std::string Quoted(std::string_view text);

// RFC 4648, with padding. Fails for other characters.
Result<std::vector<uint8_t>> DecodeBase64(std::string_view text);
std::string EncodeBase64(const uint8_t* data, size_t size);

}  // namespace xir::runner
