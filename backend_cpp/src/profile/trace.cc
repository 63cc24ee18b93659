// Chrome's trace event format
// (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), which Perfetto
// imports: complete events ("X") nest by their times, which are in microseconds.
#include <cstdio>

#include "profile/text.h"
#include "xir/profile.h"

namespace xir {
namespace {

// A string of JSON.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", value);
  return text;
}

class TraceWriter {
 public:
  std::string Write(Span<const Profile> executions) {
    Metadata("process_name", "xir");
    double start = 0;
    for (size_t i = 0; i < executions.size(); ++i) {
      const Profile& execution = executions[i];
      Begin(execution.method, "execution", start, execution.duration);
      Argument("execution", std::to_string(i));
      End();
      for (const ProfileEvent& event : execution.events) Write(event, start);
      start += execution.duration;
    }
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + text_ + "\n]}\n";
  }

 private:
  void Write(const ProfileEvent& event, double start) {
    const bool is_operator = event.kind == ProfileEvent::Kind::kOperator;
    const bool is_kernel = event.kind == ProfileEvent::Kind::kKernel;
    Begin(event.name,
          is_operator ? "operator"
          : is_kernel ? "kernel"
                      : "delegate",
          start + event.start, event.duration);
    Argument("instruction", std::to_string(event.instruction));
    if (event.delegate != ProfileEvent::kNone) {
      Argument("delegate", std::to_string(event.delegate));
    }
    if (event.node != ProfileEvent::kNone) Argument("node", std::to_string(event.node));
    if (!event.microkernel.empty()) Argument("microkernel", Quoted(event.microkernel));
    if (const std::string lines = LinesOf(event.origins); !lines.empty()) {
      Argument("source", Quoted(lines));
      Argument("module", Quoted(ModulesOf(event.origins)));
      Argument("op", Quoted(OpsOf(event.origins)));
    }
    Argument("result_bytes", std::to_string(event.result_bytes));
    Argument("constant_bytes", std::to_string(event.constant_bytes));
    End();
  }

  void Metadata(std::string_view name, std::string_view value) {
    text_ += "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":" + Quoted(name) +
             ",\"args\":{\"name\":" + Quoted(value) + "}}";
  }
  void Begin(std::string_view name, std::string_view category, double start, double duration) {
    text_ += ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":" + Quoted(name) +
             ",\"cat\":" + Quoted(category) + ",\"ts\":" + Number(start) +
             ",\"dur\":" + Number(duration) + ",\"args\":{";
    first_argument_ = true;
  }
  void Argument(std::string_view name, const std::string& json) {
    text_ += (first_argument_ ? "" : ",") + Quoted(name) + ":" + json;
    first_argument_ = false;
  }
  void End() { text_ += "}}"; }

  std::string text_;
  bool first_argument_ = true;
};

}  // namespace

std::string ProfileTrace(Span<const Profile> executions) { return TraceWriter().Write(executions); }

}  // namespace xir
