// Errors as values: what the runtime's functions can fail with is a Status. Nothing is thrown
// through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace xir {

enum class Code {
  kInvalidProgram,   // the file is damaged, or says something that cannot be run
  kUnsupported,      // the file is well-formed and needs what this build does not have
  kInvalidArgument,  // the caller handed in something that does not fit
  kNotFound,         // no such file, method or library
  kResource,         // a limit was reached or memory ran out
  kInternal,         // XNNPACK or the system refused
  kCancelled,        // the caller stopped the execution
  kMissingData,      // weights that are apart from the program are in no file that was given
};

std::string_view CodeName(Code code);

// Text as one line of UTF-8, whatever a file or a foreign function put into it: control characters
// and bytes that are no UTF-8 become \xNN, and what is too long to be read loses its middle.
std::string OneLine(std::string text);

// Success costs one null pointer; a failure carries its code and one sentence for the user.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message)
      : error_(new Error{code, OneLine(std::move(message)), /*is_static=*/false}) {}
  // "out of memory", which itself takes none.
  static Status OutOfMemory() noexcept;

  bool ok() const { return error_ == nullptr; }
  Code code() const { return error_->code; }
  const std::string& message() const { return error_->message; }

  // The same failure, said from one level further out: "<context>: <message>".
  Status In(std::string_view context) && {
    if (error_ != nullptr && !error_->is_static) {
      error_->message = OneLine(std::string(context)) + ": " + error_->message;
    }
    return std::move(*this);
  }

 private:
  struct Error {
    Code code;
    std::string message;
    bool is_static;
  };
  struct Release {
    void operator()(Error* error) const {
      if (!error->is_static) delete error;
    }
  };
  std::unique_ptr<Error, Release> error_;
};

// A piece of a message: a text, a character, or a number. Not a stream: each of the runtime's
// hundreds of failures would bring the stream's code along.
class MessagePart {
 public:
  MessagePart(std::string_view text) : kind_(kText), text_(text) {}
  MessagePart(const std::string& text) : kind_(kText), text_(text) {}
  MessagePart(const char* text) : kind_(kText), text_(text == nullptr ? "" : text) {}
  MessagePart(char character) : kind_(kCharacter), integer_(static_cast<uint8_t>(character)) {}
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>, int> = 0>
  MessagePart(T number) {
    if constexpr (std::is_floating_point_v<T>) {
      kind_ = kReal;
      real_ = static_cast<double>(number);
    } else {
      kind_ = std::is_signed_v<T> ? kSigned : kUnsigned;
      integer_ = static_cast<uint64_t>(number);
    }
  }

  // Numbers are decimal, floats as %g.
  void AppendTo(std::string* message) const;

 private:
  enum Kind { kText, kCharacter, kSigned, kUnsigned, kReal } kind_;
  union {
    std::string_view text_;
    uint64_t integer_;
    double real_;
  };
};

std::string JoinParts(std::initializer_list<MessagePart> parts);

// Builds a failure from the pieces of its message.
template <typename... Parts>
Status Fail(Code code, const Parts&... parts) {
  return Status(code, JoinParts({MessagePart(parts)...}));
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Status status) : state_(std::move(status)) {}

  bool ok() const { return std::holds_alternative<T>(state_); }
  T& value() & { return *std::get_if<T>(&state_); }
  const T& value() const& { return *std::get_if<T>(&state_); }
  T&& value() && { return std::move(*std::get_if<T>(&state_)); }
  Status status() && { return ok() ? Status() : std::move(*std::get_if<Status>(&state_)); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace xir

#define XIR_RETURN_IF_ERROR(expression)        \
  do {                                         \
    ::xir::Status xir_status_ = (expression);  \
    if (!xir_status_.ok()) return xir_status_; \
  } while (false)

#define XIR_CONCAT_(a, b) a##b
#define XIR_CONCAT(a, b) XIR_CONCAT_(a, b)

// XIR_ASSIGN_OR_RETURN(auto x, MakeX());
#define XIR_ASSIGN_OR_RETURN(declaration, expression) \
  XIR_ASSIGN_OR_RETURN_(XIR_CONCAT(xir_result_, __LINE__), declaration, expression)
#define XIR_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                  \
  if (!result.ok()) return std::move(result).status();         \
  declaration = std::move(result).value()
