#include "profile/origins.h"

#include "profile/text.h"

namespace xir {
namespace {

constexpr std::string_view kDebugInfoKey = "xir.debug";

Bytes DataOf(const ProgramDescription& program) {
  const Bytes* found = program.Find(kDebugInfoKey);
  return found == nullptr ? Bytes() : *found;
}

}  // namespace

Origins::Origins(const ProgramDescription& program, const MethodDescription& method)
    : debug_info_(DataOf(program)), method_(method), budget_(program.file_size) {}

std::vector<Origin> Origins::OfInstruction(size_t index) {
  std::vector<Origin> origins = debug_info_.OfInstruction(method_.index, index, &budget_);
  if (!origins.empty() || index >= method_.frames.size()) return origins;
  const std::optional<Frame>& frame = method_.frames[index];
  if (!frame.has_value()) return origins;
  const uint64_t size = frame->file.size();
  if (!budget_.Charge(sizeof(Origin) + DebugInfo::kTextCost * size).ok()) return origins;
  origins.push_back({std::string(frame->file), frame->line, "", "", ""});
  return origins;
}

std::string PlaceOfInstruction(const ProgramDescription& program, const MethodDescription& method,
                               size_t index) {
  const std::string lines = LinesOf(Origins(program, method).OfInstruction(index));
  return lines.empty() ? lines : " at " + lines;
}

}  // namespace xir
