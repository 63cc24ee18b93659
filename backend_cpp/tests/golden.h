// The programs in data/, and ways to break them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "npy.h"
#include "program_generated.h"
#include "xir/program.h"
#include "xir/status.h"
#include "xnnpack_generated.h"

namespace xir::testing {

using Blob = std::vector<uint8_t>;

Blob ReadGolden(const std::string& name);
runner::Array ReadGoldenArray(const std::string& name);

// The program with its flatbuffer changed; segments stay as they are.
Blob EditProgram(const Blob& file, const std::function<void(program::ProgramT*)>& edit);

// The program with its method once more, under the name "second".
Blob WithSecondMethod(const Blob& file);

// The program with the graph of its first delegate changed. The graph moves into the flatbuffer,
// with `constants` behind it, which have no names.
Blob EditGraph(const Blob& file, const std::function<void(graph::XNNGraphT*)>& edit,
               const Blob& constants = {});

// The flatbuffer of that graph alone, changed.
Blob GraphOf(const Blob& file, const std::function<void(graph::XNNGraphT*)>& edit);

// The first node of a kind; fails the test where there is none.
graph::XNodeT* FindNode(graph::XNNGraphT* graph, graph::XNodeUnion kind);
// The tensor of a value by its id.
graph::XNNTensorValueT* FindValue(graph::XNNGraphT* graph, uint32_t id);

// Strings of a flatbuffer that lie in each other, as many as `count`: each ends where all do, so
// that they are all different and as long together as the square of what they take.
std::vector<flatbuffers::Offset<flatbuffers::String>> NestedStrings(
    flatbuffers::FlatBufferBuilder* builder, uint32_t count);

// A .ptd file of a finished flatbuffer without header, and its segments.
Blob WriteDataFile(const flatbuffers::FlatBufferBuilder& builder, const Blob& segments);

// Loads a program and its method, with one thread.
Result<std::unique_ptr<Method>> LoadForward(const Blob& file,
                                            uint64_t max_memory = uint64_t{1} << 30);

}  // namespace xir::testing
