#include "profile/origins.h"

#include "profile/text.h"

namespace xir {
namespace {

constexpr std::string_view kDebugInfoKey = "xir.debug";

Bytes DataOf(const ProgramView& program) {
  const auto found = program.named_data.find(kDebugInfoKey);
  return found == program.named_data.end() ? Bytes() : found->second.bytes;
}

size_t IndexOf(const ProgramView& program, const PlanView& plan) {
  size_t index = 0;
  while (index < program.plans.size() && program.plans[index].plan != plan.plan) ++index;
  return index;
}

}  // namespace

Origins::Origins(const ProgramView& program, const PlanView& plan)
    : debug_info_(DataOf(program)),
      plan_index_(IndexOf(program, plan)),
      plan_(plan.plan),
      budget_(program.file_size) {}

std::vector<Origin> Origins::OfInstruction(size_t index) {
  std::vector<Origin> origins = debug_info_.OfInstruction(plan_index_, index, &budget_);
  if (!origins.empty()) return origins;
  const auto* frames = plan_->chains()->Get(0)->stacktrace();
  if (frames == nullptr || index >= frames->size()) return origins;
  const auto* items = frames->Get(static_cast<flatbuffers::uoffset_t>(index))->items();
  if (items == nullptr || items->size() == 0) return origins;
  // As in Python, the last one is the innermost.
  const program::Frame* frame = items->Get(items->size() - 1);
  const int32_t line = frame->lineno();
  const uint64_t size = View(frame->filename()).size();
  if (!budget_.Charge(sizeof(Origin) + DebugInfo::kTextCost * size).ok()) return origins;
  origins.push_back({std::string(View(frame->filename())),
                     line > 0 ? static_cast<uint32_t>(line) : 0, "", "", ""});
  return origins;
}

std::string PlaceOfInstruction(const ProgramView& program, const PlanView& plan, size_t index) {
  const std::string lines = LinesOf(Origins(program, plan).OfInstruction(index));
  return lines.empty() ? lines : " at " + lines;
}

}  // namespace xir
