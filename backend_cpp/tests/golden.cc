#include "golden.h"

#include "xir/library.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/round_up.h"

namespace xir::testing {
namespace {

constexpr size_t kHeaderSize = 32;

template <typename T>
T Read(const Blob& file, size_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

template <typename T>
void Write(Blob* file, size_t at, T value) {
  std::memcpy(file->data() + at, &value, sizeof(T));
}

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

Bytes SegmentBytes(const Blob& file, const program::ProgramT& program, size_t index) {
  const auto& segment = *program.segments.at(index);
  return Bytes(file.data() + Read<uint64_t>(file, 24) + segment.offset, segment.size);
}

Blob FlatbufferOf(const graph::XNNGraphT& graph) {
  flatbuffers::FlatBufferBuilder builder;
  graph::FinishXNNGraphBuffer(builder, graph::CreateXNNGraph(builder, &graph));
  return Blob(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
}

// The graph of a program's first delegate.
std::unique_ptr<graph::XNNGraphT> FirstGraph(const Blob& file, const program::ProgramT& program) {
  const auto& where = *program.execution_plan.at(0)->delegates.at(0)->processed;
  const Bytes blob = SegmentBytes(file, program, where.index);
  uint32_t offset;
  std::memcpy(&offset, blob.data() + 10, sizeof(offset));
  return graph::UnPackXNNGraph(blob.data() + offset);
}

// The graph's flatbuffer behind an XH00 header, before its constants.
Blob PackGraph(const graph::XNNGraphT& graph, const Blob& constants) {
  const Blob flatbuffer = FlatbufferOf(graph);
  const size_t data_offset = RoundUp(kHeaderSize + flatbuffer.size(), 16);
  Blob blob(kHeaderSize, 0);
  std::copy_n("XH00", 4, blob.begin() + 4);
  Write<uint16_t>(&blob, 8, 30);
  Write<uint32_t>(&blob, 10, kHeaderSize);
  Write<uint32_t>(&blob, 14, static_cast<uint32_t>(flatbuffer.size()));
  Write<uint32_t>(&blob, 18, static_cast<uint32_t>(data_offset));
  Write<uint64_t>(&blob, 22, constants.size());
  blob.insert(blob.end(), flatbuffer.begin(), flatbuffer.end());
  blob.resize(data_offset, 0);
  blob.insert(blob.end(), constants.begin(), constants.end());
  return blob;
}

}  // namespace

Blob ReadGolden(const std::string& name) {
  const std::string path = std::string(XIR_TEST_DATA) + "/" + name;
  std::ifstream file(path, std::ios::binary);
  if (!file) Die("cannot read " + path);
  Blob blob(std::filesystem::file_size(path));
  file.read(reinterpret_cast<char*>(blob.data()), static_cast<std::streamsize>(blob.size()));
  return blob;
}

runner::Array ReadGoldenArray(const std::string& name) {
  auto array = runner::ReadNpy(std::string(XIR_TEST_DATA) + "/" + name);
  if (!array.ok()) Die(std::move(array).status().message());
  return std::move(array).value();
}

Blob EditProgram(const Blob& file, const std::function<void(program::ProgramT*)>& edit) {
  const auto program = program::UnPackProgram(file.data());
  const uint64_t segment_base = Read<uint64_t>(file, 24);
  edit(program.get());
  flatbuffers::FlatBufferBuilder builder;
  program::FinishProgramBuffer(builder, program::CreateProgram(builder, program.get()));

  // The extended header goes behind the identifier; the root offset grows by it.
  const uint8_t* packed = builder.GetBufferPointer();
  Blob out(packed, packed + 8);
  out.resize(8 + kHeaderSize, 0);
  out.insert(out.end(), packed + 8, packed + builder.GetSize());
  Write<uint32_t>(&out, 0, Read<uint32_t>(out, 0) + kHeaderSize);
  const size_t program_size = out.size();
  out.resize(RoundUp(program_size, 128), 0);
  std::memcpy(out.data() + 8, "eh00", 4);
  Write<uint32_t>(&out, 12, kHeaderSize);
  Write<uint64_t>(&out, 16, program_size);
  if (segment_base != 0) {
    Write<uint64_t>(&out, 24, out.size());
    Write<uint64_t>(&out, 32, file.size() - segment_base);
    out.insert(out.end(), file.begin() + static_cast<std::ptrdiff_t>(segment_base), file.end());
  }
  return out;
}

Blob WithSecondMethod(const Blob& file) {
  return EditProgram(file, [](program::ProgramT* program) {
    auto copy = std::make_unique<program::ExecutionPlanT>(*program->execution_plan[0]);
    copy->name = "second";
    program->execution_plan.push_back(std::move(copy));
  });
}

Blob EditGraph(const Blob& file, const std::function<void(graph::XNNGraphT*)>& edit,
               const Blob& constants) {
  return EditProgram(file, [&](program::ProgramT* program) {
    const auto graph = FirstGraph(file, *program);
    edit(graph.get());
    auto& where = *program->execution_plan.at(0)->delegates.at(0)->processed;
    where.location = program::DataLocation::Inline;
    where.index = static_cast<uint32_t>(program->backend_delegate_data.size());
    auto data = std::make_unique<program::BackendDelegateInlineDataT>();
    data->data = PackGraph(*graph, constants);
    program->backend_delegate_data.push_back(std::move(data));
  });
}

Blob GraphOf(const Blob& file, const std::function<void(graph::XNNGraphT*)>& edit) {
  const auto graph = FirstGraph(file, *program::UnPackProgram(file.data()));
  edit(graph.get());
  return FlatbufferOf(*graph);
}

graph::XNodeT* FindNode(graph::XNNGraphT* graph, graph::XNodeUnion kind) {
  for (const auto& node : graph->xnodes) {
    if (node->xnode_union.type == kind) return node.get();
  }
  Die(std::string("no node ") + graph::EnumNameXNodeUnion(kind));
}

graph::XNNTensorValueT* FindValue(graph::XNNGraphT* graph, uint32_t id) {
  for (const auto& value : graph->xvalues) {
    auto* tensor = value->xvalue_union.AsXNNTensorValue();
    if (auto* quantized = value->xvalue_union.AsXNNQuantizedTensorValue()) {
      tensor = quantized->tensor_value.get();
    }
    if (tensor->id_out == id) return tensor;
  }
  Die("no value " + std::to_string(id));
}

std::vector<flatbuffers::Offset<flatbuffers::String>> NestedStrings(
    flatbuffers::FlatBufferBuilder* builder, uint32_t count) {
  // Each word is the length of the string behind it; the last one ends them.
  std::vector<uint32_t> words;
  for (uint32_t i = 0; i < count; ++i) words.push_back(4 * (count - 1 - i));
  words.push_back(0);
  const auto list = builder->CreateVector(words);
  std::vector<flatbuffers::Offset<flatbuffers::String>> strings;
  for (uint32_t i = 0; i < count; ++i) strings.emplace_back(list.o - 4 * (i + 1));
  return strings;
}

Blob WriteDataFile(const flatbuffers::FlatBufferBuilder& builder, const Blob& segments) {
  constexpr uint32_t kHeader = 40;
  const uint8_t* packed = builder.GetBufferPointer();
  Blob out(packed, packed + 8);
  out.resize(8 + kHeader, 0);
  out.insert(out.end(), packed + 8, packed + builder.GetSize());
  Write<uint32_t>(&out, 0, Read<uint32_t>(out, 0) + kHeader);
  std::memcpy(&out[8], "FH01", 4);
  Write<uint32_t>(&out, 12, kHeader);
  Write<uint64_t>(&out, 16, 8 + kHeader);
  Write<uint64_t>(&out, 24, out.size() - 8 - kHeader);
  out.resize(RoundUp(out.size(), 128), 0);
  Write<uint64_t>(&out, 32, out.size());
  Write<uint64_t>(&out, 40, segments.size());
  out.insert(out.end(), segments.begin(), segments.end());
  return out;
}

Result<std::unique_ptr<Method>> LoadForward(const Blob& file, uint64_t max_memory) {
  LoadOptions options;
  options.xnnpack_paths = PythonLibraryPaths();
  options.threads = 1;
  options.max_memory = max_memory;
  XIR_ASSIGN_OR_RETURN(const auto program, Program::FromBytes(file, options));
  return program->LoadMethod("forward");
}

}  // namespace xir::testing
