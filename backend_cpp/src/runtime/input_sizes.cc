#include "runtime/input_sizes.h"

#include <algorithm>
#include <string>

#include "sizes_generated.h"
#include "verify/flatbuffer.h"

namespace xir {
namespace {

using flatbuffers::uoffset_t;

constexpr char kKey[] = "xir.sizes";

// What the file says, an entry for each input or none at all.
std::vector<std::vector<InputDim>> ReadInputs(Bytes data, size_t method, size_t num_inputs) {
  std::vector<std::vector<InputDim>> inputs;
  const NamedTable named(data);
  const sizes::Sizes* table = named.Read(sizes::VerifySizesBuffer, sizes::GetSizes);
  const auto* methods = table == nullptr ? nullptr : table->methods();
  if (methods == nullptr || method >= methods->size()) return inputs;
  const auto* listed = methods->Get(static_cast<uoffset_t>(method))->inputs();
  if (listed == nullptr || listed->size() != num_inputs) return inputs;
  for (const sizes::Input* input : *listed) {
    std::vector<InputDim>& dims = inputs.emplace_back();
    if (input->symbols() == nullptr || input->least() == nullptr) continue;
    const uoffset_t rank = std::min(input->symbols()->size(), input->least()->size());
    for (uoffset_t i = 0; i < std::min<uoffset_t>(rank, kMaxRank); ++i) {
      dims.push_back({input->symbols()->Get(i), input->least()->Get(i)});
    }
  }
  return inputs;
}

}  // namespace

std::vector<std::vector<InputDim>> InputDimsOf(const ProgramDescription& program,
                                               const MethodDescription& method) {
  std::vector<std::vector<InputDim>> inputs;
  const size_t count = method.inputs.size();
  if (const Bytes* data = program.Find(kKey)) inputs = ReadInputs(*data, method.index, count);
  inputs.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const TensorDescription* tensor = method.TensorAt(method.inputs[i]);
    const size_t rank = tensor == nullptr ? 0 : tensor->rank;
    if (inputs[i].size() == rank) continue;
    const bool open = tensor != nullptr && tensor->resizable;
    inputs[i].clear();
    for (size_t dim = 0; dim < rank; ++dim) {
      // No two are known to be equal.
      const int32_t own = -2 - static_cast<int32_t>(i * kMaxRank + dim);
      inputs[i].push_back({open ? own : -1, 0});
    }
  }
  return inputs;
}

std::string SizesToString(const Tensor& input, const std::vector<InputDim>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < input.bound.rank; ++i) {
    const bool open = i < dims.size() && dims[i].symbol != -1;
    text += (i == 0 ? "" : ", ");
    if (open && dims[i].least > 0) text += std::to_string(dims[i].least) + " to ";
    text += std::to_string(input.bound[i]);
    if (open && dims[i].least <= 0) text += " at most";
  }
  return text + "]";
}

Status CheckSizes(size_t index, const Tensor& input, const std::vector<InputDim>& dims,
                  const Shape& shape) {
  bool fits = shape.rank == input.bound.rank;
  for (size_t i = 0; fits && i < shape.rank; ++i) {
    const bool open = input.resizable && i < dims.size() && dims[i].symbol != -1;
    const int64_t least = open ? std::max<int64_t>(dims[i].least, 0) : input.bound[i];
    fits = shape[i] >= least && shape[i] <= input.bound[i];
  }
  if (fits) return {};
  return Fail(Code::kInvalidArgument, "input ", index, " has shape ", SizesToString(input, dims),
              ", and ", shape.ToString(), " was given");
}

}  // namespace xir
