#include "program/decode.h"

#include <unordered_set>
#include <utility>

#include "core/checked.h"
#include "program/check_text.h"
#include "program/data_file.h"
#include "program/decode_method.h"
#include "program/file_data.h"
#include "program_generated.h"
#include "verify/container.h"
#include "verify/flatbuffer.h"

namespace xir {
namespace {

// ExecuTorch reads files only of this schema version.
constexpr uint32_t kProgramVersion = 0;

static_assert(2 * sizeof(MethodDescription) <= WorkBudget::kMethod);

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

Status ReadNamedData(const program::Program& program, Bytes segments, FileData* data,
                     WorkBudget* budget) {
  if (program.named_data() == nullptr) return {};
  for (const program::NamedData* entry : *program.named_data()) {
    if (entry->key() == nullptr) return Fail(Code::kInvalidProgram, "named data has no key");
    XIR_RETURN_IF_ERROR(budget->Charge(entry->key()));
    XIR_ASSIGN_OR_RETURN(const Bytes bytes, Segment(program, segments, entry->segment_index()));
    if (!data->named.emplace(View(entry->key()), NamedBytes{bytes}).second) {
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

Result<DelegateDescription> DecodeDelegate(const program::Program& program, Bytes segments,
                                           const program::BackendDelegate& from,
                                           WorkBudget* budget) {
  if (from.id() == nullptr || from.processed() == nullptr) {
    return Fail(Code::kInvalidProgram, "it has no id or no data");
  }
  XIR_RETURN_IF_ERROR(budget->Charge(WorkBudget::kDelegate));
  XIR_RETURN_IF_ERROR(budget->Charge(from.id()));
  DelegateDescription delegate;
  delegate.id = from.id()->str();
  XIR_ASSIGN_OR_RETURN(delegate.bytes, DelegateBytes(program, segments, *from.processed()));
  // Each is a table, of which flatbuffers' verifier has found no more than the file has room for.
  for (flatbuffers::uoffset_t i = 0; i < SizeOf(from.compile_specs()); ++i) {
    const program::CompileSpec& spec = *from.compile_specs()->Get(i);
    if (spec.key() == nullptr) return Fail(Code::kInvalidProgram, "an option has no name");
    const Bytes value =
        spec.value() == nullptr ? Bytes() : Bytes(spec.value()->data(), spec.value()->size());
    delegate.specs.push_back({View(spec.key()), value});
  }
  return delegate;
}

Status DecodeDelegates(const program::Program& program, Bytes segments,
                       const program::ExecutionPlan& plan, WorkBudget* budget,
                       MethodDescription* method) {
  for (flatbuffers::uoffset_t i = 0; i < SizeOf(plan.delegates()); ++i) {
    auto delegate = DecodeDelegate(program, segments, *plan.delegates()->Get(i), budget);
    if (!delegate.ok()) return std::move(delegate).status().In("delegate " + std::to_string(i));
    method->delegates.push_back(std::move(delegate).value());
  }
  return {};
}

Result<FileData> ReadFileData(const program::Program& program, Bytes segments,
                              Span<const Bytes> files, WorkBudget* budget) {
  FileData data;
  XIR_ASSIGN_OR_RETURN(data.constants, Subsegments(program.constant_segment(), program, segments,
                                                   /*reserve_first=*/true));
  if (SizeOf(program.mutable_data_segments()) > 0) {
    XIR_ASSIGN_OR_RETURN(data.mutable_data,
                         Subsegments(program.mutable_data_segments()->Get(0), program, segments,
                                     /*reserve_first=*/false));
  }
  XIR_RETURN_IF_ERROR(ReadNamedData(program, segments, &data, budget));
  for (size_t i = 0; i < files.size(); ++i) {
    XIR_RETURN_IF_ERROR(ReadDataFile(files[i], &data, budget).In("data file " + std::to_string(i)));
  }
  return data;
}

Status DecodeMethods(const program::Program& program, Bytes segments, const FileData& data,
                     const VerifyLimits& limits, WorkBudget* budget, ProgramDescription* to) {
  std::unordered_set<std::string_view> names;
  for (const program::ExecutionPlan* plan : *program.execution_plan()) {
    XIR_RETURN_IF_ERROR(budget->Charge(plan->name()));
    if (plan->name() == nullptr || !names.insert(View(plan->name())).second) {
      return Fail(Code::kInvalidProgram, "a method has no name, or its name is not unique");
    }
    XIR_RETURN_IF_ERROR(budget->Charge(WorkBudget::kMethod));
    MethodDescription& method = to->methods.emplace_back();
    method.index = to->methods.size() - 1;
    method.name = plan->name()->str();
    Status status = DecodeMethod(data, *plan, limits, budget, &method);
    if (status.ok()) status = DecodeDelegates(program, segments, *plan, budget, &method);
    // A name may be long, so that it is copied for errors alone.
    if (!status.ok()) return std::move(status).In("method '" + method.name + "'");
  }
  return {};
}

}  // namespace

Result<ProgramDescription> DecodeProgram(Bytes file, Span<const Bytes> data,
                                         const VerifyLimits& limits, WorkBudget* budget) {
  XIR_ASSIGN_OR_RETURN(const Container container, ReadContainer(file));
  // At most one table for each 4 bytes, whatever a hostile file's sharing of tables makes of it.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(container.program.size() / 4);
  flatbuffers::Verifier verifier(container.program.data(), container.program.size(),
                                 kMaxFlatbufferDepth, max_tables);
  if (container.program.size() >= FLATBUFFERS_MAX_BUFFER_SIZE ||
      !program::VerifyProgramBuffer(verifier)) {
    return Fail(Code::kInvalidProgram, "the program's flatbuffer is damaged or truncated");
  }
  const program::Program& program = *program::GetProgram(container.program.data());
  if (program.version() != kProgramVersion) {
    return Fail(Code::kUnsupported, "program version ", program.version(), " is not ",
                kProgramVersion);
  }
  if (SizeOf(program.execution_plan()) == 0) {
    return Fail(Code::kInvalidProgram, "the program has no method");
  }
  XIR_ASSIGN_OR_RETURN(const FileData file_data,
                       ReadFileData(program, container.segments, data, budget));
  ProgramDescription description;
  description.file_size = file.size();
  XIR_RETURN_IF_ERROR(
      DecodeMethods(program, container.segments, file_data, limits, budget, &description));
  XIR_RETURN_IF_ERROR(CheckText(program, budget));
  for (const auto& [name, named] : file_data.named) {
    XIR_RETURN_IF_ERROR(budget->Charge(WorkBudget::kNamedData + name.size()));
    description.named_data.emplace(name, named.bytes);
  }
  return description;
}

}  // namespace xir
