#include "program/data_file.h"

#include "core/checked.h"
#include "program/decode_layout.h"
#include "verify/container.h"
#include "verify/flatbuffer.h"

namespace xir {
namespace {

// ExecuTorch writes 0, and accepts any value.
constexpr uint32_t kDataVersion = 0;

// A tensor's bytes at its layout.
Status CheckLayout(const data::TensorLayout& layout, size_t size) {
  TensorDescription tensor;
  XIR_RETURN_IF_ERROR(DecodeLayout(layout, &tensor));
  if (tensor.nbytes <= size) return {};
  return Fail(Code::kInvalidProgram, "it has ", size, " bytes, and its layout takes ",
              tensor.nbytes);
}

Status ReadEntry(const data::FlatTensor& file, const data::NamedData& entry, Bytes segments,
                 NamedBytes* read) {
  const auto* table = file.segments();
  if (table == nullptr || entry.segment_index() >= table->size()) {
    return Fail(Code::kInvalidProgram, "segment ", entry.segment_index(), " does not exist");
  }
  const data::DataSegment& segment = *table->Get(entry.segment_index());
  if (!Fits(segment.offset(), segment.size(), segments.size())) {
    return Fail(Code::kInvalidProgram, "segment ", entry.segment_index(), " at [", segment.offset(),
                ", +", segment.size(), ") leaves the ", segments.size(),
                " bytes of segment data; the file may be truncated");
  }
  read->bytes = segments.subspan(segment.offset(), segment.size());
  read->layout = entry.tensor_layout();
  return read->layout == nullptr ? Status() : CheckLayout(*read->layout, segment.size());
}

}  // namespace

Status ReadDataFile(Bytes file, FileData* to, WorkBudget* budget) {
  XIR_ASSIGN_OR_RETURN(const Container container, ReadDataContainer(file));
  const Bytes flatbuffer = container.program;
  flatbuffers::Verifier verifier(flatbuffer.data(), flatbuffer.size(), kMaxFlatbufferDepth,
                                 static_cast<flatbuffers::uoffset_t>(flatbuffer.size() / 4));
  if (flatbuffer.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !data::VerifyFlatTensorBuffer(verifier)) {
    return Fail(Code::kInvalidProgram, "the data file's flatbuffer is damaged or truncated");
  }
  const data::FlatTensor& data = *data::GetFlatTensor(flatbuffer.data());
  if (data.version() != kDataVersion) {
    return Fail(Code::kUnsupported, "data version ", data.version(), " is not ", kDataVersion);
  }
  if (data.named_data() == nullptr) return {};
  for (const data::NamedData* entry : *data.named_data()) {
    if (entry->key() == nullptr) return Fail(Code::kInvalidProgram, "named data has no key");
    XIR_RETURN_IF_ERROR(budget->Charge(entry->key()));
    NamedBytes read;
    XIR_RETURN_IF_ERROR(ReadEntry(data, *entry, container.segments, &read)
                            .In("data '" + entry->key()->str() + "'"));
    if (!to->named.emplace(View(entry->key()), read).second) {
      return Fail(Code::kInvalidProgram, "'", View(entry->key()),
                  "' is in the program or in another data file as well");
    }
  }
  return {};
}

}  // namespace xir
