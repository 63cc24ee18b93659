#include "verify/verify.h"

#include <unordered_set>
#include <utility>

#include "core/checked.h"
#include "verify/container.h"
#include "verify/data_file.h"
#include "verify/verify_plan.h"

namespace xir {
namespace {

// ExecuTorch reads files only of this schema version.
constexpr uint32_t kProgramVersion = 0;
constexpr int kMaxFlatbufferDepth = 64;

Result<Bytes> Segment(const program::Program& program, Bytes segments, uint64_t index) {
  const auto* table = program.segments();
  if (table == nullptr || index >= table->size()) {
    return Fail(Code::kInvalidProgram, "segment ", index, " does not exist");
  }
  const auto* segment = table->Get(static_cast<flatbuffers::uoffset_t>(index));
  if (!Fits(segment->offset(), segment->size(), segments.size())) {
    return Fail(Code::kInvalidProgram, "segment ", index, " at [", segment->offset(), ", +",
                segment->size(), ") leaves the ", segments.size(),
                " bytes of segment data; the file may be truncated");
  }
  return segments.subspan(segment->offset(), segment->size());
}

// Entry 0 is reserved and stays empty where `reserve_first` says so.
Result<std::vector<Bytes>> Subsegments(const program::SubsegmentOffsets* table,
                                       const program::Program& program, Bytes segments,
                                       bool reserve_first) {
  std::vector<Bytes> parts;
  if (table == nullptr || table->offsets() == nullptr) return parts;
  const auto* offsets = table->offsets();
  if (!IsAligned(offsets)) return Fail(Code::kInvalidProgram, "a list is not aligned in the file");
  const size_t first = reserve_first ? 1 : 0;
  if (offsets->size() <= first) {
    parts.resize(offsets->size());
    return parts;
  }
  XIR_ASSIGN_OR_RETURN(const Bytes segment, Segment(program, segments, table->segment_index()));
  parts.reserve(offsets->size());
  for (size_t i = 0; i < offsets->size(); ++i) {
    if (i < first) {
      parts.emplace_back();
      continue;
    }
    const uint64_t offset = offsets->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (offset > segment.size()) {
      return Fail(Code::kInvalidProgram, "constant ", i, " starts at byte ", offset,
                  " of a segment of ", segment.size());
    }
    parts.push_back(segment.subspan(offset, segment.size() - offset));
  }
  return parts;
}

Status ReadNamedData(const program::Program& program, Bytes segments, ProgramView* view,
                     WorkBudget* budget) {
  if (program.named_data() == nullptr) return {};
  for (const program::NamedData* entry : *program.named_data()) {
    if (entry->key() == nullptr) return Fail(Code::kInvalidProgram, "named data has no key");
    XIR_RETURN_IF_ERROR(budget->Charge(entry->key()));
    XIR_ASSIGN_OR_RETURN(const Bytes data, Segment(program, segments, entry->segment_index()));
    if (!view->named_data.emplace(View(entry->key()), NamedBytes{data}).second) {
      return Fail(Code::kInvalidProgram, "two pieces of data are named '", View(entry->key()), "'");
    }
  }
  return {};
}

Result<Bytes> DelegateBytes(const program::Program& program, Bytes segments,
                            const program::BackendDelegateDataReference& where) {
  if (where.location() == program::DataLocation::Segment) {
    return Segment(program, segments, where.index());
  }
  const auto* inline_data = program.backend_delegate_data();
  if (where.location() != program::DataLocation::Inline || inline_data == nullptr ||
      where.index() >= inline_data->size()) {
    return Fail(Code::kInvalidProgram, "its data is missing");
  }
  const auto* data = inline_data->Get(where.index())->data();
  if (data == nullptr) return Fail(Code::kInvalidProgram, "its data is missing");
  return Bytes(data->data(), data->size());
}

Status ReadDelegate(const program::Program& program, Bytes segments,
                    const program::BackendDelegate& delegate, PlanView* plan, WorkBudget* budget) {
  if (delegate.id() == nullptr || delegate.processed() == nullptr) {
    return Fail(Code::kInvalidProgram, "it has no id or no data");
  }
  DelegateView& view = plan->delegates.emplace_back();
  XIR_RETURN_IF_ERROR(budget->Charge(WorkBudget::kDelegate));
  XIR_RETURN_IF_ERROR(budget->Charge(delegate.id()));
  view.id = View(delegate.id());
  XIR_ASSIGN_OR_RETURN(view.bytes, DelegateBytes(program, segments, *delegate.processed()));
  const auto* specs = delegate.compile_specs();
  // Each is a table, of which flatbuffers' verifier has found no more than the file has room for.
  for (flatbuffers::uoffset_t i = 0; specs != nullptr && i < specs->size(); ++i) {
    const program::CompileSpec& spec = *specs->Get(i);
    if (spec.key() == nullptr) return Fail(Code::kInvalidProgram, "an option has no name");
    const Bytes value =
        spec.value() == nullptr ? Bytes() : Bytes(spec.value()->data(), spec.value()->size());
    view.specs.push_back({View(spec.key()), value});
  }
  return {};
}

}  // namespace

Result<ProgramView> VerifyProgram(Bytes file, Span<const Bytes> data, const VerifyLimits& limits,
                                  WorkBudget* budget) {
  XIR_ASSIGN_OR_RETURN(const Container container, ReadContainer(file));
  // At most one table for each 4 bytes, whatever a hostile file's sharing of tables makes of it.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(container.program.size() / 4);
  flatbuffers::Verifier verifier(container.program.data(), container.program.size(),
                                 kMaxFlatbufferDepth, max_tables);
  if (container.program.size() >= FLATBUFFERS_MAX_BUFFER_SIZE ||
      !program::VerifyProgramBuffer(verifier)) {
    return Fail(Code::kInvalidProgram, "the program's flatbuffer is damaged or truncated");
  }

  ProgramView view;
  view.program = program::GetProgram(container.program.data());
  view.file_size = file.size();
  const program::Program& program = *view.program;
  if (program.version() != kProgramVersion) {
    return Fail(Code::kUnsupported, "program version ", program.version(), " is not ",
                kProgramVersion);
  }
  if (program.execution_plan() == nullptr || program.execution_plan()->size() == 0) {
    return Fail(Code::kInvalidProgram, "the program has no method");
  }
  XIR_ASSIGN_OR_RETURN(view.constants, Subsegments(program.constant_segment(), program,
                                                   container.segments, /*reserve_first=*/true));
  if (program.mutable_data_segments() != nullptr && program.mutable_data_segments()->size() > 0) {
    XIR_ASSIGN_OR_RETURN(view.mutable_data,
                         Subsegments(program.mutable_data_segments()->Get(0), program,
                                     container.segments, /*reserve_first=*/false));
  }
  XIR_RETURN_IF_ERROR(ReadNamedData(program, container.segments, &view, budget));
  for (size_t i = 0; i < data.size(); ++i) {
    XIR_RETURN_IF_ERROR(ReadDataFile(data[i], &view, budget).In("data file " + std::to_string(i)));
  }

  std::unordered_set<std::string_view> names;
  for (const program::ExecutionPlan* plan : *program.execution_plan()) {
    XIR_RETURN_IF_ERROR(budget->Charge(plan->name()));
    if (plan->name() == nullptr || !names.insert(View(plan->name())).second) {
      return Fail(Code::kInvalidProgram, "a method has no name, or its name is not unique");
    }
    PlanView& plan_view = view.plans.emplace_back();
    plan_view.plan = plan;
    // A name may be long, so that it is copied for errors alone.
    const auto context = [&] { return "method '" + plan->name()->str() + "'"; };
    Status status = VerifyPlan(view, *plan, limits, budget);
    if (!status.ok()) return std::move(status).In(context());
    const size_t num_delegates = plan->delegates() == nullptr ? 0 : plan->delegates()->size();
    for (size_t i = 0; i < num_delegates; ++i) {
      status = ReadDelegate(program, container.segments,
                            *plan->delegates()->Get(static_cast<flatbuffers::uoffset_t>(i)),
                            &plan_view, budget);
      if (!status.ok()) {
        return std::move(status).In(context() + ": delegate " + std::to_string(i));
      }
    }
  }
  return view;
}

}  // namespace xir
